// Locals in registers, as LLVM's SROA does it: parts of structures, too. Control flow stays.
//
// SROA would also read memory early that is not local (`*(c ? &local : &global)`), and take out reads whose result was
// only stored in a local that nobody reads.

#include "promote.h"

#include "bridge.h"
#include "kept_reads.h"
#include "llvm-c/Core.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"

using namespace llvm;

/// Whether a load can read something other than locals.
static bool readsOthers(LoadInst &Load) {
  SmallVector<const Value *, 4> Objects;
  getUnderlyingObjects(Load.getPointerOperand(), Objects);
  return !all_of(Objects, [](const Value *Object) { return isa<AllocaInst>(Object); });
}

/// Instructions, and how many of them are locals. SROA also says that it changed something when it only tried.
static std::pair<size_t, size_t> sizeOf(const Function &F) {
  std::pair<size_t, size_t> Size;
  for (const Instruction &I : instructions(F)) {
    ++Size.first;
    Size.second += isa<AllocaInst>(I);
  }
  return Size;
}

bool covsched::promoteLocals(Function &F) {
  FunctionAnalysisManager FAM;
  FAM.registerPass([] { return PassInstrumentationAnalysis(); });
  FAM.registerPass([] { return DominatorTreeAnalysis(); });
  FAM.registerPass([] { return AssumptionAnalysis(); });
  FAM.registerPass([] { return TargetIRAnalysis(); });
  KeptReads Kept;
  for (BasicBlock &Block : F)
    Kept.keep(Block, readsOthers);
  auto Before = sizeOf(F);
  SROAPass(SROAOptions::PreserveCFG).run(F, FAM);
  Kept.release(F);
  return sizeOf(F) != Before;
}

extern "C" bool cov_promote_locals(LLVMValueRef function) {
  Function &F = *unwrap<Function>(function);
  // What setjmp comes back to finds the locals that are in memory.
  if (F.isDeclaration() || F.hasFnAttribute(Attribute::Naked) || F.isPresplitCoroutine() ||
      F.callsFunctionThatReturnsTwice())
    return false;
  return covsched::promoteLocals(F);
}
