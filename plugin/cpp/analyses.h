// All analyses that LLVM's transformations ask for. Made anew for each use, so that nothing is stale.

#ifndef COVSCHED_ANALYSES_H
#define COVSCHED_ANALYSES_H

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace covsched {

struct Analyses {
  llvm::LoopAnalysisManager Loops;
  llvm::FunctionAnalysisManager Functions;
  llvm::CGSCCAnalysisManager Components;
  llvm::ModuleAnalysisManager Modules;
  llvm::PassBuilder Builder;

  explicit Analyses(llvm::PipelineTuningOptions Tuning = {}) : Builder(nullptr, Tuning) {
    Builder.registerModuleAnalyses(Modules);
    Builder.registerCGSCCAnalyses(Components);
    Builder.registerFunctionAnalyses(Functions);
    Builder.registerLoopAnalyses(Loops);
    Builder.crossRegisterProxies(Loops, Functions, Components, Modules);
  }
};

}  // namespace covsched

#endif
