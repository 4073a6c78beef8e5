// Accesses to memory that other threads may see.

#ifndef COVSCHED_TELL_ACCESS_H
#define COVSCHED_TELL_ACCESS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"
#include "tell.h"

namespace covsched {

/// Finds what the instructions of one function do to memory. The same code reads a function before and after
/// optimization: what it says of both must agree.
class AccessFinder {
public:
  /// `Forgets`: by name, functions that do not keep what their arguments point to.
  AccessFinder(llvm::Function &F, bool (*Forgets)(CovText));

  /// Adds what an instruction that is no call does.
  void add(llvm::Instruction &I, llvm::SmallVectorImpl<CovTellItem> &Items);
  /// Hash of what a call calls; 0 if that is not known.
  static uint64_t calleeHash(llvm::StringRef Name);

private:
  void addOne(llvm::Instruction &I, const llvm::Value *Pointer, CovTellAccess Kind, uint64_t Bytes, bool Vector,
              llvm::SmallVectorImpl<CovTellItem> &Items);
  uint64_t hash(const llvm::Value *V, unsigned Depth = 0);
  bool isGivenAway(const llvm::Value *Local);
  llvm::StringRef nameOf(const llvm::Value *Object);

  llvm::Function &F;
  const llvm::DataLayout &Layout;
  bool (*Forgets)(CovText);
  llvm::DenseMap<const llvm::Value *, bool> GivenAway;
  llvm::DenseMap<const llvm::Value *, llvm::StringRef> Names;
  llvm::DenseMap<const llvm::Instruction *, uint64_t> Ordinals;
};

}  // namespace covsched

#endif
