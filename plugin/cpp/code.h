// A module's code as words, which src/ir/code/words.rs reads: the same numbers are declared there.
//
// The first record is the module's, then comes one for each function with a body, in order. A record is a sequence of
// 64-bit words; `X*` below is a count and then as many X. Functions and variables are numbered over the module, blocks,
// registers and loops over the function: registers are the parameters, then the results in order.
//
//   module    function* variable* opaques
//   function  value text flags [clone: text thread frame]
//   variable  text bytes flags [bytes: count, words] (offset operand)* (offset end)*; the flags say what the initializer
//             is, the ranges are undefined
//   body      function (value type)* block* loop* opaques
//   block     flags idom+1 loop+1 next* instruction*
//   loop      header parent+1 block* bound (register flags start step)* (block comparison step start operand)*
//   opaques   operand**, in the order of their first use
//   text      address length
//   instruction  value, CodeOp | which << 8 | flags << 16 | type << 32, then what CodeOp says
//   operand   CodeOperand | number << 8, then the value of an integer or the offset into a variable
//   type      0: none, 1: other, 2: pointer, 3 + width: integer
//   scev      CodeScev | which << 8 | (count or width) << 16, then its operands

#ifndef COVSCHED_CODE_H
#define COVSCHED_CODE_H

#include <optional>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace covsched {

enum CodeOp : uint64_t {
  CODE_BINARY,       // a b; flags: nsw, nuw
  CODE_COMPARE,      // a b
  CODE_CAST,         // a
  CODE_GEP,          // base offset (operand scale)*; flag: inbounds
  CODE_SELECT,       // condition a b
  CODE_PHI,          // (block operand)*
  CODE_FREEZE,       // a
  CODE_ALLOCA,       // bytes; flag: constant
  CODE_LOAD,         // address bytes; flag: special
  CODE_STORE,        // address value bytes; flag: special
  CODE_EXCHANGE,     // address bytes operand*
  CODE_CALL,         // function or operand (by which), by value, item, operand*; flags: CodeCallFlags
  CODE_RETURN,       // operand, if the flag says so
  CODE_BRANCH,       // the same
  CODE_SWITCH,       // operand case*
  CODE_UNREACHABLE,
  CODE_OTHER,        // operand*; flags: reads, writes
};

enum CodeCallee : uint64_t { CODE_TO_FUNCTION, CODE_TO_POINTER, CODE_TO_ASM };
enum CodeCallFlags : uint64_t {
  CODE_NEVER_RETURNS = 1,
  CODE_ONLY_READS = 2,
  CODE_TOUCHES_NOTHING = 4,
  CODE_HAS_ITEM = 8,
};

enum CodeCast : uint64_t { CODE_TRUNC, CODE_ZEXT, CODE_SEXT, CODE_SAME };

enum CodeOperand : uint64_t {
  CODE_VALUE,
  CODE_INT,       // the number is the width
  CODE_NULL,
  CODE_GLOBAL,
  CODE_FUNCTION,
  CODE_UNDEF,
  CODE_OPAQUE,
};

enum CodeScev : uint64_t { CODE_NO_SCEV, CODE_SCEV_OPERAND, CODE_NARY, CODE_UDIV, CODE_SCEV_CAST };

enum CodeFunctionFlags : uint64_t {
  CODE_VARIADIC = 1,
  CODE_INTRINSIC = 2,
  CODE_INTERNAL = 4,
  CODE_ADDRESS_TAKEN = 8,
  CODE_INTERPOSABLE = 16,
  CODE_CLONE = 32,
};

enum CodeVariableFlags : uint64_t {
  CODE_CONSTANT = 1,
  CODE_VARIABLE_INTERNAL = 2,
  CODE_THREAD_LOCAL = 4,
  CODE_ZERO = 8,
  CODE_BYTES = 16,
};

enum CodeRecurrenceFlags : uint64_t { CODE_NO_SIGNED_WRAP = 1, CODE_NO_UNSIGNED_WRAP = 2 };

enum CodeBlockFlags : uint64_t { CODE_REACHABLE = 1, CODE_IRREDUCIBLE = 2 };

inline uint64_t flag(bool Condition, uint64_t Flag) { return Condition ? Flag : 0; }

/// In the order of Rust's `Compare`.
uint64_t compareOf(llvm::CmpInst::Predicate Op);

/// An object and the offset into it.
struct CodeAddress {
  const llvm::GlobalObject *Object;
  int64_t Offset;
};

class LoopFacts;

/// Writes records.
class CodeWriter {
public:
  explicit CodeWriter(llvm::Module &M);
  llvm::ArrayRef<uint64_t> module();
  llvm::ArrayRef<uint64_t> body(llvm::Function &F);

private:
  friend class LoopFacts;

  void put(uint64_t Word) { Words.push_back(Word); }
  void text(llvm::StringRef Text);
  void function(const llvm::Function &F);
  void variable(const llvm::GlobalVariable &G);
  void opaques();
  llvm::ArrayRef<uint64_t> finish();

  void number(llvm::Function &F);
  void head(const llvm::Instruction &I, CodeOp Op, uint64_t Which = 0, uint64_t Flags = 0);
  void instruction(const llvm::Instruction &I);
  bool plain(const llvm::Instruction &I);
  bool memory(const llvm::Instruction &I);
  bool conversion(const llvm::CastInst &I);
  bool gep(const llvm::GetElementPtrInst &I);
  void call(const llvm::CallBase &I);
  void other(const llvm::Instruction &I);

  void operand(const llvm::Value *V);
  void operands(llvm::ArrayRef<const llvm::Value *> All);
  bool constant(const llvm::Constant &C);
  void address(CodeAddress A);
  const llvm::Constant *simplified(const llvm::Constant *C) const;
  std::optional<CodeAddress> addressOf(const llvm::Constant *C) const;
  uint32_t opaque(const llvm::Value *V);

  bool isPointer(const llvm::Type *T) const {
    return T->isPointerTy() && T->getPointerAddressSpace() == 0 && WidePointers;
  }
  /// What registers with a meaning have.
  bool isWord(const llvm::Type *T) const {
    return isPointer(T) || (T->isIntegerTy() && T->getIntegerBitWidth() <= 64);
  }
  uint64_t typeOf(const llvm::Type *T) const;

  llvm::Module &M;
  const llvm::DataLayout &DL;
  const bool WidePointers;
  llvm::TargetLibraryInfoImpl Library;
  llvm::DenseMap<const llvm::Function *, uint32_t> Functions;
  llvm::DenseMap<const llvm::GlobalVariable *, uint32_t> Variables;
  llvm::DenseMap<const llvm::Value *, uint32_t> Opaques;
  llvm::SmallVector<const llvm::Value *, 8> NewOpaques;
  std::vector<uint64_t> Words;
  // Of the function at hand.
  llvm::DenseMap<const llvm::Value *, uint32_t> Values;
  llvm::DenseMap<const llvm::BasicBlock *, uint32_t> Blocks;
};

}  // namespace covsched

#endif
