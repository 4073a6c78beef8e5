// What the files of `loom` share. The plan is Rust's: src/loom.

#ifndef COVSCHED_LOOM_H
#define COVSCHED_LOOM_H

#include <utility>
#include <vector>

#include "bridge.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

namespace llvm {
class ScalarEvolution;
}

namespace covsched::loom {

/// A function with a slow path, and how its fast path calls itself.
struct Cloned {
  llvm::Function *F;
  llvm::BasicBlock *Body;                        // where the fast path begins, after the tests
  llvm::SmallVector<llvm::CallBase *, 2> Itself; // calls of F in it that are followed by a test
};

/// A function that may be a signal handler: its code, and what has its name.
struct Handler {
  llvm::Function *Body, *Wrapper;
  bool HasEntry; // other units may call it
};

/// A call on a fast path of a function that another unit may define.
struct DirectCall {
  llvm::CallBase *Call;
  uint32_t Location, Cell;
};

}  // namespace covsched::loom

/// A unit in the making: what its code names.
struct CovLoom {
  llvm::Module &M;
  CovLoomAbi Abi;
  llvm::GlobalVariable *At, *Pending;
  llvm::Function *Check, *Reacquire, *Slot, *Enter, *HandlerEnter, *Leave;
  /// Arrays; what stands in them is known at the end only, so until then they are declarations.
  llvm::GlobalVariable *Functions, *Locations, *Slots, *Calls;
  /// With COV_LOOM_NO_INLINE, made when first needed: what else stands in the code.
  llvm::Function *Test = nullptr, *Release = nullptr, *Retake = nullptr;
  uint32_t SlotCount = 0;
  /// In the order of their numbers.
  std::vector<llvm::CallInst *> SlotCalls;
  /// Functions with a slow path.
  std::vector<covsched::loom::Cloned> Cloned;
  /// See loom_direct.cpp: calls, and functions that get an entry of their own.
  std::vector<covsched::loom::DirectCall> DirectCalls;
  std::vector<llvm::Function *> Entered;
  /// Functions of a signal handler's type.
  std::vector<covsched::loom::Handler> Handlers;
  /// The code is an executable's.
  bool InExecutable;

  CovLoom(llvm::Module &M, const CovLoomAbi &Abi);
  /// The first byte of a function's word.
  llvm::Constant *functionByte(uint32_t Number) const { return at(Functions, uint64_t(Number) * 8); }
  llvm::Constant *location(uint32_t Number) const { return at(Locations, Number); }
  llvm::Constant *slotCell(uint32_t Number) const { return at(Slots, uint64_t(Number) * 8); }
  llvm::Constant *callCell(uint32_t Number) const { return at(Calls, uint64_t(Number) * 8); }
  bool has(uint32_t Option) const { return (Abi.options & Option) != 0; }
  bool isDirect() const { return !has(COV_LOOM_NO_DIRECT | COV_LOOM_NO_INLINE | COV_LOOM_NO_FILTER_BYTE); }

private:
  static llvm::Constant *at(llvm::GlobalVariable *Array, uint64_t Offset);
};

namespace covsched::loom {

/// The function attribute of functions that are done. Functions carry it, not modules: LTO merges modules.
constexpr const char *DoneAttribute = "covsched-loom";
/// On the body of a function whose symbol belongs to its wrapper: that symbol.
constexpr const char *SymbolAttribute = "covsched-loom-symbol";

/// Writes the code of checks, releases and tests.
class Writer {
public:
  Writer(CovLoom &Unit, uint32_t Function) : Unit(Unit), Function(Function) {}

  /// Whether the function's byte has the slow or the wait bit, the slow bit, any bit at all, or is not just the slow bit.
  llvm::Value *isBusy(llvm::IRBuilder<> &B) const;
  llvm::Value *isSlow(llvm::IRBuilder<> &B) const;
  llvm::Value *mustReacquire(llvm::IRBuilder<> &B) const;
  llvm::Value *isNotJustSlow(llvm::IRBuilder<> &B) const;
  llvm::Value *isNotRunning(llvm::IRBuilder<> &B) const;
  void setAt(llvm::IRBuilder<> &B, llvm::Value *To) const;
  void setRunning(llvm::IRBuilder<> &B) const { setAt(B, B.getInt64(Unit.Abi.running)); }
  llvm::Value *isPending(llvm::IRBuilder<> &B) const;
  llvm::Value *cell(llvm::IRBuilder<> &B, uint32_t Number) const;
  /// The address that stands for a location, made where it is used: in a loop the code generator would make it before, even for a call
  /// that is never made, and keep it in a register that outlives calls, of which there are few. To make it takes one instruction.
  llvm::Value *location(llvm::IRBuilder<> &B, uint32_t Number) const;
  /// The same as functions of their own, to measure what it costs to call them.
  void callTest(llvm::IRBuilder<> &B, uint32_t Location) const;
  void callRelease(llvm::IRBuilder<> &B, llvm::Value *To) const;
  void callRetake(llvm::IRBuilder<> &B, uint32_t Location) const;
  llvm::CallInst *call(llvm::IRBuilder<> &B, llvm::Function *Hook, llvm::ArrayRef<llvm::Value *> Args) const;
  /// `if (Condition) [unlikely] goto Then; else goto Otherwise`
  llvm::BranchInst *unlikely(llvm::IRBuilder<> &B, llvm::Value *Condition, llvm::BasicBlock *Then,
                             llvm::BasicBlock *Otherwise) const;

