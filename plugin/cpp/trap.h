// Blocks from which control does not come back: where a run leaves its schedule, or finds a claim that does not hold.

#ifndef COVSCHED_TRAP_H
#define COVSCHED_TRAP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace covsched {

/// A constant C string; one for each name and text.
llvm::Constant *textConstant(llvm::Module &M, const llvm::Twine &Name, llvm::StringRef Text);

/// Calls a hook that ends the process.
void callTrap(llvm::IRBuilder<> &Builder, llvm::Function &Hook, llvm::ArrayRef<llvm::Value *> Arguments);

/// The function may now come to a trap, whatever its attributes, and those of its calls and callers, say about memory
/// and coming back.
void allowTraps(llvm::Function &F);

}  // namespace covsched

#endif
