// Cycles that are no loops.

#ifndef COVSCHED_CYCLES_H
#define COVSCHED_CYCLES_H

#include <vector>

#include "llvm/IR/Function.h"

namespace covsched {

/// The outermost cycles that can be entered at several blocks.
std::vector<std::vector<llvm::BasicBlock *>> irreducibleCycles(llvm::Function &F);

}  // namespace covsched

#endif
