// What both ways of unrolling need.

#ifndef COVSCHED_UNROLL_H
#define COVSCHED_UNROLL_H

#include "bridge.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"

namespace covsched {

/// Why no loop of a function is unrolled; COV_NOT_UNROLLED if nothing is in the way.
CovUnrolled functionObstacle(const llvm::Function &F);

/// Why a loop's blocks cannot be copied; COV_NOT_UNROLLED if they can. `Size` gets the number of its instructions then.
CovUnrolled copyObstacle(const llvm::Loop &L, size_t &Size);

/// One latch that ends in a plain branch. Loops with several would be taken apart by loop-simplify, which makes two
/// loops of a `continue`; loops that end in an invoke or a switch are refused by the unroller.
void makePlainLatch(llvm::Loop &L, llvm::DominatorTree &DT, llvm::LoopInfo &LI);

/// A preheader, one latch, exits of their own, closed SSA form.
void makeUnrollable(llvm::Loop &L, llvm::DominatorTree &DT, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE);

}  // namespace covsched

#endif
