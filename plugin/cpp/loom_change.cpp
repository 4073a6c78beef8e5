// Instruments one function.
//
// The entry block keeps the static allocas and the parameters' stores into them, and is shared; everything after it gets a
// second, slow copy with slots.
// ```text
// entry:    allocas ; parameters ; [ at != RUNNING -> F.outside ] ; [ byte -> cold ] -> body or body.slow
// call:     [ at = location ] call -> after
// after:    [ at = RUNNING ; pending -> reacquire ] ; byte -> cross -> rest.slow ; rest
// back edge: byte -> cold: check ; byte -> cross -> header.slow ; header
// ```
// First the function gets an empty block at each such place (`after`, back edge, landing); then all is cloned, then the
// empty blocks are filled, differently in each copy; then slots; then values are repaired.

#include "llvm-c/Core.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
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
#include "shared.h"

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
  bool InSlowOnly = false; // the fast copy tests the switch elsewhere in each iteration
  BasicBlock *Header = nullptr; // of the loop; where the slow copy may go back to the fast one
  Instruction *Call = nullptr;
  uint32_t Cell = COV_LOOM_NONE;
  bool IsDirect = false; // the fast copy's call releases nothing
  bool Returns = false;  // nothing follows in the fast copy but the return
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
    Body = Entry->splitBasicBlock(bodyStart(), "body");
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
    SmallPtrSet<Instruction *, 4> Jumps;
    for (LLVMValueRef Jump : ArrayRef(Plan.jumps, Plan.jump_count)) {
      Value *Own = unwrap(Jump);
      if (IsCloned)
        Own = Map.lookup(Own);
      Jumps.insert(cast<Instruction>(Own));
    }
    if (IsCloned) {
      Fixed.push_back({slowOf(Body), nullptr});
      placeSlots(Unit, Slow, *Lines, Fixed, Jumps);
    } else if (HasSlots) {
      Fixed.push_back({Body, nullptr});
      Fast.append(Added);
      placeSlots(Unit, Fast, *Lines, Fixed, Jumps);
    }
    release();
    if (IsCloned) {
      NotSlow.insert(Entry);
      NotSlow.insert(Fast.begin(), Fast.end());
      SmallVector<Instruction *, 8> Tokens = forgetMarkers();
      SmallVector<std::pair<Instruction *, Instruction *>, 64> Pairs;
      for (Instruction *I : Originals)
        Pairs.push_back({I, cast<Instruction>(Map[I])});
      repairValues(F, Slow, Pairs);
      forgetOnCrossing(NotSlow, Tokens);
      for (BasicBlock &Block : F)
        if (!NotSlow.count(&Block))
          Block.getTerminator()->setMetadata(SlowMark, MDNode::get(Context, {}));
      Unit.Cloned.push_back({&F, Body, callsOfItself()});
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
  SmallPtrSet<BasicBlock *, 32> NotSlow;
  ValueToValueMapTy Map;

  BasicBlock *slowOf(BasicBlock *Block) { return cast<BasicBlock>(Map[Block]); }

  BasicBlock *newBlock(const Twine &Name) {
    BasicBlock *Block = BasicBlock::Create(Context, Name, &F);
    NotSlow.insert(Block);
    return Block;
  }

  /// A block of the slow copy, in whose middle no line changes.
  BasicBlock *newSlow(const Twine &Name, Chains &Lines, DILocation *Line) {
    BasicBlock *Block = BasicBlock::Create(Context, Name, &F);
    Lines.set(Block, Line, Line);
    (IsCloned ? Slow : Added).push_back(Block);
    return Block;
  }

  /// Where the copies begin: filters ask for parameters in the first slot, so these are in their places before it.
  Instruction *bodyStart() {
    auto *First = unwrap<Instruction>(cov_entry_point(wrap(static_cast<Value *>(&F))));
    Instruction *Start = covsched::afterParameters(F);
    // Who keeps the values of variables looks for them in the copies.
    SmallVector<DbgValueInst *, 8> Said;
    for (Instruction &I : make_range(First->getIterator(), Start->getIterator()))
      if (auto *Value = dyn_cast<DbgValueInst>(&I))
        Said.push_back(Value);
    for (DbgValueInst *Value : reverse(Said)) {
      Value->moveBefore(Start);
      Start = Value;
    }
    return Start;
  }

  // --- Places -----------------------------------------------------------------------------------------------

  void makePlaces() {
    BitVector Tested = testedEdges();
    // Edges first: they are named by terminators, which calls move.
    for (auto [Number, Check] : enumerate(ArrayRef(Plan.checks, Plan.check_count))) {
      auto *End = unwrap<Instruction>(Check.end);
      BasicBlock *From = End->getParent(), *To = unwrap<BasicBlock>(Check.to);
      Place P = {Place::Kind::BackEdge, nullptr, Check.location};
      P.Pauses = true;
      P.InSlowOnly = Tested[Number];
      if (Check.to_fast && IsCloned)
        P.Header = To;
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
      setLocation(*unwrap<Instruction>(Pad.pad), Pad.location);
      Places.push_back(P);
    }
    for (const CovLoomCall &Given : ArrayRef(Plan.calls, Plan.call_count)) {
      auto *Call = unwrap<CallBase>(Given.call);
      Place P = {Place::Kind::AfterCall, nullptr, Given.location};
      P.Releases = Given.kind != COV_LOOM_TEST;
      if (Given.kind == COV_LOOM_LANDS)
        setLocation(*Call, P.Location);
      if (Given.kind == COV_LOOM_RELEASE || Given.kind == COV_LOOM_RELEASE_CELL)
        P.Call = Call;
      if (Given.kind == COV_LOOM_RELEASE_CELL) {
        P.Cell = Given.cell;
        P.IsDirect = canCallDirectly(Unit, *Call);
        P.Returns = Given.returns_next;
      }
      if (auto *Invoke = dyn_cast<InvokeInst>(Call))
        P.Block = splitEdges(Invoke->getParent(), Invoke->getNormalDest(), "after");
      else if (!isa<UnreachableInst>(Call->getNextNode()))
        P.Block = splitAt(Call->getNextNode(), "after");
      if (P.IsDirect) {
        Unit.DirectCalls.push_back({Call, P.Location, P.Cell});
        // Who describes the only copy sees no release.
        if (!IsCloned)
          setLocation(*Call, P.Location);
      }
      // Control may not come back; the thread is released all the same.
      if (P.Block || P.Call)
        Places.push_back(P);
    }
  }

  /// The checks' edges that are reached again only through a call after which the fast copy goes to the slow one if anything is to be
  /// done: the slow one's check is then enough.
  BitVector testedEdges() const {
    BitVector Tested(Plan.check_count);
    if (!IsCloned || Unit.has(COV_LOOM_NO_FILTER_BYTE) || Unit.has(COV_LOOM_NO_INLINE))
      return Tested;
    SmallPtrSet<const BasicBlock *, 16> Calling;
    for (const CovLoomCall &Given : ArrayRef(Plan.calls, Plan.call_count))
      Calling.insert(unwrap<Instruction>(Given.call)->getParent());
    for (auto [Number, Check] : enumerate(ArrayRef(Plan.checks, Plan.check_count))) {
      const BasicBlock *From = unwrap<Instruction>(Check.end)->getParent();
      SmallSetVector<const BasicBlock *, 16> Reached;
      Reached.insert(unwrap<BasicBlock>(Check.to));
      bool IsTested = true;
      for (unsigned I = 0; I != Reached.size() && IsTested; ++I) {
        if (Calling.count(Reached[I]))
          continue;
        IsTested = Reached[I] != From;
        Reached.insert(succ_begin(Reached[I]), succ_end(Reached[I]));
      }
      Tested[Number] = IsTested;
    }
    return Tested;
  }

  /// Moves what only decides whether a loop goes on to the end of its last block: comparisons, what they are put together
  /// to, and the steps of the counters that they look at. So the code generator makes jumps of them as it would without a
  /// check, the slow copy needs the counters alone, and the loop no other register for them. Returns where that begins.
  static Instruction *withCondition(Instruction *End) {
    BasicBlock *Block = End->getParent();
    SmallPtrSet<const User *, 8> Moved;
    Moved.insert(End);
    auto isNext = [&](const User *Who) {
      auto *Phi = dyn_cast<PHINode>(Who);
      return Phi && is_contained(successors(Block), Phi->getParent());
    };
    auto canFollow = [&](Instruction &I) {
      bool IsStep = isa<BinaryOperator>(I) || isa<GetElementPtrInst>(I);
      if (isa<PHINode>(I) || isa<CallBase>(I) || I.mayReadOrWriteMemory() || I.mayHaveSideEffects() || I.use_empty())
        return false;
      return all_of(I.users(), [&](const User *Who) { return Moved.count(Who) || (IsStep && isNext(Who)); }) &&
             any_of(I.users(), [&](const User *Who) { return Moved.count(Who); });
    };
    // From the end on, so that all that uses a value is known when it is looked at.
    Instruction *First = End;
    for (Instruction &I : make_early_inc_range(drop_begin(reverse(*Block))))
      if (canFollow(I)) {
        Moved.insert(&I);
        moveWithDebugInfo(I, First);
        First = &I;
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

  /// A process that is recorded runs on the slow paths only. Gives what the markers there tell each other.
  SmallVector<Instruction *, 8> forgetMarkers() {
    SmallSetVector<Instruction *, 16> Forgotten;
    for (LLVMValueRef Marker : ArrayRef(Plan.markers, Plan.marker_count))
      Forgotten.insert(unwrap<CallInst>(Marker));
    auto isForgotten = [&](Value *V) { return isa<Constant>(V) || Forgotten.count(dyn_cast<Instruction>(V)); };
    for (unsigned I = 0; I != Forgotten.size(); ++I)
      for (User *By : Forgotten[I]->users())
        if (auto *Phi = dyn_cast<PHINode>(By))
          if (all_of(Phi->incoming_values(), [&](Value *V) { return V == Phi || isForgotten(V); }))
            Forgotten.insert(Phi);
    erase_if(Originals, [&](Instruction *I) { return Forgotten.count(I); });
    SmallVector<Instruction *, 8> Tokens;
    for (Instruction *I : Forgotten) {
      if (I->getType()->isVoidTy())
        continue;
      Tokens.push_back(cast<Instruction>(Map[I]));
      I->replaceAllUsesWith(Constant::getNullValue(I->getType()));
    }
    for (Instruction *I : Forgotten)
      I->eraseFromParent();
    return Tokens;
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
    BasicBlock *ToSlow = nullptr;
    if (IsCloned) {
      if (!P.InSlowOnly && !(P.IsDirect && P.Returns)) {
        ToSlow = newSlow("cross", *Lines, Lines->out(P.Block));
        cross(ToSlow, P.Block, slowOf(Next));
      }
      if (P.Header)
        goBack(P, *Lines);
      fillCopy(P, slowOf(P.Block), true, nullptr, Lines, Fixed);
    }
    fillCopy(P, P.Block, false, ToSlow, IsCloned ? nullptr : Lines, Fixed);
    if (IsCloned && P.What == Place::Kind::Landing)
      Fixed.push_back({ToSlow, fromOf(P, *Lines)}), Lines->set(ToSlow, Lines->in(Next), Lines->in(Next));
  }

  /// On the slow copy's back edge: to the fast copy's header, if that is allowed again.
  void goBack(const Place &P, Chains &Lines) {
    BasicBlock *Last = slowOf(P.Block), *Header = slowOf(P.Header);
    // The check stands on the edge itself, or before the branch that begins it.
    for (BasicBlock *Next = Last; !is_contained(successors(Last), Header); Last = Next)
      Next = Last->getSingleSuccessor();
    BasicBlock *Edge = splitEdges(Last, Header, "back");
    DILocation *Line = Lines.out(Last);
    Lines.set(Edge, Line, Line);
    Slow.push_back(Edge);
    for (auto [Own, Other] : zip(P.Header->phis(), Header->phis()))
      Own.addIncoming(Other.getIncomingValueForBlock(Edge), Edge);
    Edge->getTerminator()->eraseFromParent();
    IRBuilder<> B(Edge);
    B.CreateCondBr(Write.isSlow(B), Header, P.Header);
  }

  /// Where control was before it landed here.
  DILocation *fromOf(const Place &P, Chains &Lines) const {
    BasicBlock *Pad = P.Block->getSinglePredecessor();
    for (BasicBlock *Pred : predecessors(Pad))
      return Lines.out(Pred);
    return nullptr;
  }

  /// `Lines`: of the copy that has slots, else null. `Other`: where the fast copy goes if the slow bit is set.
  void fillCopy(const Place &P, BasicBlock *Block, bool IsSlow, BasicBlock *Other, Chains *Lines,
                SmallVectorImpl<FixedSlot> &Fixed) {
    bool IsLanding = P.What == Place::Kind::Landing;
    if (P.InSlowOnly && !IsSlow)
      Other = nullptr;
    bool Pauses = P.Pauses && (IsSlow || !P.InSlowOnly), Releases = P.Releases && (IsSlow || !P.IsDirect);
    if (!Releases && !Pauses && !Other)
      return;
    BasicBlock *Next = Block->getSingleSuccessor();
    MDNode *LoopId = Block->getTerminator()->getMetadata(LLVMContext::MD_loop);
    Block->getTerminator()->eraseFromParent();
    DILocation *Line = Lines ? Lines->out(Block) : nullptr;
    auto add = [&](const Twine &Name) { return Lines ? newSlow(Name, *Lines, Line) : newBlock(Name); };
    IRBuilder<> B(Block);
    bool IsInline = !Unit.has(COV_LOOM_NO_INLINE);
    // In a function with a byte one test is enough: while anything is pending, the byte says so too.
    bool InOne = Releases && Other && !Pauses && IsInline && !Unit.has(COV_LOOM_NO_FILTER_BYTE);
    if (InOne) {
      Write.setRunning(B);
    } else if (Releases && !IsInline) {
      Write.callRetake(B, P.Location);
    } else if (Releases) {
      Write.setRunning(B);
      BasicBlock *Cold = add("pending"), *Again = add("again");
      Write.unlikely(B, Write.isPending(B), Cold, Again);
      B.SetInsertPoint(Cold);
      Write.call(B, Unit.Reacquire, {Write.location(B, P.Location)});
      B.CreateBr(Again);
      B.SetInsertPoint(Again);
    }
    // The block from which control goes on; there is one, so that loops keep one last block.
    BasicBlock *Last = nullptr;
    if (Pauses) {
      BasicBlock *Cold = add("cold");
      Last = add("on");
      if (IsInline) {
        Write.unlikely(B, IsSlow ? Write.isNotJustSlow(B) : Write.isBusy(B), Cold, Last);
        B.SetInsertPoint(Cold);
        Write.call(B, Unit.Check, {Write.location(B, P.Location)});
      } else {
        B.CreateBr(Cold);
        B.SetInsertPoint(Cold);
        Write.callTest(B, P.Location);
      }
      if (Other)
        Write.unlikely(B, Write.isSlow(B), Other, Last);
      else
        B.CreateBr(Last);
      B.SetInsertPoint(Last);
    } else if (InOne) {
      BasicBlock *Cold = add("pending");
      Last = add("on");
      Write.unlikely(B, Write.mustReacquire(B), Cold, Last);
      B.SetInsertPoint(Cold);
      Write.call(B, Unit.Reacquire, {Write.location(B, P.Location)});
      Write.unlikely(B, Write.isBusy(B), Other, Last);
      B.SetInsertPoint(Last);
    } else if (Other) {
      Last = add("on");
      // What is to be done is done by the slow copy: to pause, too.
      bool Tests = !Unit.has(COV_LOOM_NO_FILTER_BYTE) && IsInline;
      Write.unlikely(B, Tests ? Write.isBusy(B) : Write.isSlow(B), Other, Last);
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
        if (IsSlow ? !IsCloned : P.IsDirect)
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
      NotSlow.insert(Inside);
      Write.unlikely(B, Entered, Enter, Inside);
      B.SetInsertPoint(Enter);
      Write.call(B, Unit.Enter, {Record});
      B.CreateBr(Inside);
      B.SetInsertPoint(Inside);
    } else if (Plan.how & COV_LOOM_OUTSIDE && canHaveEntry(Unit, F)) {
      Unit.Entered.push_back(&F);
    } else if (Plan.how & COV_LOOM_OUTSIDE) {
      BasicBlock *Outside = newBlock("outside"), *Inside = BasicBlock::Create(Context, "inside", &F, Body);
      NotSlow.insert(Inside);
      Write.unlikely(B, Write.isNotRunning(B), Outside, Inside);
      B.SetInsertPoint(Outside);
      callOutside(B);
      B.SetInsertPoint(Inside);
    }
    BasicBlock *SlowBody = IsCloned ? slowOf(Body) : nullptr;
    if (Plan.entry_location != COV_LOOM_NONE) {
      bool IsInline = !Unit.has(COV_LOOM_NO_INLINE);
      if (!IsInline) {
        Write.callTest(B, Plan.entry_location);
      } else {
        BasicBlock *Cold = newBlock("cold");
        Write.unlikely(B, Write.isBusy(B), Cold, Body);
        B.SetInsertPoint(Cold);
        Write.call(B, Unit.Check, {Write.location(B, Plan.entry_location)});
      }
      // Not back to the fast path, which would have to keep its arguments over the call.
      if (SlowBody && IsInline && !Unit.has(COV_LOOM_NO_FILTER_BYTE)) {
        NotSlow.erase(B.GetInsertBlock());
        B.CreateBr(SlowBody);
      }
      else if (SlowBody)
        Write.unlikely(B, Write.isSlow(B), SlowBody, Body);
      else
        B.CreateBr(Body);
    } else if (SlowBody) {
      // The slow path is right during an update, too, and one test for both takes one operation.
      Write.unlikely(B, Unit.has(COV_LOOM_NO_FILTER_BYTE) ? Write.isSlow(B) : Write.isBusy(B), SlowBody, Body);
    } else {
      B.CreateBr(Body);
    }
  }

  /// Those of the fast path after which the function's byte is tested.
  SmallVector<CallBase *, 2> callsOfItself() const {
    SmallVector<CallBase *, 2> Found;
    if (Plan.how & COV_LOOM_INLINE_OUTSIDE || Unit.has(COV_LOOM_NO_INLINE) || Unit.has(COV_LOOM_NO_FILTER_BYTE))
      return Found;
    for (const CovLoomCall &Given : ArrayRef(Plan.calls, Plan.call_count)) {
      auto *Call = unwrap<CallBase>(Given.call);
      if (Given.kind == COV_LOOM_TEST && Call->getCalledOperand() == &F && Call->getFunctionType() == F.getFunctionType())
        Found.push_back(Call);
    }
    return Found;
  }

  void callOutside(IRBuilder<> &B) {
    Function *Outside = makeOutside(Unit, F);
    SmallVector<Value *, 8> Args;
    for (Argument &A : F.args())
      Args.push_back(&A);
    CallInst *Call = B.CreateCall(F.getFunctionType(), Outside, Args);
    Call->setTailCallKind(inPlaceOf(F));
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
