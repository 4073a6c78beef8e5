// Reads of memory that must stay although nobody uses what they read: they may race with a write.

#ifndef COVSCHED_KEPT_READS_H
#define COVSCHED_KEPT_READS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

namespace covsched {

/// Keeps reads from LLVM's utilities while they work on a function: loads are volatile meanwhile, and calls that only
/// read may not come back. What they copy is kept, too, and is as it was after `release`.
class KeptReads {
public:
  void keep(llvm::BasicBlock &Block, llvm::function_ref<bool(llvm::LoadInst &)> Wanted);
  void keep(llvm::BasicBlock &Block);
  void keep(llvm::Function &F);
  void release(llvm::BasicBlock &Block);
  /// Everything, at last.
  void release(llvm::Function &F);

private:
  llvm::SmallPtrSet<llvm::Function *, 8> Callees;  // that had the attribute

  void keepCall(llvm::CallBase &Call);
};

}  // namespace covsched

#endif
