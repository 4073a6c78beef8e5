// Which loops wait for another thread by reading memory.

#ifndef COVSCHED_SPIN_H
#define COVSCHED_SPIN_H

#include <memory>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class AllocaInst;
class BasicBlock;
class CallBase;
class Function;
class Instruction;
class Loop;
class Value;
}  // namespace llvm

namespace covsched {

/// Asks about the loops of one function; remembers what it found out about others.
class SpinFinder {
public:
  bool waitsForMemory(const llvm::Loop &L);

private:
  /// By block, the branches that decide whether it is reached.
  using Control = llvm::DenseMap<const llvm::BasicBlock *, llvm::SmallPtrSet<const llvm::Instruction *, 4>>;

  const Control &controlOf(const llvm::Function &F);
  /// Whether one of these values does, computed inside of the loop, or anywhere in F if there is none.
  bool dependsOnShared(llvm::SmallVectorImpl<const llvm::Value *> &Work, const llvm::Function &F,
                       const llvm::Loop *Region, unsigned Depth);
  /// Adds what is written to a variable; true if that is enough to know.
  bool addWriters(const llvm::AllocaInst &Variable, llvm::function_ref<bool(const llvm::BasicBlock *)> IsInside,
                  llvm::function_ref<void(const llvm::BasicBlock *)> AddControl,
                  llvm::SmallVectorImpl<const llvm::Value *> &Work, unsigned Depth);
  bool returnsShared(const llvm::CallBase &Call, unsigned Depth);
  bool touchesShared(const llvm::Function &F, unsigned Depth);

  llvm::DenseMap<const llvm::Function *, std::unique_ptr<Control>> Controls;
  llvm::DenseMap<const llvm::Function *, bool> Returning, Touching;
};

}  // namespace covsched

#endif
