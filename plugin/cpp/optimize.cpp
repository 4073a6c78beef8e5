// LLVM's own optimizer, for users who say that their program has no data races.

#include "analyses.h"
#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

/// On calls that must not be copied while the passes below run.
static constexpr const char *OnceMark = "covsched-once";

/// Hooks that come back.
static bool isHook(const Function *F) {
  return F && F->isDeclaration() && F->getName().startswith("covsched_") && !F->doesNotReturn();
}

extern "C" void cov_optimize(LLVMModuleRef module) {
  Module &M = *unwrap(module);
  // Each of these calls stands for its own place in the schedule.
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I); Call && isHook(Call->getCalledFunction())) {
        Call->addFnAttr(Attribute::NoMerge);
        if (Call->cannotDuplicate())
          continue;
        Call->addFnAttr(Attribute::NoDuplicate);
        Call->addFnAttr(Attribute::get(M.getContext(), OnceMark));
      }

  // What is left is still to be read by analyses, and the compiler vectorizes for its target.
  PipelineTuningOptions Tuning;
  Tuning.LoopVectorization = false;
  Tuning.SLPVectorization = false;
  Tuning.LoopInterleaving = false;
  covsched::Analyses All(Tuning);
  All.Builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(M, All.Modules);

  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I); Call && Call->hasFnAttr(OnceMark)) {
        Call->setAttributes(Call->getAttributes().removeFnAttribute(M.getContext(), OnceMark));
        Call->removeFnAttr(Attribute::NoDuplicate);
      }
}
