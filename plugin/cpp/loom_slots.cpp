// Slots: wherever the chain of lines changes.
//
// What an instruction's chain is: its own location; else that of the one before it in its block, else of the first one
// after it; a block without any has its predecessors', if they agree, else its successors'.
// A slot's `!dbg` is the location of what comes next, its `!covsched.from` that of what came before; either is missing
// where there is none. The latter is for whoever describes the unit: the verifier does not let it stay.

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

bool covsched::loom::sameChain(const DILocation *A, const DILocation *B) {
  if (A == B)
    return true;
  return A && B && A->getLine() == B->getLine() && A->getInlinedAt() == B->getInlinedAt() &&
         A->getFile() == B->getFile() && A->getScope()->getSubprogram() == B->getScope()->getSubprogram();
}

DILocation *covsched::loom::lineOf(const Instruction &I) {
  if (isa<PHINode>(I) || I.isDebugOrPseudoInst() || I.isLifetimeStartOrEnd())
    return nullptr;
  DILocation *Location = I.getDebugLoc();
  return Location && Location->getLine() ? Location : nullptr;
}

DILocation *covsched::loom::lastLine(const BasicBlock &Block) {
  for (const Instruction &I : reverse(Block))
    if (DILocation *Line = lineOf(I))
      return Line;
  return nullptr;
}

static DILocation *firstLine(const BasicBlock &Block) {
  for (const Instruction &I : Block)
    if (DILocation *Line = lineOf(I))
      return Line;
  return nullptr;
}

/// What all have in common; null if they differ or one is not known yet.
template <typename Range, typename Of> static DILocation *common(Range &&Blocks, Of of) {
  DILocation *Found = nullptr;
  for (const BasicBlock *Block : Blocks) {
    DILocation *Line = of(Block);
    if (!Line || (Found && !sameChain(Found, Line)))
      return nullptr;
    Found = Line;
  }
  return Found;
}

Chains::Chains(Function &F) {
  SmallVector<const BasicBlock *, 16> Open;
  for (const BasicBlock &Block : F) {
    if (DILocation *First = firstLine(Block))
      set(&Block, First, lastLine(Block));
    else
      Open.push_back(&Block);
  }
  // Each round settles at least one block, or ends.
  for (bool Forward : {true, false})
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (const BasicBlock *Block : Open) {
        if (In.count(Block))
          continue;
        DILocation *Line = Forward ? common(predecessors(Block), [&](const BasicBlock *B) { return out(B); })
                                   : common(successors(Block), [&](const BasicBlock *B) { return in(B); });
        if (!Line)
          continue;
        set(Block, Line, Line);
        Changed = true;
      }
    }
}

BasicBlock *covsched::loom::splitEdges(BasicBlock *From, BasicBlock *To, const Twine &Name) {
  BasicBlock *Between = BasicBlock::Create(From->getContext(), Name, From->getParent(), To);
  BranchInst::Create(To, Between);
  for (PHINode &Phi : To->phis()) {
    Value *Incoming = Phi.getIncomingValueForBlock(From);
    while (Phi.getBasicBlockIndex(From) >= 0)
      Phi.removeIncomingValue(From, false);
    Phi.addIncoming(Incoming, Between);
  }
  From->getTerminator()->replaceSuccessorWith(To, Between);
  return Between;
}

namespace {

class Placer {
public:
  Placer(CovLoom &Unit, Chains &Lines, const SmallPtrSetImpl<Instruction *> &Jumps)
      : Unit(Unit), Lines(Lines), Jumps(Jumps), Write(Unit, 0) {}

  void slot(Instruction *Before, DILocation *From, DILocation *To) {
    LLVMContext &Context = Before->getContext();
    IRBuilder<> B(Before);
    B.SetCurrentDebugLocation(DebugLoc());
    CallInst *Call = Write.call(
        B, Unit.Slot, {Unit.slotCell(Unit.SlotCount++), ConstantPointerNull::get(PointerType::get(Context, 0))});
    Unit.SlotCalls.push_back(Call);
    if (To)
      Call->setDebugLoc(DebugLoc(To));
    if (From)
      Call->setMetadata("covsched.from", MDNode::get(Context, {From}));
  }

