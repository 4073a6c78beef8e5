// What ScalarEvolution knows of a function's loops, as words.

#ifndef COVSCHED_CODE_LOOP_H
#define COVSCHED_CODE_LOOP_H

#include "code.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"

namespace covsched {

class LoopFacts {
public:
  LoopFacts(CodeWriter &Out, llvm::Function &F, llvm::DominatorTree &Dominators, llvm::LoopInfo &Loops);
  /// The bound, and the registers that grow evenly.
  void write(const llvm::Loop &L);

private:
  /// All of it, or nothing. What it mentions is there when control comes to the loop.
  bool whole(const llvm::SCEV *S, const llvm::Loop &L);
  bool part(const llvm::SCEV *S, const llvm::Loop &L);
  bool leaf(const llvm::Value *V, const llvm::Loop &L);
  bool outer(const llvm::SCEVAddRecExpr &S, const llvm::Loop &L);
  bool bound(const llvm::Loop &L);
  bool recurrence(const llvm::PHINode &Phi, const llvm::Loop &L);

  CodeWriter &Out;
  llvm::DominatorTree &Dominators;
  llvm::TargetLibraryInfo Library;
  llvm::AssumptionCache Assumptions;
  llvm::ScalarEvolution Evolution;
  unsigned PartsLeft = 0;
};

}  // namespace covsched

#endif
