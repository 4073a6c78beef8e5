// The C++ bridge: what covsched needs of LLVM and the LLVM C API does not have. Thin: each function does one
// thing to the IR, decides nothing, and only plain data crosses. src/ir/bridge.rs declares the same functions
// and is the only Rust file that calls them; which function does what to a module is decided in Rust.
//
// Ground rules. No exceptions. Texts are pointer and length, valid until the module changes; the Rust side
// copies them. Callbacks must not change the module.

#ifndef COVSCHED_BRIDGE_H
#define COVSCHED_BRIDGE_H

#include <cstddef>
#include <cstdint>

#include "llvm-c/Types.h"

extern "C" {

struct CovText {
  const char *data;
  size_t len;
};

/// A source location; line 0 and an empty file where it is unknown.
struct CovLocation {
  CovText file;
  uint32_t line;
  uint32_t column;
};

enum CovLinkage : uint8_t { COV_EXTERNAL, COV_INTERNAL };

enum CovFunctionFlags : uint32_t {
  COV_DECLARED = 1 << 0,       // no body, or one that is only here to be inlined (then COV_HAS_BODY too)
  COV_HAS_BODY = 1 << 1,
  COV_INTRINSIC = 1 << 2,
  COV_INTERPOSABLE = 1 << 3,   // the body may be replaced by one that does something else
  COV_NAKED = 1 << 4,
  COV_COROUTINE = 1 << 5,      // not split yet
  COV_FUNCLET_EH = 1 << 6,     // personality with funclets: calls need bundles
  COV_INSTRUMENTED = 1 << 7,   // carries the mark
  COV_CANNOT_SYNC = 1 << 8,    // attributes rule out writing memory or synchronizing
  COV_PTR_OF_PTR = 1 << 9,     // ptr (ptr)
  COV_INT_OF_PTR = 1 << 10,    // i32 (ptr)
  COV_VOID_OF_PTR = 1 << 11,   // void (ptr)
  COV_VARIADIC = 1 << 12,
  COV_EXACT = 1 << 13,         // a body that no other unit's copy can take the place of
  COV_RESOLVER = 1 << 14,      // chooses what an ifunc is: runs while the program is still being relocated
  COV_TESTED = 1 << 15,        // cov_make_versions did it: hands over to its recorded version
  COV_PLAIN = 1 << 16,         // the same, but only plain versions call it: never runs in a recording
  COV_RECORDED = 1 << 17,      // the recorded version of another function
  COV_INTERRUPT = 1 << 18,     // an interrupt's handler: nothing can call it
};

struct CovFunction {
  LLVMValueRef function;
  CovText name;     // linkage name, without LLVM's escape
  CovText file;     // file of its definition, from debug info; empty if unknown
  uint32_t flags;   // CovFunctionFlags
  CovLinkage linkage;
};

enum CovForm : uint8_t { COV_CALL, COV_INVOKE, COV_CALLBR, COV_RETURN };
enum CovTarget : uint8_t { COV_DIRECT, COV_INDIRECT, COV_ASM };
enum CovInstFlags : uint8_t {
  COV_MUSTTAIL = 1 << 0,       // a call that must be followed by its return; a return that follows one
  COV_RETURNS_TWICE = 1 << 1,
  COV_CALL_CANNOT_SYNC = 1 << 2,
  COV_GUARDED = 1 << 3,        // a marker that cov_guard_call did
  COV_TAIL_RECURSIVE = 1 << 4, // returns what it may get from the same function: optimizers make it a jump
  COV_NO_ARGUMENTS = 1 << 5,
  COV_NORETURN = 1 << 6,
};

/// A call or a return.
struct CovInst {
  LLVMValueRef inst;
  LLVMValueRef named;     // the global that is called, casts stripped; null if none
  LLVMValueRef function;  // the function behind it, aliases that hold resolved; null if none
  CovForm form;
  CovTarget target;
  uint8_t flags;          // CovInstFlags
};

/// Types, in the order of core's `Word`.
enum CovWord : uint8_t { COV_PTR, COV_INT, COV_UINT, COV_ULONG, COV_SITE, COV_VOID, COV_NEVER };

enum CovSeverity : uint8_t { COV_ERROR, COV_WARNING };
enum CovRemark : uint8_t { COV_DONE, COV_MISSED, COV_ANALYSIS };

// --- Reading ------------------------------------------------------------------------------------------------

void cov_functions(LLVMModuleRef module, void (*visit)(void *, const CovFunction *), void *context);
/// Calls (intrinsics and debug records left out) and returns of a function, in order.
void cov_scan(LLVMValueRef function, void (*visit)(void *, const CovInst *), void *context);
CovText cov_source_name(LLVMModuleRef module);
/// Whether the target has what the pass makes: ELF sections and groups, constructors.
bool cov_is_supported_target(LLVMModuleRef module);
/// The linkage name of a global, without LLVM's escape; the name of another value.
CovText cov_name(LLVMValueRef value);
/// Of an instruction, or of a function's definition.
CovLocation cov_location(LLVMValueRef value);
/// Whether a call's arguments and result fit. Arguments after `required` may be missing.
bool cov_call_fits(LLVMValueRef call, const CovWord *params, size_t count, size_t required, CovWord result);
/// The defined functions that an argument may be, through casts, selects, phis and aliases.
void cov_functions_behind(LLVMValueRef call, size_t argument, void (*visit)(void *, LLVMValueRef),
                          void *context);
/// Whether a function's address is used as data: not called, not in a vtable, not in LLVM's own lists, not
/// given to a function that `harmless` accepts by name.
bool cov_address_escapes(LLVMValueRef function, bool (*harmless)(CovText));
/// Whether something that is not yet instrumented uses the function's address other than to call it or to
/// compare it with null. `first` gets an instruction that does, or null.
bool cov_address_used(LLVMValueRef function, LLVMValueRef *first);
/// The bytes of every constant in a section.
void cov_section_data(LLVMModuleRef module, CovText section, void (*visit)(void *, CovText), void *context);
bool cov_has_flag(LLVMModuleRef module, CovText flag);

// --- Control flow -------------------------------------------------------------------------------------------

enum CovEnd : uint8_t { COV_END_GOES_ON, COV_END_RETURNS, COV_END_UNWINDS };

/// A block; blocks are numbered from the entry in the function's order.
struct CovBlock {
  LLVMValueRef start;          // the first place where a call can be put; null if there is none
  const uint32_t *next;        // successors; of an invoke the normal one comes first
  size_t next_count;
  const LLVMValueRef *calls;   // as cov_scan gives them, without returns, and those that cov_resumes knows
  size_t call_count;
  CovEnd end;
  bool is_guard;               // ends in covsched-lower's test; `next` is where it leads when all markers are wanted
};

/// A natural loop; loops are numbered in the order in which they are visited.
struct CovLoop {
  uint32_t header;
  const uint32_t *blocks;
  size_t block_count;
  const uint32_t *latches;
  size_t latch_count;
  const uint32_t *inner;       // the loops directly inside
  size_t inner_count;
  LLVMMetadataRef location;    // where it starts in the source; null if unknown
  bool waits_for_memory;       // an exit depends on what it reads from an atomic or volatile variable
  bool may_go_on;              // has no exit, or one that depends on what creating or joining a thread gave
};

/// A cycle with several entries; the flags are as those of a loop.
struct CovIrreducible {
  const uint32_t *blocks;
  size_t block_count;
  bool waits_for_memory;
  bool may_go_on;
};

struct CovFlowVisitor {
  void (*block)(void *, const CovBlock *);
  void (*loop)(void *, const CovLoop *);                       // inner ones first
  void (*irreducible)(void *, const CovIrreducible *);         // outermost ones
  bool (*is_thread_call)(CovText);                             // by name: creates or joins threads
};

void cov_flow(LLVMValueRef function, const CovFlowVisitor *visitor, void *context);
CovLocation cov_place_location(LLVMMetadataRef place);
/// False if the argument is no integer constant.
bool cov_constant_argument(LLVMValueRef call, size_t argument, uint64_t *value);
/// Makes an argument of a call, an integer constant, another.
void cov_set_constant_argument(LLVMValueRef call, size_t argument, uint64_t value);
size_t cov_argument_count(LLVMValueRef call);
enum CovResumes : uint8_t { COV_NO_RESUME, COV_RESUME_CALLED, COV_RESUME_INVOKED };
/// Whether this is one of LLVM's own functions that run a coroutine: llvm.coro.resume or llvm.coro.destroy.
CovResumes cov_resumes(LLVMValueRef call);
/// Calls of one shape may reach the same functions.
uintptr_t cov_call_shape(LLVMValueRef call);
/// Whether this call through a pointer fits the function by its type.
bool cov_call_may_reach(LLVMValueRef call, LLVMValueRef function);
/// Whether a pointer to the function may be called: its address is used other than to call it, to list it for LLVM,
/// or to start a thread with (`starts` knows, by name and argument).
bool cov_address_taken(LLVMValueRef function, bool (*starts)(CovText, size_t));

// --- Changing -----------------------------------------------------------------------------------------------

/// Declares a hook; null if its name is taken by something else. `marker`: touches only memory of its own,
/// comes back, does not unwind. `like`: a function whose noreturn, nounwind and cold it shares; may be null.
LLVMValueRef cov_declare_hook(LLVMModuleRef module, CovText symbol, const CovWord *params, size_t count,
                              CovWord result, bool marker, LLVMValueRef like);
/// Puts a call of `hook` in a call's place: its arguments, zeros up to the hook's own, `original` if not null,
/// the site. Attributes, bundles, debug location, invoke-ness and tail kind stay. Returns the new call.
LLVMValueRef cov_replace_call(LLVMValueRef call, LLVMValueRef hook, LLVMValueRef original, uint64_t site);
/// Calls `hook` before an instruction: `value` if not null, the site if `site` is not null. The debug location
/// is that of `location`, an instruction or a function. Returns the call.
LLVMValueRef cov_insert_marker(LLVMValueRef before, LLVMValueRef hook, LLVMValueRef value,
                               const uint64_t *site, LLVMValueRef location);
/// Where markers at a function's start go: after its first allocas.
LLVMValueRef cov_entry_point(LLVMValueRef function);
/// The same, also after what unoptimized code does with its parameters and what debug info says of them first: whatever
/// stands there may ask for their values.
LLVMValueRef cov_body_point(LLVMValueRef function);
/// Where a call's normal successor begins; may split an edge. Null if control does not come there.
LLVMValueRef cov_point_after(LLVMValueRef call);
/// The instruction after the landing pad of an invoke; null if it is no landing pad.
LLVMValueRef cov_landing_point(LLVMValueRef invoke);
/// A function with the original's type that calls the hook. One a linked object.
LLVMValueRef cov_make_wrapper(LLVMModuleRef module, CovText name, LLVMValueRef hook, LLVMValueRef original,
                              uint64_t site);
/// Replaces what `cov_address_used` finds.
void cov_replace_address(LLVMValueRef function, LLVMValueRef wrapper);
void cov_mark_instrumented(LLVMValueRef function);
/// Gives an instruction a place in the source that CovLoop gave.
void cov_set_place(LLVMValueRef inst, LLVMMetadataRef place);
/// The function may now call markers, whatever its attributes said about memory and synchronization.
void cov_allow_markers(LLVMValueRef function);
void cov_set_flag(LLVMModuleRef module, CovText flag);
/// A private constant in a section, 8-aligned. `retain`: linkers keep it too, not only the compiler.
void cov_add_section_data(LLVMModuleRef module, CovText name, CovText section, CovText bytes, bool retain);
/// The byte that says whether the runtime does anything; made if missing.
LLVMValueRef cov_active_byte(LLVMModuleRef module, CovText name);
/// The record of core's `Registration` and the constructor that gives it to `hook`. One a linked object.
void cov_add_registration(LLVMModuleRef module, CovText section, LLVMValueRef hook, LLVMValueRef active,
                          uint32_t version, uint32_t size);
/// Moves allocas of constant size to the head of the entry block, so that it can be split.
void cov_gather_allocas(LLVMValueRef function);
/// `call` becomes `if (*active == only) [unlikely] call`, and its result 0 otherwise; `only` 0 means any value but 0.
void cov_guard_call(LLVMValueRef call, LLVMValueRef active, uint8_t only);

// --- Versions -----------------------------------------------------------------------------------------------

/// Why a function keeps a test around each marker.
enum CovVersionObstacle : uint8_t {
  COV_VERSION_POSSIBLE,
  COV_VERSION_TARGET,          // of which it is not known that every call can be a jump
  COV_VERSION_LOOM,            // has versions of its own
  COV_VERSION_ELSEWHERE,       // only here to be inlined
  COV_VERSION_VARIADIC,        // handing over would save all registers
  COV_VERSION_SPECIAL,         // naked, a coroutine, traced at entry and exit; parameters that cannot be handed over
  COV_VERSION_OPTNONE,         // to be debugged, not to be fast
  COV_VERSION_SIZE,            // optimized for size
  COV_VERSION_GROUP,           // what is linked with it is not the same in every copy
  COV_VERSION_BLOCK_ADDRESS,   // of a label is seen outside
  COV_VERSION_NODUPLICATE,     // or convergent
  COV_VERSION_RARE,            // few calls of it come to a marker
};

CovVersionObstacle cov_version_obstacle(LLVMValueRef function, const LLVMValueRef *markers, size_t count);
/// Whether all uses of a function are calls in this module, by its own type.
bool cov_is_only_called(LLVMValueRef function);
/// Whether a call of the function comes to this body or to one that does the same.
bool cov_binds_here(LLVMValueRef function);
/// Makes F.recorded, a copy of the function as it is, and takes the markers out of F. If `active` is not null,
/// F begins with `if (*active == only) return F.recorded(arguments)`. Returns F.recorded.
LLVMValueRef cov_make_versions(LLVMValueRef function, const LLVMValueRef *markers, size_t count,
                               LLVMValueRef active, uint8_t only);
/// Puts recorded versions in the place of the others, which are gone: the module is again as it was, but for debug info.
/// False if there are none.
bool cov_join_versions(LLVMModuleRef module);
/// A call of `from` becomes one of `to`; false if it calls something else, or as something else.
bool cov_redirect(LLVMValueRef call, LLVMValueRef from, LLVMValueRef to);

// --- Taking the place of functions --------------------------------------------------------------------------

/// The body of `function` becomes a call of `to`, which has its type.
void cov_forward(LLVMValueRef function, LLVMValueRef to);
/// Erases a function that nothing uses and that no other module can use; false if it stays.
bool cov_drop_if_unused(LLVMValueRef function);
/// A virtual table in which a function stands; null if there is none.
LLVMValueRef cov_vtable_with(LLVMValueRef function);
/// Lists the module's own variables in llvm.compiler.used that more than so many stores write; how many there are.
size_t cov_keep_stored(LLVMModuleRef module, size_t stores);

// --- Reporting ----------------------------------------------------------------------------------------------

/// Through the context, so that each tool reports in its own way. `at`: instruction, function or null.
void cov_diagnose(LLVMModuleRef module, LLVMValueRef at, CovSeverity severity, CovText message);
void cov_demangle(CovText name, void (*take)(void *, CovText), void *context);

/// An optimization remark of `sync-unroll` at a DILocation, which may be null.
void cov_remark(LLVMValueRef function, LLVMMetadataRef place, CovRemark kind, CovText message);

// --- Unrolling ----------------------------------------------------------------------------------------------

/// What became of a loop.
enum CovUnrolled : uint8_t {
  COV_NOT_UNROLLED,            // never given out
  COV_UNROLLED_FULLY,          // `times` iterations, no loop is left
  COV_UNROLLED_FULLY_AT_MOST,  // the same with exits between them
  COV_UNROLLED_CONSTANT,       // the number of iterations is a constant: no remainder
  COV_UNROLLED_REMAINDER,      // what does not divide runs in a loop of its own, or once if `times` is 2
  COV_UNROLLED_EXITS,          // every copy has all exits
  COV_LEFT_OPTNONE,
  COV_LEFT_COROUTINE,
  COV_LEFT_FUNCLETS,
  COV_LEFT_RETURNS_TWICE,
  COV_LEFT_DONE,               // cov_unroll did it before
  COV_LEFT_DISABLED,           // llvm.loop.unroll.disable
  COV_LEFT_LANDING_HEADER,     // begins where an exception lands
  COV_LEFT_ADDRESS_TAKEN,      // of a block
  COV_LEFT_INDIRECTBR,
  COV_LEFT_CALLBR,
  COV_LEFT_NODUPLICATE,
  COV_LEFT_CONVERGENT,
  COV_LEFT_TOO_LARGE,
  COV_LEFT_REFUSED,            // LLVM's unroller did not want it
};

struct CovLoopToUnroll {
  uint32_t header;    // its place among the function's blocks
  bool keeps_header;  // whoever comes to the loop must still come to its header: no remainder, which could be all
};

struct CovLoopResult {
  uint32_t header;  // as it was given
  uint32_t times;
  CovUnrolled result;
};

/// Unrolls loops of a function, inner ones first. A call of
/// `marker` in a loop's header is then once in what is left of the loop, and once in the remainder. If no loop can be
/// unrolled, the function is not changed; false then. A header without loop is passed over. `heed_disabled`:
/// llvm.loop.unroll.disable is an obstacle.
bool cov_unroll(LLVMValueRef function, const CovLoopToUnroll *loops, size_t count, uint32_t factor,
                bool heed_disabled, CovText marker, void (*visit)(void *, const CovLoopResult *),
                void *context);
/// Whether there are several loops with metadata and all have llvm.loop.unroll.disable, those aside that are done.
bool cov_disables_all_unrolling(LLVMModuleRef module);

// --- Templates and clones -----------------------------------------------------------------------------------

/// Why a function has no template.
enum CovObstacle : uint8_t {
  COV_CAN_BE_CLONED,
  COV_IS_DECLARED,
  COV_IS_NAKED,
  COV_IS_COROUTINE,
  COV_HAS_FUNCLETS,
  COV_HAS_RETURNS_TWICE,
  COV_HAS_LABEL_ADDRESS,
  COV_HAS_INDIRECTBR,
  COV_HAS_CALLBR,
  COV_HAS_MUSTTAIL,
  COV_HAS_NODUPLICATE,
  COV_HAS_CONVERGENT,
  COV_HAS_TOKEN,
  COV_HAS_SPECIAL_MEMORY,
  COV_HAS_FRAME_ESCAPE,
};

struct CovTemplate;
/// A copy of a function with its locals in registers. Null, the reason and an instruction (or null) if it cannot be
/// cloned; nothing is changed then. The copy is in the module until cov_template_cut: calls can be looked at.
CovTemplate *cov_template_new(LLVMValueRef function, CovObstacle *obstacle, LLVMValueRef *at);
LLVMValueRef cov_template_copy(CovTemplate *copy);
/// Cuts the copy into pieces, these calls alone in theirs, and takes it out of the module. Once.
void cov_template_cut(CovTemplate *copy, const LLVMValueRef *calls, size_t count);
void cov_template_drop(CovTemplate *copy);

struct CovPiece {
  LLVMValueRef call;       // one of those that were given; null if none is in it
  const uint32_t *next;    // invoke: normal, unwind; switch: the default first
  size_t next_count;
  CovEnd end;
  bool lands;              // begins with a landing pad, which is then all
  bool may_unwind;         // a call in it may leave the function by an exception
};
void cov_template_pieces(CovTemplate *copy, void (*visit)(void *, const CovPiece *), void *context);

/// An empty internal function like the template's; `flag`: with one more parameter. Negative: no thread, no frame.
LLVMValueRef cov_clone_declare(CovTemplate *copy, CovText name, int32_t thread, int32_t frame, bool flag);

/// Where an edge goes: a node's number doubled, or a trap's doubled and one.
typedef uint32_t CovEdge;
constexpr CovEdge COV_NO_EDGE = UINT32_MAX;
constexpr uint32_t COV_NO_ITEM = UINT32_MAX;

enum CovNodeFlags : uint8_t {
  COV_GIVES_FLAG = 1 << 0,    // `callee` takes one
  COV_SETS_FLAG = 1 << 1,     // the clone's own, when it comes here
  COV_STARTS_OBJECT = 1 << 2, // `start` is a vtable for the object that the argument's pointer points to
  COV_OWN_FLAG = 1 << 3,      // the flag that is given or asked is the clone's own
  COV_LANDS_PASSING = 1 << 4, // exceptions that pass its landing pad land, too
  COV_ESCAPE_IF_DONE = 1 << 5,     // `escape` only if the flag is set
  COV_ESCAPE_IF_NOT_DONE = 1 << 6, // only if it is not
  COV_LANDS_ALL = 1 << 7,     // all exceptions land there, and none goes on
};

struct CovNode {
  LLVMValueRef callee;        // in place of what the piece's call calls, or null
  LLVMValueRef only_if;       // the call's pointer must be this function, or null
  LLVMValueRef start;         // in place of an argument, or null
  LLVMValueRef start_original;// what that must be
  uint64_t start_offset;      // into the vtables
  uint32_t start_index;       // of the argument
  CovEdge start_otherwise;    // if it is not
  uint32_t piece;
  uint32_t first_edge;        // its first in CovBody::edges
  CovEdge otherwise;          // if the pointer is not `only_if`
  CovEdge not_done;           // in place of the first edge, if the flag is not set
  CovEdge escape;             // where exceptions go that its calls would let out of the function
  uint32_t item;              // the call is this item of its frame, for !covsched.item; COV_NO_ITEM if it is none
  uint8_t flags;              // CovNodeFlags
};

struct CovTrap {
  uint64_t expected;
  CovText text;
};

struct CovBody {
  const CovNode *nodes;
  size_t node_count;
  const CovEdge *edges;       // those of each node together
  const CovTrap *traps;
  size_t trap_count;
  LLVMValueRef not_covered;   // what traps call
  uint32_t entry;
  bool only_assume;           // no traps: what would lead to one is undefined
};

struct CovMade {
  uint64_t nodes;
  uint64_t assumes;
  uint64_t guards;
};

/// Gives a clone that was declared its body.
void cov_clone_make(CovTemplate *copy, LLVMValueRef clone, const CovBody *body, CovMade *made);
/// A copy of a vtable in which one function is another; null if it is not in it.
LLVMValueRef cov_clone_vtable(LLVMValueRef vtable, CovText name, LLVMValueRef method, LLVMValueRef with);

// --- Code ---------------------------------------------------------------------------------------------------

struct CovCode;
/// Reads a module's code, which must not change meanwhile.
CovCode *cov_code_new(LLVMModuleRef module);
void cov_code_drop(CovCode *code);
/// The next record, as code.h says, valid until the next call; null after the last.
const uint64_t *cov_code_next(CovCode *code, size_t *count);

// --- What data-flow specialization does ---------------------------------------------------------------------

/// The function whose copy a call may have for itself: called by name, defined here and nowhere else, no frame's clone, not
/// on the way to the call. Null if there is none.
LLVMValueRef cov_callee_to_copy(LLVMValueRef call);
/// Lets a call call a clone of what it called.
void cov_call_clone(LLVMValueRef call, LLVMValueRef clone);
/// In instructions, without those of debug info.
size_t cov_size(LLVMValueRef function);
/// Puts locals into registers, where their address is not used otherwise. False if nothing changed.
bool cov_promote_locals(LLVMValueRef function);

enum CovConstantKind : uint8_t { COV_CONSTANT_INT, COV_CONSTANT_NULL, COV_CONSTANT_ADDRESS, COV_CONSTANT_FUNCTION };

struct CovConstant {
  LLVMValueRef global;        // the variable or function
  uint64_t number;            // an integer of the value's width, or how many bytes into the variable
  CovConstantKind kind;
};

enum CovKeep : uint8_t {
  COV_KEEP_NOTHING,
  COV_KEEP_CHECK,             // the hook says what was expected, if the register is another
  COV_KEEP_CLAIM,             // the hook says what was claimed
};

constexpr int32_t COV_OWN_THREAD = INT32_MIN;

struct CovKept {
  LLVMValueRef hook;          // covsched_not_covered or covsched_claim_failed
  CovText text;
  int32_t thread;             // -1: none; COV_OWN_THREAD: whose clone it is
  CovKeep keep;
};

/// Puts a constant in the place of an instruction's result or a parameter, except in checks of it. False if nothing
/// changed: no use, or a value that cannot be this constant or cannot be checked.
bool cov_replace_uses(LLVMValueRef value, const CovConstant *with, const CovKept *keep);

struct CovFolded {
  uint64_t values;            // instructions in whose place others, or constants, are used
  uint64_t branches;          // and switches, that go one way
  uint64_t blocks_removed;    // that control does not reach
  uint64_t merged;            // blocks that follow another alone
};

/// A branch or switch that goes one way.
struct CovDecided {
  CovLocation place;
  int64_t value;              // what decides it, signed
  bool is_switch;
};

/// What follows from constants. No access to memory that may execute is removed.
void cov_fold(LLVMValueRef function, CovFolded *done, void (*visit)(void *, const CovDecided *), void *context);

struct CovUnrollLimits {
  uint64_t instructions;      // that one loop may become
  uint64_t growth;            // that all may become
  uint32_t trips;
};

/// A loop that is gone.
struct CovUnrolledLoop {
  CovLocation place;          // where it stood in the source
  uint32_t trips;
};

/// Unrolls loops that run a constant number of times, without items in them.
void cov_unroll_constant(LLVMValueRef function, const CovUnrollLimits *limits,
                         void (*visit)(void *, const CovUnrolledLoop *), void *context);

/// Runs LLVM's optimizer, which assumes that there are no data races. Calls of hooks are neither merged nor copied.
void cov_optimize(LLVMModuleRef module);
/// A variable by its linkage name; null if there is none.
LLVMValueRef cov_variable(LLVMModuleRef module, CovText name);

// --- Numbers ------------------------------------------------------------------------------------------------

struct CovNumbers;
CovNumbers *cov_numbers_new();
void cov_numbers_drop(CovNumbers *numbers);
/// The value's number: the same as long as the value is there, and no other value's, even later.
uint64_t cov_number_of(CovNumbers *numbers, LLVMValueRef value);

// --- Counting -----------------------------------------------------------------------------------------------

/// The thread's own counter, 64 bits, defined elsewhere; null if the name is taken by something else.
LLVMValueRef cov_thread_counter(LLVMModuleRef module, CovText name);
/// Every block of a function adds the number of its instructions to the counter. False if it was done before, or if
/// the function has no place for it.
bool cov_count_instructions(LLVMValueRef function, LLVMValueRef counter);

// --- Loom ---------------------------------------------------------------------------------------------------

enum CovLoomOptions : uint32_t {
  COV_LOOM_NO_CLONING = 1 << 0,     // slots stand in the only copy
  COV_LOOM_NO_FILTER_BYTE = 1 << 1, // checks and re-acquires always call the runtime
  COV_LOOM_NO_INLINE = 1 << 2,      // tests and stores are functions of their own
  COV_LOOM_NO_DIRECT = 1 << 3,      // other units' functions are called by name, each between a release and a re-acquire
};

/// What instrumented code and the runtime share: core's `loom::abi`.
struct CovLoomAbi {
  CovText at, pending, check, reacquire, slot, enter, handler_enter, leave;
  uint64_t running;           // AT_RUNNING
  uint8_t slow, wait;         // SWITCH_SLOW, SWITCH_WAIT
  uint32_t outer_size;        // bytes of `Outer`
  uint32_t options;           // CovLoomOptions
};

struct CovLoom;
/// Begins a unit; null if the program uses a name of the runtime's for something else.
CovLoom *cov_loom_new(LLVMModuleRef module, const CovLoomAbi *abi);
void cov_loom_drop(CovLoom *unit);

/// Whether an earlier run did this function.
bool cov_loom_is_done(LLVMValueRef function);
/// Gives the function the form that the rest expects: no dead blocks, allocas first, landing pads of one line each.
/// `few`: loops with more iterations than that, and nothing but counting, are divided; 0: none are.
void cov_loom_prepare(LLVMValueRef function, uint32_t few);

enum CovLoomObstacle : uint8_t {
  COV_LOOM_CLONEABLE,
  COV_LOOM_NO_DEBUG_INFO,
  COV_LOOM_RETURNS_TWICE,
  COV_LOOM_INDIRECTBR,
  COV_LOOM_CALLBR,
  COV_LOOM_BLOCK_ADDRESS,
  COV_LOOM_NODUPLICATE,
  COV_LOOM_TOKEN,
  COV_LOOM_SPECIAL_MEMORY,
};

enum CovLoomFacts : uint8_t {
  COV_LOOM_FROM_OUTSIDE = 1 << 0, // seen from other units, or used other than to be called
  COV_LOOM_ADDRESS_TAKEN = 1 << 1,
  COV_LOOM_HANDLER_TYPE = 1 << 2, // void (i32) or void (i32, ptr, ptr)
  COV_LOOM_FORWARDS = 1 << 3,     // all its parameters can be passed on
};

/// What stands in the way of cloning, with an instruction (or null), and facts.
CovLoomObstacle cov_loom_obstacle(LLVMValueRef function, LLVMValueRef *at);
uint8_t cov_loom_facts(LLVMValueRef function);

/// An edge that closes a cycle. `trips`: at most so many iterations, 0 if that is not known. `to_pad`: it cannot be
/// split, the landing pad has the check. `leaves`: the block's end goes back or leaves the loop, so that a check before it
/// costs no jump.
struct CovLoomBackEdge {
  LLVMValueRef end;           // the terminator that it begins at
  LLVMValueRef to;            // the block
  const LLVMValueRef *calls;  // those in the cycle, without intrinsics
  size_t call_count;
  uint32_t trips;
  bool to_pad;
  bool leaves;
  bool outermost;             // a natural loop that is in no other one
  bool nests;                 // another loop is in it
};

/// In the order of blocks.
void cov_loom_back_edges(LLVMValueRef function, void (*visit)(void *, const CovLoomBackEdge *), void *context);
/// Landing pads, in the order of blocks.
void cov_loom_pads(LLVMValueRef function, void (*visit)(void *, LLVMValueRef), void *context);

enum CovLoomCallFacts : uint8_t {
  COV_LOOM_SYSTEM_CALL = 1 << 0,  // assembly with a system call in it
  COV_LOOM_OF_HANDLERS_TYPE = 1 << 1, // what is called has the type of COV_LOOM_HANDLER_TYPE
};
uint8_t cov_loom_call_facts(LLVMValueRef call);
/// Says of a call that nothing follows it on the fast path but the return; its copies say so, too.
void cov_loom_mark_last(LLVMValueRef call);

constexpr uint32_t COV_LOOM_NONE = UINT32_MAX;

enum CovLoomCallKind : uint8_t {
  COV_LOOM_TEST,              // the switch is tested after it
  COV_LOOM_RELEASE,           // the thread is released at the location meanwhile
  COV_LOOM_RELEASE_CELL,      // or not, as the cell says
  COV_LOOM_LANDS,             // comes back a second time, from anywhere
};

struct CovLoomCall {
  LLVMValueRef call;
  uint32_t location;
  uint32_t cell;
  CovLoomCallKind kind;
  bool returns_next;          // nothing follows on the fast path but the return
};

struct CovLoomCheck {
  LLVMValueRef end;           // of CovLoomBackEdge
  LLVMValueRef to;
  uint32_t location;
  bool to_fast;               // the slow path may go back to the fast one here
  bool before_end;            // stands before the terminator, not on the edge
};

struct CovLoomPad {
  LLVMValueRef pad;
  uint32_t location;
  bool pauses;                // a cycle goes through it
};

enum CovLoomHow : uint8_t {
  COV_LOOM_CLONE = 1 << 0,
  COV_LOOM_OUTSIDE = 1 << 1,  // begins with the test for F.outside
  COV_LOOM_INLINE_OUTSIDE = 1 << 2, // enters and leaves by itself
  COV_LOOM_HANDLER = 1 << 3,  // may be a signal handler
};

struct CovLoomFunction {
  LLVMValueRef function;
  const CovLoomCall *calls;
  size_t call_count;
  const CovLoomCheck *checks;
  size_t check_count;
  const CovLoomPad *pads;
  size_t pad_count;
  const LLVMValueRef *markers; // calls that only a recording needs: the slow path alone has them
  size_t marker_count;
  const LLVMValueRef *jumps;   // calls of longjmp: always behind a slot
  size_t jump_count;
  uint32_t number;            // of its byte
  uint32_t entry_location;    // COV_LOOM_NONE: no thread pauses there
  uint8_t how;                // CovLoomHow
};

/// Instruments a function; gives the number of its first slot and how many there are.
void cov_loom_change(CovLoom *unit, const CovLoomFunction *function, uint32_t *first_slot, uint32_t *slots);

struct CovLoomUnit {
  CovText section;
  CovText register_hook;
  CovText unregister_hook;
  uint64_t hash;
  const uint64_t *callees;    // one a call cell
  const uint32_t *cell_locations;
  size_t cell_count;
  const uint64_t *defined;
  size_t defined_count;
  uint32_t version;
  uint32_t functions;
  uint32_t locations;         // without slots
};

/// Makes the arrays, the descriptor and the constructor. Ends the unit.
void cov_loom_finish(CovLoom *unit, const CovLoomUnit *facts);

// --- Passes -------------------------------------------------------------------------------------------------

enum CovPass : uint8_t {
  COV_NO_PASS,
  COV_INSTRUMENT,
  COV_LOWER,
  COV_PRINT_SITES,
  COV_EPOCH_MARKERS,
  COV_SYNC_UNROLL,
  COV_PRINT_EPOCHS,
  COV_VERIFY_EPOCHS,
  COV_SPECIALIZE,
  COV_PRINT_POINTS_TO,
  COV_LOOM,
  COV_PRINT_LOOM,
};

/// Where COV_LOOM stands if the environment asks for it.
enum CovLoomStage : uint8_t { COV_LOOM_EARLY, COV_LOOM_LATE };

struct CovPassCallbacks {
  /// Reads one element of -passes; gives the pass's parameters, which `drop` frees.
  CovPass (*parse)(CovText text, void **parameters);
  /// The same for a pass at an extension point.
  void *(*from_environment)(CovPass pass);
  /// The passes to run before COV_INSTRUMENT there, by number from 0; COV_NO_PASS after the last.
  CovPass (*before)(size_t number, void **parameters);
  /// The parameters of COV_LOOM at this stage; null if it is not asked for there.
  void *(*loom)(CovLoomStage stage);
  /// Runs it; true if the module changed.
  bool (*run)(CovPass pass, const void *parameters, LLVMModuleRef module);
  void (*drop)(void *parameters);
};

void cov_register_passes(void *pass_builder, const CovPassCallbacks *callbacks);

// --- Bitcode ------------------------------------------------------------------------------------------------

void cov_write_bitcode(LLVMModuleRef module, void (*take)(void *, CovText), void *context);

struct CovLinked;
/// An empty module in a context of its own.
CovLinked *cov_linked_new();
void cov_linked_drop(CovLinked *linked);
/// Links bitcode in. False and a message if it cannot be read or does not fit.
bool cov_linked_add(CovLinked *linked, CovText name, CovText bitcode, void (*take)(void *, CovText),
                    void *context);
/// Bitcode or text takes the place of the module, as it is: linking would leave out what nobody uses. False and a
/// message if it cannot be read.
bool cov_linked_read(CovLinked *linked, CovText name, CovText ir, void (*take)(void *, CovText), void *context);
/// The module, which `linked` keeps.
LLVMModuleRef cov_linked_module(CovLinked *linked);
/// Names of what is used and not defined.
void cov_linked_undefined(CovLinked *linked, void (*take)(void *, CovText), void *context);
/// False and a message if the verifier finds something.
bool cov_linked_verify(CovLinked *linked, void (*take)(void *, CovText), void *context);
void cov_linked_write(CovLinked *linked, void (*take)(void *, CovText), void *context);

}  // extern "C"

#endif
