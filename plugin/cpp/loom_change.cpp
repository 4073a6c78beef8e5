// Instruments one function.
//
// The entry block keeps the static allocas and is shared; everything after it gets a second, slow copy with slots.
// ```text
// entry:    allocas ; [ at != RUNNING -> F.outside ] ; [ byte -> cold ] -> body or body.slow
// call:     [ at = location ] call -> after
// after:    [ at = RUNNING ; pending -> reacquire ] ; byte -> cross -> rest.slow ; rest
// back edge: byte -> cold: check ; byte -> cross -> header.slow ; header
// ```
// First the function gets an empty block at each such place (`after`, back edge, landing); then all is cloned, then the
// empty blocks are filled, differently in each copy; then slots; then values are repaired.

#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

namespace {

/// A place in the function: an empty block with one successor.
struct Place {
  enum class Kind { AfterCall, BackEdge, Landing };
  Kind What;
  BasicBlock *Block;
  uint32_t Location;
  bool Releases = false; // the thread may be released when it comes here
  bool Pauses = false;   // it may pause here
  bool ToFast = false;   // the slow copy may go back to the fast one
  Instruction *Call = nullptr;
  uint32_t Cell = COV_LOOM_NONE;
};

class Change {
public:
  Change(CovLoom &Unit, const CovLoomFunction &Plan)
      : Unit(Unit), Plan(Plan), F(*unwrap<Function>(Plan.function)), Write(Unit, Plan.number),
        Context(F.getContext()) {}

  void run() {
    bool HasSlots = (Plan.how & COV_LOOM_CLONE) != 0;
    IsCloned = HasSlots && !Unit.has(COV_LOOM_NO_CLONING);
    Entry = &F.getEntryBlock();
    Body = Entry->splitBasicBlock(unwrap<Instruction>(cov_entry_point(wrap(static_cast<Value *>(&F)))), "body");
    if (Plan.how & COV_LOOM_INLINE_OUTSIDE)
      leaveAtReturns();
    makePlaces();
    SmallVector<BasicBlock *, 32> Fast;
    for (BasicBlock &Block : F)
      if (&Block != Entry)
        Fast.push_back(&Block);
    std::unique_ptr<Chains> Lines;
    if (HasSlots)
      Lines = std::make_unique<Chains>(F);
    if (IsCloned)
      clone(Fast, *Lines);
    SmallVector<FixedSlot, 8> Fixed;
    for (const Place &P : Places)
      fill(P, Lines.get(), Fixed);
    enter();
    if (IsCloned) {
      Fixed.push_back({slowOf(Body), nullptr});
      placeSlots(Unit, Slow, *Lines, Fixed);
    } else if (HasSlots) {
      Fixed.push_back({Body, nullptr});
      Fast.append(Added);
      placeSlots(Unit, Fast, *Lines, Fixed);
    }
    release();
    if (IsCloned) {
      SmallVector<std::pair<Instruction *, Instruction *>, 64> Pairs;
      for (Instruction *I : Originals)
        Pairs.push_back({I, cast<Instruction>(Map[I])});
      repairValues(F, Slow, Pairs);
    }
    dropPromises(F);
    F.addFnAttr(DoneAttribute);
    if (Plan.how & COV_LOOM_HANDLER)
      wrapHandler(Unit, F);
  }

private:
  CovLoom &Unit;
  const CovLoomFunction &Plan;
  Function &F;
  Writer Write;
  LLVMContext &Context;
  BasicBlock *Entry = nullptr, *Body = nullptr;
  Value *Entered = nullptr;    // the function enters and leaves by itself
  AllocaInst *Record = nullptr;
  bool IsCloned = false;
  SmallVector<Place, 16> Places;
  SmallVector<Instruction *, 64> Originals;
  SmallVector<BasicBlock *, 32> Slow;  // with what was added to them
  SmallVector<BasicBlock *, 32> Added; // to the only copy
  ValueToValueMapTy Map;

  BasicBlock *slowOf(BasicBlock *Block) { return cast<BasicBlock>(Map[Block]); }

  BasicBlock *newBlock(const Twine &Name) { return BasicBlock::Create(Context, Name, &F); }