  /// Changes inside of a block, and its end if control leaves the function there.
  void inside(BasicBlock &Block) {
    DILocation *Now = Lines.in(&Block);
    // Nothing can stand between such a call and its return, even if that is of another line.
    CallInst *Bound = Block.getTerminatingMustTailCall();
    for (Instruction &I : make_early_inc_range(Block)) {
      DILocation *Line = lineOf(I);
      bool IsChange = Line && !sameChain(Now, Line);
      if (IsChange || Jumps.count(&I)) {
        slot(&I, Now, IsChange ? Line : Now);
        Now = IsChange ? Line : Now;
      }
      if (&I == Bound)
        break;
    }
    Instruction *End = Block.getTerminator();
    if (!isa<ReturnInst>(End) && !isa<ResumeInst>(End))
      return;
    slot(Bound ? Bound : End, Now, nullptr);
  }

  /// Changes between a block and those before it.
  void before(BasicBlock &Block, const SmallPtrSetImpl<BasicBlock *> &Own) {
    DILocation *Next = Lines.in(&Block);
    // Not a small one: g++ believes that its union is read before it is written.
    SetVector<BasicBlock *> Others;
    bool AllDiffer = true;
    DILocation *Last = nullptr;
    bool IsFirst = true, Agree = true;
    for (BasicBlock *Pred : predecessors(&Block)) {
      // Control crosses from the other copy here: the line is the same.
      if (!Own.count(Pred))
        return;
      DILocation *Out = Lines.out(Pred);
      Agree &= IsFirst || sameChain(Last, Out);
      IsFirst = false;
      Last = Out;
      if (sameChain(Out, Next))
        AllDiffer = false;
      else
        Others.insert(Pred);
    }
    if (Others.empty())
      return;
    if (Agree && AllDiffer) {
      slot(&*Block.getFirstInsertionPt(), Last, Next);
      return;
    }
    for (BasicBlock *Pred : Others) {
      BasicBlock *At = Pred->getSingleSuccessor() ? Pred : splitEdges(Pred, &Block, "");
      slot(At->getTerminator(), Lines.out(Pred), Next);
    }
  }

private:
  CovLoom &Unit;
  Chains &Lines;
  const SmallPtrSetImpl<Instruction *> &Jumps;
  Writer Write;
};

}  // namespace

/// Gives a function's slots their numbers in the order of instructions.
static void numberSlots(CovLoom &Unit, Function &F, uint32_t First) {
  Unit.SlotCalls.resize(First);
  for (BasicBlock &Block : F)
    for (Instruction &I : Block)
      if (auto *Call = dyn_cast<CallInst>(&I); Call && Call->getCalledOperand() == Unit.Slot) {
        Call->setArgOperand(0, Unit.slotCell(Unit.SlotCalls.size()));
        Unit.SlotCalls.push_back(Call);
      }
  assert(Unit.SlotCalls.size() == Unit.SlotCount);
}

void covsched::loom::placeSlots(CovLoom &Unit, ArrayRef<BasicBlock *> Blocks, Chains &Lines,
                                ArrayRef<FixedSlot> Fixed, const SmallPtrSetImpl<Instruction *> &Jumps) {
  Placer Place(Unit, Lines, Jumps);
  uint32_t First = Unit.SlotCount;
  SmallPtrSet<BasicBlock *, 32> Own(Blocks.begin(), Blocks.end());
  DenseMap<BasicBlock *, DILocation *> At;
  for (const FixedSlot &Slot : Fixed)
    At[Slot.Block] = Slot.From;
  // Insides first: a slot at a block's end belongs to the next block.
  for (BasicBlock *Block : Blocks)
    Place.inside(*Block);
  for (BasicBlock *Block : Blocks) {
    auto Found = At.find(Block);
    if (Found != At.end())
      Place.slot(&*Block->getFirstInsertionPt(), Found->second, Lines.in(Block));
    else if (!Block->isEHPad())
      Place.before(*Block, Own);
  }
  numberSlots(Unit, *Blocks.front()->getParent(), First);
}
