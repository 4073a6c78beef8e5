// What the exits of a loop, or of another cycle, depend on: memory that other threads write, or what creating or joining
// a thread gave.

#ifndef COVSCHED_SPIN_H
#define COVSCHED_SPIN_H

#include <memory>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class AllocaInst;
class BasicBlock;
class CallBase;
class Function;
class Instruction;
class Value;
}  // namespace llvm

namespace covsched {

/// Asks about the cycles of one function; remembers what it found out about others.
class ExitFinder {
public:
  /// Knows the names of functions that create or join threads.
  using ThreadCalls = llvm::function_ref<bool(llvm::StringRef)>;

  explicit ExitFinder(ThreadCalls IsThreadCall) : IsThreadCall(IsThreadCall) {}

  /// Whether an exit depends on what is read from an atomic or volatile variable.
  bool waitsForMemory(llvm::ArrayRef<llvm::BasicBlock *> Cycle);
  /// Whether there is no exit, or one depends on what creating or joining a thread gave: then it is not for its own
  /// reasons that the cycle ends. Ways that end the program are no exits.
  bool mayGoOn(llvm::ArrayRef<llvm::BasicBlock *> Cycle);

private:
  enum Source { Memory, Threads };
  /// By block, the branches that decide whether it is reached.
  using Control = llvm::DenseMap<const llvm::BasicBlock *, llvm::SmallPtrSet<const llvm::Instruction *, 4>>;

  using Blocks = llvm::SmallPtrSet<const llvm::BasicBlock *, 16>;

  const Control &controlOf(const llvm::Function &F);
  /// Whether an exit depends on what is looked for; `HasExit` is set if there is one.
  bool exitDepends(llvm::ArrayRef<llvm::BasicBlock *> Cycle, bool &HasExit);
  /// Whether a branch chooses between ways that go on.
  bool decides(const llvm::Instruction &Branch) const;
  /// Whether the instruction itself is what is looked for.
  bool isSource(const llvm::Instruction &I) const;
  bool isSourceCall(const llvm::Function &F) const;
  /// Whether one of these values does, computed inside of the cycle, or anywhere in F if there is none.
  bool dependsOnSource(llvm::SmallVectorImpl<const llvm::Value *> &Work, const llvm::Function &F,
                       const Blocks *Region, unsigned Depth);
  /// Adds what is written to a variable; true if that is enough to know.
  bool addWriters(const llvm::AllocaInst &Variable, llvm::function_ref<bool(const llvm::BasicBlock *)> IsInside,
                  llvm::function_ref<void(const llvm::BasicBlock *)> AddControl,
                  llvm::SmallVectorImpl<const llvm::Value *> &Work, unsigned Depth);
  bool returnsSource(const llvm::CallBase &Call, unsigned Depth);
  bool touchesSource(const llvm::Function &F, unsigned Depth);

  llvm::DenseMap<const llvm::Function *, std::unique_ptr<Control>> Controls;
  llvm::DenseMap<const llvm::Function *, bool> Returning[2], Touching[2];
  ThreadCalls IsThreadCall;
  /// What is looked for.
  Source Wanted = Memory;
};

}  // namespace covsched

#endif