  /// A block of the slow copy, in whose middle no line changes.
  BasicBlock *newSlow(const Twine &Name, Chains &Lines, DILocation *Line) {
    BasicBlock *Block = newBlock(Name);
    Lines.set(Block, Line, Line);
    (IsCloned ? Slow : Added).push_back(Block);
    return Block;
  }

  // --- Places -----------------------------------------------------------------------------------------------

  void makePlaces() {
    // Edges first: they are named by terminators, which calls move.
    for (const CovLoomCheck &Check : ArrayRef(Plan.checks, Plan.check_count)) {
      auto *End = unwrap<Instruction>(Check.end);
      BasicBlock *From = End->getParent(), *To = unwrap<BasicBlock>(Check.to);
      Place P = {Place::Kind::BackEdge, nullptr, Check.location};
      P.Pauses = true;
      P.ToFast = Check.to_fast && IsCloned;
      if (isa<IndirectBrInst>(End) || isa<CallBrInst>(End)) {
        // Such edges cannot be split; the check stands in the header, once.
        if (any_of(Places, [&](const Place &Known) { return Known.Block->getSinglePredecessor() == To; }))
          continue;
        P.Block = splitAt(&*To->getFirstInsertionPt(), "check");
      } else if (Check.before_end) {
        P.Block = splitAt(withCondition(End), "check");
      } else {
        P.Block = splitEdges(From, To, "check");
        // The loop's last block is now this one.
        P.Block->getTerminator()->setMetadata(LLVMContext::MD_loop, End->getMetadata(LLVMContext::MD_loop));
        End->setMetadata(LLVMContext::MD_loop, nullptr);
      }
      Places.push_back(P);
    }
    for (const CovLoomPad &Pad : ArrayRef(Plan.pads, Plan.pad_count)) {
      Place P = {Place::Kind::Landing, splitAt(unwrap<Instruction>(Pad.pad)->getNextNode(), "landed"), Pad.location};
      P.Releases = true;
      P.Pauses = Pad.pauses;
      Places.push_back(P);
    }
    for (const CovLoomCall &Given : ArrayRef(Plan.calls, Plan.call_count)) {
      auto *Call = unwrap<CallBase>(Given.call);
      Place P = {Place::Kind::AfterCall, nullptr, Given.location};
      P.Releases = Given.kind != COV_LOOM_TEST;
      if (Given.kind == COV_LOOM_RELEASE || Given.kind == COV_LOOM_RELEASE_CELL)
        P.Call = Call;
      if (Given.kind == COV_LOOM_RELEASE_CELL)
        P.Cell = Given.cell;
      if (auto *Invoke = dyn_cast<InvokeInst>(Call))
        P.Block = splitEdges(Invoke->getParent(), Invoke->getNormalDest(), "after");
      else if (!isa<UnreachableInst>(Call->getNextNode()))
        P.Block = splitAt(Call->getNextNode(), "after");
      // Control may not come back; the thread is released all the same.
      if (P.Block || P.Call)
        Places.push_back(P);
    }
  }

  /// Moves what only decides whether a loop goes on to the end of its last block: the comparison, and the step of the
  /// counter that it looks at. So the slow copy needs the counter alone, and the loop no other register for it. Returns where
  /// that begins.
  static Instruction *withCondition(Instruction *End) {
    BasicBlock *Block = End->getParent();
    auto *Test = dyn_cast<CmpInst>(cast<BranchInst>(End)->getCondition());
    if (!Test || !Test->hasOneUse() || Test->getParent() != Block)
      return End;
    moveWithDebugInfo(*Test, End);
    Instruction *First = Test;
    for (Value *Operand : Test->operands()) {
      auto *Step = dyn_cast<Instruction>(Operand);
      if (!Step || Step->getParent() != Block || !(isa<BinaryOperator>(Step) || isa<GetElementPtrInst>(Step)))
        continue;
      bool IsCounter = all_of(Step->users(), [&](const User *Who) {
        auto *Phi = dyn_cast<PHINode>(Who);
        return Who == Test || (Phi && is_contained(successors(Block), Phi->getParent()));
      });
      if (!IsCounter)
        continue;
      moveWithDebugInfo(*Step, First);
      First = Step;
    }
    return First;
  }

