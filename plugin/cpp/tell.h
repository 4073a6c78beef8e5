// The bridge's part for loom's tables: reading what loom's pass made. src/ir/tell.rs declares the same; the ground rules
// are those of bridge.h.

#ifndef COVSCHED_TELL_H
#define COVSCHED_TELL_H

#include "bridge.h"

extern "C" {

enum CovTellKind : uint8_t {
  COV_TELL_LINE,     // the instructions from here on are of another line
  COV_TELL_SLOT,
  COV_TELL_CHECK,
  COV_TELL_CALL,     // also an access of kind COV_TELL_CALLS
  COV_TELL_ACCESS,
  COV_TELL_LANDING,
};
enum CovTellAccess : uint8_t { COV_TELL_READS, COV_TELL_WRITES, COV_TELL_UPDATES, COV_TELL_CALLS };
enum CovTellFlags : uint8_t {
  COV_TELL_LOCAL = 1 << 0,       // a local whose address was given away
  COV_TELL_VECTOR = 1 << 1,
  COV_TELL_ENDS = 1 << 2,        // a call that does not come back
  COV_TELL_MAY_UNWIND = 1 << 3,  // out of the function
  COV_TELL_ASM = 1 << 4,
  COV_TELL_TWICE = 1 << 5,       // returns twice
  COV_TELL_CELL = 1 << 6,        // `number` is that of a call cell, which has the location
  COV_TELL_LAST = 1 << 7,        // nothing follows on the fast path but the return
};

/// No location, no slot.
constexpr uint32_t COV_TELL_NONE = UINT32_MAX;

/// Something in a block, in order.
struct CovTellItem {
  LLVMValueRef inst;
  LLVMMetadataRef place;      // its DILocation, of a slot that of what comes next; null if none
  LLVMMetadataRef from;       // of a slot: what came before; null if none
  const uint32_t *available;  // of a slot: numbers of variables
  size_t available_count;
  CovText callee;             // empty if a call goes through a pointer
  CovText object;             // the variable that is accessed; empty if a pointer leads there
  uint64_t address;           // hash of the address expression; 0 if unknown
  uint32_t number;            // of a slot; of the location of a check or of a call during which the thread is released
  uint32_t bytes;
  CovTellKind kind;
  CovTellAccess access;
  uint8_t flags;              // CovTellFlags
};

enum CovTellEnd : uint8_t { COV_TELL_GOES_ON, COV_TELL_RETURNS, COV_TELL_UNWINDS, COV_TELL_STOPS, COV_TELL_INVOKES };

/// A block that a thread on the slow path may come to; numbered in the order of visits, the entry first.
struct CovTellBlock {
  const CovTellItem *items;
  size_t item_count;
  const uint32_t *next;       // of an invoke, whose call is the last item, the normal one comes first
  size_t next_count;
  CovTellEnd end;
};

/// A line of a chain of inlined calls.
struct CovTellLine {
  LLVMMetadataRef inlined_at; // tells copies of a function apart; null if it is the function itself
  CovText function;           // linkage name, or the plain one
  CovText directory;          // where the file's name is relative to it, else empty
  CovText file;
  uint32_t line;
};

/// The function as a thread sees it whose function bytes all have both bits, that is known and for which nothing is
/// pending: the slow path with its checks, or all of a function that has none. `lines`: gives COV_TELL_LINE.
/// `forgets`: by name, functions that do not keep what their arguments point to.
void cov_tell_read(LLVMValueRef function, bool lines, bool (*forgets)(CovText),
                   void (*visit)(void *, const CovTellBlock *), void *context);
/// The lines of a DILocation, innermost first.
void cov_tell_chain(LLVMMetadataRef place, void (*visit)(void *, const CovTellLine *), void *context);
/// Where a function is defined; not called if debug info does not say.
void cov_tell_definition(LLVMValueRef function, void (*visit)(void *, const CovTellLine *), void *context);
/// The types that functions have which a call through a pointer may reach, as texts; of a function its own.
void cov_tell_shapes(LLVMValueRef call_or_function, void (*take)(void *, CovText), void *context);
/// The functions that an argument may be, by linkage name. False if it may be others.
bool cov_tell_functions_behind(LLVMValueRef call, size_t argument, void (*take)(void *, CovText), void *context);
/// The number of the function's byte, as its code uses it; COV_TELL_NONE if it does not.
uint32_t cov_tell_number(LLVMValueRef function);

/// A variable whose value, or address, is in a word of the frame that slots get. Its number is that of the word.
struct CovTellVariable {
  CovTellLine declaration;    // `function`: the one that declares it
  CovText name;
  bool in_memory;             // the word is its address
};

/// Keeps the values of variables in words of a frame on the slow path, gives the frame to the function's slots, and writes
/// into their !covsched.available which words are valid there. The fast path is not changed.
void cov_tell_variables(LLVMValueRef function, void (*visit)(void *, const CovTellVariable *), void *context);

}  // extern "C"

#endif
