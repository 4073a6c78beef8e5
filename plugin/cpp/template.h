// What template.cpp prepares and clone.cpp copies.

#ifndef COVSCHED_TEMPLATE_H
#define COVSCHED_TEMPLATE_H

#include <vector>

#include "bridge.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace covsched {

/// An operand that a clone has another value for.
struct Operand {
  uint32_t Place;
  uint32_t Value;
};

/// An instruction to copy. Values are numbered through the template: what a number stands for in a clone changes
/// with each piece that is copied, since no register lives in two pieces.
struct Step {
  llvm::Instruction *Inst;
  uint32_t Value;             // what it makes
  uint32_t FirstOperand;      // in Template::Operands
  uint32_t OperandCount;
  uint32_t Place;             // its debug location in Template::Local, or None
  uint32_t Loop;              // its loop's id there, or None
  uint32_t Slot;              // the slot that it loads or stores, or None
  bool OnlyDescribes;         // a load of it that only debug info asks for
};

constexpr uint32_t None = UINT32_MAX;

/// Names the function that a clone was made from, the thread and the frame.
constexpr const char *CloneMark = "covsched.clone";

/// Says of a call in a frame's clone which of the frame's items it is.
constexpr const char *ItemMark = "covsched.item";

/// A block, and the block between an invoke and its normal successor, where the result is stored.
struct Piece {
  llvm::BasicBlock *Block;
  llvm::BasicBlock *Tail = nullptr;
  llvm::CallBase *Call = nullptr;  // the call that matters
  bool Lands = false;
  std::vector<Step> Steps;         // terminator included
  std::vector<Step> TailSteps;     // without
  llvm::SmallVector<uint32_t, 2> Next;
  llvm::BitVector Live;            // slots that are read from here on before they are written
};

}  // namespace covsched

struct CovTemplate {
  llvm::Module &M;
  llvm::Function &Original;
  llvm::Function *Copy;
  std::vector<covsched::Piece> Pieces;
  std::vector<llvm::AllocaInst *> Fixed;               // the program's own, in its frame
  std::vector<llvm::AllocaInst *> Slots;               // what registers became
  std::vector<llvm::DbgVariableIntrinsic *> Declared;  // variables that live in `Fixed`
  std::vector<covsched::Operand> Operands;
  llvm::DenseMap<const llvm::Value *, uint32_t> Values;
  /// Debug info that belongs to the function and that each clone has its own of: the subprogram first, each node
  /// after what it refers to. Empty without debug info.
  std::vector<llvm::MDNode *> Local;
  llvm::DenseMap<const llvm::Metadata *, uint32_t> LocalPlaces;

  explicit CovTemplate(llvm::Function &F) : M(*F.getParent()), Original(F), Copy(nullptr) {}
  ~CovTemplate();
};

#endif