  static void moveWithDebugInfo(Instruction &I, Instruction *Before) {
    SmallVector<DbgVariableIntrinsic *, 2> Users;
    findDbgUsers(Users, &I);
    I.moveBefore(Before);
    for (DbgVariableIntrinsic *User : Users)
      if (User->getParent() == Before->getParent())
        User->moveBefore(Before);
  }

  /// An empty block before this instruction.
  BasicBlock *splitAt(Instruction *Before, const Twine &Name) {
    BasicBlock *Head = Before->getParent();
    BasicBlock *Rest = Head->splitBasicBlock(Before);
    BasicBlock *Between = BasicBlock::Create(Context, Name, &F, Rest);
    BranchInst::Create(Rest, Between);
    Head->getTerminator()->setSuccessor(0, Between);
    Head->getTerminator()->setDebugLoc(DebugLoc());
    return Between;
  }

  /// A function that cannot be called again with its own arguments leaves where it returns.
  void leaveAtReturns() {
    IRBuilder<> B(Entry->getTerminator());
    Record = new AllocaInst(ArrayType::get(B.getInt64Ty(), Unit.Abi.outer_size / 8), 0, nullptr, Align(8), "",
                            &Entry->front());
    Entered = Write.isNotRunning(B);
    SmallVector<Instruction *, 4> Ends;
    for (BasicBlock &Block : F) {
      Instruction *End = Block.getTerminator();
      if (!isa<ReturnInst>(End) && !isa<ResumeInst>(End))
        continue;
      if (CallInst *Bound = Block.getTerminatingMustTailCall())
        End = Bound;
      Ends.push_back(End);
    }
    for (Instruction *End : Ends) {
      IRBuilder<> L(SplitBlockAndInsertIfThen(Entered, End, false));
      L.SetCurrentDebugLocation(DebugLoc());
      Write.call(L, Unit.Leave, {Record});
    }
  }

  // --- The slow copy ----------------------------------------------------------------------------------------