  CovLoom &Unit;
  uint32_t Function;

private:
  llvm::Value *load(llvm::IRBuilder<> &B, llvm::Type *Type, llvm::Value *From) const;
  llvm::Value *hasOneOf(llvm::IRBuilder<> &B, uint8_t Bits) const;
  llvm::Function *outlined(const char *Name, unsigned Params, llvm::IRBuilder<> &Inside) const;
};

/// Makes one operation of each test whether a function is busy, where the processor has one. At the end, when nobody reads the tests any more.
void testInOne(CovLoom &Unit);

/// Lines: two locations are the same if the same lines are active at them.
bool sameChain(const llvm::DILocation *A, const llvm::DILocation *B);
/// The location that counts for slots; null if the instruction has none.
llvm::DILocation *lineOf(const llvm::Instruction &I);
/// The last of the block's, or null.
llvm::DILocation *lastLine(const llvm::BasicBlock &Block);

/// The chain of lines at the start and at the end of each block.
class Chains {
public:
  explicit Chains(llvm::Function &F);
  llvm::DILocation *in(const llvm::BasicBlock *Block) const { return In.lookup(Block); }
  llvm::DILocation *out(const llvm::BasicBlock *Block) const { return Out.lookup(Block); }
  void set(const llvm::BasicBlock *Block, llvm::DILocation *Start, llvm::DILocation *End) {
    In[Block] = Start;
    Out[Block] = End;
  }

private:
  llvm::DenseMap<const llvm::BasicBlock *, llvm::DILocation *> In, Out;
};

/// Where a slot always stands: at the start of a block, between two chains.
struct FixedSlot {
  llvm::BasicBlock *Block;
  llvm::DILocation *From;
};

/// Puts slots into blocks, wherever the chain of lines changes, and before `Jumps`, which leave the function.
void placeSlots(CovLoom &Unit, llvm::ArrayRef<llvm::BasicBlock *> Blocks, Chains &Lines,
                llvm::ArrayRef<FixedSlot> Fixed, const llvm::SmallPtrSetImpl<llvm::Instruction *> &Jumps);

/// Values with two definitions, one in each copy of their block: every use gets the one that reaches it. `Slow`: the blocks of
/// the slow copy.
void repairValues(llvm::Function &F, llvm::ArrayRef<llvm::BasicBlock *> Slow,
                  llvm::ArrayRef<std::pair<llvm::Instruction *, llvm::Instruction *>> Pairs);

/// Values of the slow copy that nobody wants who was in the fast one, `NotSlow`, meanwhile: from there they are null.
void forgetOnCrossing(const llvm::SmallPtrSetImpl<llvm::BasicBlock *> &NotSlow,
                      llvm::ArrayRef<llvm::Instruction *> Values);

/// A block between another one and its successor, for all edges between the two. Not for edges to landing pads.
llvm::BasicBlock *splitEdges(llvm::BasicBlock *From, llvm::BasicBlock *To, const llvm::Twine &Name);

/// How often a loop runs at most; 0 if that is not known.
unsigned mostTrips(llvm::ScalarEvolution &Evolution, const llvm::Loop &L);

/// The most iterations of a strip (loom_strips.cpp).
constexpr uint64_t LongestStrip = 4096;
/// On the last branch of a loop that needs no check: it is a strip of another, or provably as short as one.
constexpr const char *StripMark = "covsched.strip";
/// Divides loops that count into strips, but for those with few iterations or that are short anyway.
void mineStrips(llvm::Function &F, unsigned Few);

/// On the terminators of the slow path's blocks, until it is split off.
constexpr const char *SlowMark = "covsched.slow";
/// Makes a function of the slow path where it can. Returns whether it did.
bool splitSlowPath(llvm::Function &F);

/// A function that calls itself does so without the tests at its entry. Only once its slow path is split off.
void skipEntryTests(const Cloned &Of);

/// Debug info for a function with code of another one: that one's is inlined there.
void describeAsInlined(llvm::Function &New, llvm::DISubprogram &Program);

/// Whether a call of a function that another unit may define can be made without a release around it.
bool canCallDirectly(const CovLoom &Unit, const llvm::CallBase &Call);
/// On such a call, until it is made so: where its thread is meanwhile. On a landing pad, or a call that comes back a second time: where a
/// thread that lands there may pause. For who describes the unit.
void setLocation(llvm::Instruction &At, uint32_t Location);
/// Makes the unit's `DirectCalls` so.
void callDirectly(CovLoom &Unit);
/// Whether a function that code outside may call can have an entry for that alone.
bool canHaveEntry(const CovLoom &Unit, const llvm::Function &F);
/// Makes that entry of it, and another function of its code.
void makeEntry(CovLoom &Unit, llvm::Function &F);
/// The same of a handler: who calls it by name is not interrupted. Code without loom comes through the wrapper.
void makeHandlerEntry(CovLoom &Unit, const Handler &Of);

/// How F calls a function with its own arguments and returns what that returns: in its place, but not if something is passed in memory,
/// which LLVM 16 then copies to the wrong place.
llvm::CallInst::TailCallKind inPlaceOf(const llvm::Function &F);
/// F.outside: enters, calls, leaves.
llvm::Function *makeOutside(CovLoom &Unit, llvm::Function &F);
/// Puts a wrapper that enters as a signal handler in the function's place, which becomes its body.
void wrapHandler(CovLoom &Unit, llvm::Function &F);
/// What a function's attributes promise and instrumentation does not keep.
void dropPromises(llvm::Function &F);

}  // namespace covsched::loom

#endif
