// What ScalarEvolution knows of a function's loops, as words.

#ifndef COVSCHED_CODE_LOOP_H
#define COVSCHED_CODE_LOOP_H

#include "code.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"

namespace covsched {

class LoopFacts {
public:
  LoopFacts(CodeWriter &Out, llvm::Function &F, llvm::DominatorTree &Dominators, llvm::LoopInfo &Loops) : Out(Out) {}
  /// The bound, and the registers that grow evenly.
  void write(llvm::Loop &L) {
    Out.put(CODE_NO_SCEV);
    Out.put(0);
  }

private:
  CodeWriter &Out;
};

}  // namespace covsched

#endif