  void clone(ArrayRef<BasicBlock *> Fast, Chains &Lines) {
    for (BasicBlock *Block : Fast)
      for (Instruction &I : *Block)
        Originals.push_back(&I);
    for (BasicBlock *Block : Fast) {
      BasicBlock *Copy = CloneBasicBlock(Block, Map, ".slow", &F);
      Map[Block] = Copy;
      Slow.push_back(Copy);
      Lines.set(Copy, Lines.in(Block), Lines.out(Block));
    }
    for (BasicBlock *Block : Slow)
      for (Instruction &I : make_early_inc_range(*Block)) {
        RemapInstruction(&I, Map, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
        // What names a loop names one; what declares a variable in memory declares it for the whole function.
        I.setMetadata(LLVMContext::MD_loop, nullptr);
        if (auto *Declare = dyn_cast<DbgDeclareInst>(&I); Declare && isShared(Declare->getAddress()))
          I.eraseFromParent();
      }
    erase_if(Originals, [&](Instruction *I) { return !Map.lookup(I) || I->getType()->isVoidTy(); });
  }

  bool isShared(Value *Address) const {
    auto *I = dyn_cast_or_null<Instruction>(Address);
    return !I || I->getParent() == Entry;
  }

  /// Goes on at a block's successor in the other copy: `From` is where the values are that its phis have from `Block`.
  void cross(BasicBlock *From, BasicBlock *Block, BasicBlock *Target) {
    IRBuilder<>(From).CreateBr(Target);
    BasicBlock *Next = Block->getSingleSuccessor();
    auto Phi = Target->phis().begin();
    for (PHINode &Own : Next->phis()) {
      Phi->addIncoming(Own.getIncomingValueForBlock(Block), From);
      ++Phi;
    }
  }

  // --- Filling ----------------------------------------------------------------------------------------------

  void fill(const Place &P, Chains *Lines, SmallVectorImpl<FixedSlot> &Fixed) {
    if (!P.Block)
      return;
    BasicBlock *Next = P.Block->getSingleSuccessor();
    // A cross edge's phis are copied while the block still leads there directly.
    BasicBlock *ToSlow = nullptr, *ToFast = nullptr;
    if (IsCloned) {
      ToSlow = newSlow("cross", *Lines, Lines->out(P.Block));
      cross(ToSlow, P.Block, slowOf(Next));
      if (P.ToFast) {
        ToFast = newBlock("back");
        cross(ToFast, slowOf(P.Block), Next);
      }
      fillCopy(P, slowOf(P.Block), true, nullptr, ToFast, Lines, Fixed);
    }
    fillCopy(P, P.Block, false, ToSlow, nullptr, IsCloned ? nullptr : Lines, Fixed);
    if (IsCloned && P.What == Place::Kind::Landing)
      Fixed.push_back({ToSlow, fromOf(P, *Lines)}), Lines->set(ToSlow, Lines->in(Next), Lines->in(Next));
  }

  /// Where control was before it landed here.
  DILocation *fromOf(const Place &P, Chains &Lines) const {
    BasicBlock *Pad = P.Block->getSinglePredecessor();
    for (BasicBlock *Pred : predecessors(Pad))
      return Lines.out(Pred);
    return nullptr;
  }

  /// `Lines`: of the copy that has slots, else null. `Other`: where the fast copy goes if the slow bit is set; `Back`: where
  /// the slow copy goes if it is not.
  void fillCopy(const Place &P, BasicBlock *Block, bool IsSlow, BasicBlock *Other, BasicBlock *Back, Chains *Lines,
                SmallVectorImpl<FixedSlot> &Fixed) {
    bool IsLanding = P.What == Place::Kind::Landing;
    if (!P.Releases && !P.Pauses && !Other)
      return;
    BasicBlock *Next = Block->getSingleSuccessor();
    MDNode *LoopId = Block->getTerminator()->getMetadata(LLVMContext::MD_loop);
    Block->getTerminator()->eraseFromParent();
    DILocation *Line = Lines ? Lines->out(Block) : nullptr;
    auto add = [&](const Twine &Name) { return Lines ? newSlow(Name, *Lines, Line) : newBlock(Name); };
    IRBuilder<> B(Block);
    bool IsInline = !Unit.has(COV_LOOM_NO_INLINE);
    if (P.Releases && !IsInline) {
      Write.callRetake(B, P.Location);
    } else if (P.Releases) {
      Write.setRunning(B);
      BasicBlock *Cold = add("pending"), *Again = add("again");
      Write.unlikely(B, Write.isPending(B), Cold, Again);
      B.SetInsertPoint(Cold);
      Write.call(B, Unit.Reacquire, {Unit.location(P.Location)});
      B.CreateBr(Again);
      B.SetInsertPoint(Again);
    }
    // The block from which control goes on; there is one, so that loops keep one last block.
    BasicBlock *Last = nullptr;
    if (P.Pauses) {
      BasicBlock *Cold = add("cold");
      Last = add("on");
      if (IsInline) {
        Write.unlikely(B, IsSlow ? Write.isNotJustSlow(B) : Write.isBusy(B), Cold, Last);
        B.SetInsertPoint(Cold);
        Write.call(B, Unit.Check, {Unit.location(P.Location)});
      } else {
        B.CreateBr(Cold);
        B.SetInsertPoint(Cold);
        Write.callTest(B, P.Location);
      }
      if (Other)
        Write.unlikely(B, Write.isSlow(B), Other, Last);
      else if (Back)
        B.CreateCondBr(Write.isSlow(B), Last, Back);
      else
        B.CreateBr(Last);
      B.SetInsertPoint(Last);
    } else if (Other) {
      Last = add("on");
      Write.unlikely(B, Write.isSlow(B), Other, Last);
      B.SetInsertPoint(Last);
    }
    if (IsLanding && Lines) {
      // Always a slot here, after everything else.
      BasicBlock *Slot = newSlow("slot", *Lines, Lines->in(Next));
      B.CreateBr(Slot);
      B.SetInsertPoint(Slot);
      Fixed.push_back({Slot, fromOf(P, *Lines)});
    }
    BasicBlock *End = B.GetInsertBlock();
    BranchInst *Branch = B.CreateBr(Next);
    if (LoopId)
      Branch->setMetadata(LLVMContext::MD_loop, LoopId);
    if (End != Block)
      Next->replacePhiUsesWith(Block, End);
  }

  /// Before calls: the thread is released from here on. After slots, which come before that.
  void release() {
    for (const Place &P : Places) {
      if (!P.Call)
        continue;
      for (bool IsSlow : {false, true}) {
        if (IsSlow && !IsCloned)
          continue;
        IRBuilder<> B(IsSlow ? cast<Instruction>(Map[P.Call]) : P.Call);
        B.SetCurrentDebugLocation(DebugLoc());
        Value *To = P.Cell == COV_LOOM_NONE ? Unit.location(P.Location) : Write.cell(B, P.Cell);
        if (Unit.has(COV_LOOM_NO_INLINE))
          Write.callRelease(B, To);
        else
          Write.setAt(B, To);
      }
    }
  }

  // --- The entry --------------------------------------------------------------------------------------------

  void enter() {
    Entry->getTerminator()->eraseFromParent();
    IRBuilder<> B(Entry);
    if (Plan.how & COV_LOOM_INLINE_OUTSIDE) {
      BasicBlock *Enter = newBlock("outside"), *Inside = BasicBlock::Create(Context, "inside", &F, Body);
      Write.unlikely(B, Entered, Enter, Inside);
      B.SetInsertPoint(Enter);
      Write.call(B, Unit.Enter, {Record});
      B.CreateBr(Inside);
      B.SetInsertPoint(Inside);
    } else if (Plan.how & COV_LOOM_OUTSIDE) {
      BasicBlock *Outside = newBlock("outside"), *Inside = BasicBlock::Create(Context, "inside", &F, Body);
      Write.unlikely(B, Write.isNotRunning(B), Outside, Inside);
      B.SetInsertPoint(Outside);
      callOutside(B);
      B.SetInsertPoint(Inside);
    }
    BasicBlock *SlowBody = IsCloned ? slowOf(Body) : nullptr;
    if (Plan.entry_location != COV_LOOM_NONE) {
      if (Unit.has(COV_LOOM_NO_INLINE)) {
        Write.callTest(B, Plan.entry_location);
      } else {
        BasicBlock *Cold = newBlock("cold");
        Write.unlikely(B, Write.isBusy(B), Cold, Body);
        B.SetInsertPoint(Cold);
        Write.call(B, Unit.Check, {Unit.location(Plan.entry_location)});
      }
      if (SlowBody)
        Write.unlikely(B, Write.isSlow(B), SlowBody, Body);
      else
        B.CreateBr(Body);
    } else if (SlowBody) {
      Write.unlikely(B, Write.isSlow(B), SlowBody, Body);
    } else {
      B.CreateBr(Body);
    }
  }

  void callOutside(IRBuilder<> &B) {
    Function *Outside = makeOutside(Unit, F);
    SmallVector<Value *, 8> Args;
    for (Argument &A : F.args())
      Args.push_back(&A);
    CallInst *Call = B.CreateCall(F.getFunctionType(), Outside, Args);
    Call->setTailCallKind(CallInst::TCK_MustTail);
    Call->setCallingConv(F.getCallingConv());
    SmallVector<AttributeSet, 8> Params;
    for (unsigned I = 0; I < F.arg_size(); ++I)
      Params.push_back(F.getAttributes().getParamAttrs(I));
    Call->setAttributes(AttributeList::get(Context, AttributeSet(), F.getAttributes().getRetAttrs(), Params));
    if (F.getReturnType()->isVoidTy())
      B.CreateRetVoid();
    else
      B.CreateRet(Call);
  }
};

}  // namespace

extern "C" void cov_loom_change(CovLoom *unit, const CovLoomFunction *function, uint32_t *first_slot,
                                uint32_t *slots) {
  *first_slot = unit->SlotCount;
  Change(*unit, *function).run();
  *slots = unit->SlotCount - *first_slot;
}
