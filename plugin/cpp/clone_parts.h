// Parts of making a clone that need nothing of it.

#ifndef COVSCHED_CLONE_PARTS_H
#define COVSCHED_CLONE_PARTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Instructions.h"

namespace covsched {

/// Takes away PHIs that have one value, and those that nothing reads.
void cleanPhis(llvm::ArrayRef<llvm::PHINode *> Phis);

/// Lets a call call a clone of what it called.
void callClone(llvm::CallBase &Call, llvm::Function &Clone);

/// Puts a call of `Callee` in the place of a call, with one more argument behind the function's own parameters.
llvm::CallBase *withArgument(llvm::CallBase &Call, llvm::Function &Callee, llvm::Value &Last);

}  // namespace covsched

#endif
