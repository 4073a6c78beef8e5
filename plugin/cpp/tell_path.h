// Which way code goes that loom's pass has made: its tests read bytes whose values are known by the path in question.

#ifndef COVSCHED_TELL_PATH_H
#define COVSCHED_TELL_PATH_H

#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Function.h"

namespace covsched {

/// The names that core's loom::abi and the pass have. Linking modules may add a suffix to the first four.
constexpr const char *LoomFunctions = "covsched.loom.functions";
constexpr const char *LoomLocations = "covsched.loom.locations";
constexpr const char *LoomSlots = "covsched.loom.slots";
constexpr const char *LoomCalls = "covsched.loom.calls";
constexpr const char *LoomAt = "covsched_loom_at";
constexpr const char *LoomPending = "covsched_loom_pending";
constexpr const char *LoomSlot = "covsched_loom_slot";
constexpr const char *LoomCheck = "covsched_loom_check";
/// What stands in the code by default, where the pass makes functions of it.
constexpr const char *LoomTest = "covsched.loom.test";
constexpr const char *LoomRelease = "covsched.loom.release";
constexpr const char *LoomRetake = "covsched.loom.retake";
/// On slots: variables that have their value; what came before. On the alloca of variables' words.
constexpr const char *LoomAvailable = "covsched.available";
constexpr const char *LoomFrom = "covsched.from";
constexpr const char *LoomFrame = "covsched.frame";
/// On calls that nothing is stored for, and where control lands: the number of the location.
constexpr const char *LoomLocation = "covsched.location";
/// On calls that nothing follows on the fast path but the return.
constexpr const char *LoomLast = "covsched.last";

/// On functions whose symbol a wrapper has: that symbol.
constexpr const char *LoomSymbol = "covsched-loom-symbol";

/// The global behind a pointer, with the offset into it; the thread's own word may be got by an intrinsic.
const llvm::GlobalVariable *globalBehind(const llvm::Value *Pointer, const llvm::DataLayout &Layout, uint64_t &Offset);

/// Where control may go from a block if all function bytes are `Byte`, the thread runs instrumented code and nothing is
/// pending.
llvm::SmallVector<llvm::BasicBlock *, 2> successorsIf(const llvm::BasicBlock &Block, uint8_t Byte);

/// The blocks that control may come to from the entry then, each after one that leads to it; the entry first.
std::vector<llvm::BasicBlock *> blocksIf(llvm::Function &F, uint8_t Byte);

/// Bits of a function's byte.
constexpr uint8_t LoomNone = 0, LoomSlowAndWait = 3;

}  // namespace covsched

#endif
