// Reads of memory that must stay.

#include "kept_reads.h"

#include "llvm/IR/Attributes.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using covsched::KeptReads;

/// On a load that is made volatile here, until the kept reads are let go.
static constexpr const char *PlainMark = "covsched.plain";
/// On a call that comes back.
static constexpr const char *ReturnsMark = "covsched-willreturn";

void KeptReads::keepCall(CallBase &Call) {
  if (!Call.mayReadFromMemory() || !wouldInstructionBeTriviallyDead(&Call))
    return;
  if (Call.getAttributes().hasFnAttr(Attribute::WillReturn)) {
    Call.removeFnAttr(Attribute::WillReturn);
    Call.addFnAttr(Attribute::get(Call.getContext(), ReturnsMark));
  }
  Function *Callee = Call.getCalledFunction();
  if (Callee && Callee->hasFnAttribute(Attribute::WillReturn)) {
    Callee->removeFnAttr(Attribute::WillReturn);
    Callees.insert(Callee);
  }
}

void KeptReads::keep(BasicBlock &Block, function_ref<bool(LoadInst &)> Wanted) {
  for (Instruction &I : Block) {
    if (auto *Load = dyn_cast<LoadInst>(&I)) {
      if (!Load->isUnordered() || !Wanted(*Load))
        continue;
      Load->setVolatile(true);
      Load->setMetadata(PlainMark, MDNode::get(Load->getContext(), {}));
    } else if (auto *Call = dyn_cast<CallBase>(&I)) {
      keepCall(*Call);
    }
  }
}

void KeptReads::keep(BasicBlock &Block) {
  keep(Block, [](LoadInst &) { return true; });
}

void KeptReads::keep(Function &F) {
  for (BasicBlock &Block : F)
    keep(Block);
}

void KeptReads::release(BasicBlock &Block) {
  for (Instruction &I : Block) {
    if (auto *Load = dyn_cast<LoadInst>(&I); Load && Load->hasMetadata(PlainMark)) {
      Load->setVolatile(false);
      Load->setMetadata(PlainMark, nullptr);
    } else if (auto *Call = dyn_cast<CallBase>(&I); Call && Call->hasFnAttr(ReturnsMark)) {
      Call->setAttributes(Call->getAttributes().removeFnAttribute(Call->getContext(), ReturnsMark));
      Call->addFnAttr(Attribute::WillReturn);
    }
  }
}

void KeptReads::release(Function &F) {
  for (BasicBlock &Block : F)
    release(Block);
  for (Function *Callee : Callees)
    Callee->addFnAttr(Attribute::WillReturn);
  Callees.clear();
}
