// Variables' values for slots: shadow stores, on the slow path only.
//
// Collect: what debug info says of variables, as events: "from here on it is this value", "it is in this memory", "nobody
// knows". Choose: which events on the slow path, and which values that come over from the fast one, can be stored; and by a
// forward analysis which words are valid at which slot, on all ways. Change: the frame, the stores, the slots.
//
// What is declared to be in memory is there all the time, but it has a value only behind its first store (or from where
// others know its address), and no more from where its life begins anew. Of records only the address is of use: they are
// always there.
//
// From the fast path a value comes over only if the program itself still needs it there, and in a block that only threads
// that leave the fast path come to: the fast path keeps nothing alive for this and executes nothing more.
//
// Limits: values that debug info describes by an expression, or in pieces, and values that are no integers or pointers of
// at most 64 bits are not kept.

#include "llvm-c/Core.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "loom.h"
#include "shared.h"
#include "tell.h"
#include "tell_path.h"

using namespace llvm;
using covsched::text;

namespace {

/// A variable of one inlined copy.
using Key = std::pair<const DILocalVariable *, const DILocation *>;

/// What a variable is from some point on. The value is null where nobody knows.
struct What {
  Value *Is = nullptr;
  bool InMemory = false;
  bool operator==(const What &Other) const { return Is == Other.Is && InMemory == Other.InMemory; }
  bool operator!=(const What &Other) const { return !(*this == Other); }
};

/// Words of variable N: 2N its value, 2N + 1 its address.
unsigned wordOf(unsigned Variable, bool InMemory) { return 2 * Variable + InMemory; }

class Keeper {
public:
  explicit Keeper(Function &F) : F(F), Dominators(F), Layout(F.getParent()->getDataLayout()) {
    // A thread that pauses on the fast path needs nothing: the slow one begins where it crosses over.
    for (BasicBlock &Block : F)
      if (!Block.getTerminator()->hasMetadata(covsched::loom::SlowMark))
        Fast.insert(&Block);
    for (Instruction &I : instructions(F))
      if (isSlot(I))
        Slots.push_back(cast<CallInst>(&I));
    // Slots in the only copy: all of it is slow.
    if (any_of(Slots, [&](CallInst *Slot) { return Fast.count(Slot->getParent()); }))
      Fast.clear();
  }

  void run(void (*Visit)(void *, const CovTellVariable *), void *Context) {
    if (Slots.empty())
      return;
    collect();
    // Far beyond what people write: two bits for each word and block.
    if (Variables.empty() || uint64_t(Variables.size()) * F.size() > (uint64_t(1) << 24))
      return;
    findCrossings();
    findAssigned();
    spread();
    change(Visit, Context);
  }

private:
  static bool isSlot(const Instruction &I) {
    auto *Call = dyn_cast<CallInst>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    return Callee && Callee->getName() == covsched::LoomSlot;
  }

  bool isSlow(const BasicBlock *Block) const { return !Fast.count(Block); }

  // --- Collect ----------------------------------------------------------------------------------------------

  What whatOf(const DbgVariableIntrinsic &Said) const {
    if (Said.hasArgList() || Said.isKillLocation() || Said.getExpression()->isFragment())
      return {};
    Value *Is = Said.getVariableLocationOp(0);
    DIExpression *How = Said.getExpression();
    auto *Local = dyn_cast_or_null<AllocaInst>(Is);
    bool IsStatic = Local && Local->isStaticAlloca();
    // A record that the caller made may be an argument.
    if (isa<DbgDeclareInst>(Said))
      return (IsStatic || isa_and_nonnull<Argument>(Is)) && How->getNumElements() == 0 ? What{Is, true} : What();
    if (IsStatic && How->getNumElements() == 1 && How->getElement(0) == dwarf::DW_OP_deref)
      return {Is, true};
    if (!Is || How->getNumElements() != 0 || isa<UndefValue>(Is))
      return {};
    Type *Kind = Is->getType();
    if (Kind->isPointerTy())
      return Layout.getPointerTypeSizeInBits(Kind) == 64 && Kind->getPointerAddressSpace() == 0 ? What{Is, false} : What();
    if (!Kind->isIntegerTy() || Kind->getIntegerBitWidth() > 64)
      return {};
    // What was made narrower has lost its sign; a truth value has none.
    uint64_t Size = Said.getVariable()->getSizeInBits().value_or(64);
    if (Kind->getIntegerBitWidth() < Size && !Kind->isIntegerTy(1))
      return {};
    return {Is, false};
  }

  void collect() {
    for (BasicBlock &Block : F) {
      // A slot at a block's start stands before what debug info says there, parameters and phis above all, though their values
      // are there already: it counts from the start on.
      bool Leads = true;
      for (Instruction &I : Block) {
        Leads &= isa<PHINode>(I) || I.isDebugOrPseudoInst() || I.isEHPad() || isSlot(I);
        auto *Said = dyn_cast<DbgVariableIntrinsic>(&I);
        if (!Said || isa<DbgAssignIntrinsic>(Said))
          continue;
        Key Of = {Said->getVariable(), Said->getDebugLoc().getInlinedAt()};
        unsigned Number = Variables.insert({Of, Variables.size()}).first->second;
        What Is = whatOf(*Said);
        if (isa<DbgDeclareInst>(Said)) {
          // In memory all the time; two declarations of one variable are two places.
          auto [At, New] = Declared.insert({Number, Is.Is});
          if (!New && At->second != Is.Is)
            At->second = nullptr;
          continue;
        }
        Events[&Block].push_back({Leads ? &*Block.getFirstInsertionPt() : Said, Number, Is});
      }
    }
  }

  // --- Choose -----------------------------------------------------------------------------------------------

  struct Event {
    Instruction *At;
    unsigned Variable;
    What Is;
  };

  struct Crossing {
    unsigned Variable;
    What Is;
  };

  /// What the variables are where control leaves the fast path; of these, what can be stored there.
  void findCrossings() {
    SmallVector<BasicBlock *, 16> Borders;
    for (BasicBlock &Block : F)
      if (isSlow(&Block) && any_of(predecessors(&Block), [&](BasicBlock *Pred) { return !isSlow(Pred); }))
        Borders.push_back(&Block);
    if (Borders.empty() && Fast.empty())
      Borders.push_back(&F.getEntryBlock());
    DenseMap<const BasicBlock *, std::vector<What>> Out = states();
    DenseMap<const Value *, unsigned> Wanted;
    for (BasicBlock *Border : Borders) {
      auto &Stored = Crossings[Border];
      for (auto &[Number, Local] : Declared)
        if (Local)
          Stored.push_back({Number, {Local, true}});
      if (any_of(predecessors(Border), [&](BasicBlock *Pred) { return isSlow(Pred); }))
        continue;
      for (unsigned Number = 0; Number < Variables.size(); ++Number) {
        What Common;
        bool First = true;
        for (BasicBlock *Pred : predecessors(Border)) {
          auto Known = Out.find(Pred);
          What There = Known == Out.end() ? What() : Known->second[Number];
          Common = First || Common == There ? There : What();
          First = false;
        }
        if (!Common.Is || (Declared.count(Number) && Common.InMemory))
          continue;
        Stored.push_back({Number, Common});
        if (!isa<Constant>(Common.Is) && !isa<AllocaInst>(Common.Is))
          Wanted.try_emplace(Common.Is, Wanted.size());
      }
    }
    DenseMap<const BasicBlock *, BitVector> Live = liveAtStart(Wanted);
    for (BasicBlock *Border : Borders)
      erase_if(Crossings[Border], [&](const Crossing &Over) {
        auto Asked = Wanted.find(Over.Is.Is);
        return Asked != Wanted.end() &&
               (!Live[Border].test(Asked->second) || !isThereAt(*Over.Is.Is, *Border->getFirstNonPHI()));
      });
  }

  bool isThereAt(const Value &V, const Instruction &At) const {
    auto *I = dyn_cast<Instruction>(&V);
    return !I || Dominators.dominates(I, &At);
  }

  /// What a variable is at a block's start, by what it is at the ends of those before; those not seen yet have their say
  /// later. A phi may have each of their values.
  static What merged(BasicBlock &Block, unsigned Number, const DenseMap<const BasicBlock *, std::vector<What>> &Out) {
    What Common;
    bool First = true, Same = true;
    for (BasicBlock *Pred : predecessors(&Block)) {
      auto Known = Out.find(Pred);
      if (Known == Out.end())
        continue;
      const What &There = Known->second[Number];
      if (!There.Is)
        return {};
      Same &= First || Common == There;
      Common = There;
      First = false;
    }
    // The block's own phi has the next value, the variable still the last one.
    auto *Own = dyn_cast_or_null<PHINode>(Common.Is);
    if (Same && !(Own && Own->getParent() == &Block))
      return Common;
    if (Same || Common.InMemory)
      return {};
    for (PHINode &Phi : Block.phis())
      if (all_of(predecessors(&Block), [&](BasicBlock *Pred) {
            auto Known = Out.find(Pred);
            return Known == Out.end() || Known->second[Number] == What{Phi.getIncomingValueForBlock(Pred), false};
          }))
        return {&Phi, false};
    return {};
  }

  /// What each variable is at the end of each block.
  DenseMap<const BasicBlock *, std::vector<What>> states() {
    DenseMap<const BasicBlock *, std::vector<What>> Out;
    DenseMap<const BasicBlock *, BitVector> Lost;
    DenseSet<const Value *> Named;
    for (auto &[Block, Said] : Events)
      for (const Event &E : Said)
        if (E.Is.Is)
          Named.insert(E.Is.Is);
    ReversePostOrderTraversal<Function *> Order(&F);
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (BasicBlock *Block : Order) {
        std::vector<What> State(Variables.size());
        // What was not known once is not looked for again, so that this ends.
        BitVector &Never = Lost[Block];
        Never.resize(Variables.size());
        for (unsigned N = 0; N < State.size(); ++N) {
          if (!Never.test(N))
            State[N] = merged(*Block, N, Out);
          if (!State[N].Is)
            Never.set(N);
        }
        DenseSet<const Value *> New;
        for (const What &Is : State)
          if (auto *Phi = dyn_cast_or_null<PHINode>(Is.Is); Phi && Phi->getParent() == Block)
            New.insert(Phi);
        auto Said = Events.find(Block);
        const Event *Next = Said == Events.end() ? nullptr : Said->second.begin();
        const Event *End = Said == Events.end() ? nullptr : Said->second.end();
        for (Instruction &I : *Block) {
          // A value that is made anew is not the variable's any more.
          if (Named.count(&I) && !New.count(&I))
            for (What &Is : State)
              if (Is.Is == &I && !Is.InMemory)
                Is = What();
          for (; Next != End && Next->At == &I; ++Next)
            State[Next->Variable] = Next->Is;
        }
        auto [At, IsNew] = Out.try_emplace(Block, State);
        if (!IsNew && At->second == State)
          continue;
        At->second = State;
        Changed = true;
      }
    }
    return Out;
  }

  /// Which of these values the program needs at the start of each block.
  DenseMap<const BasicBlock *, BitVector> liveAtStart(const DenseMap<const Value *, unsigned> &Values) {
    DenseMap<const BasicBlock *, BitVector> Live, Uses, Makes, AtEnd;
    for (BasicBlock &Block : F) {
      Live[&Block].resize(Values.size());
      Uses[&Block].resize(Values.size());
      Makes[&Block].resize(Values.size());
      AtEnd[&Block].resize(Values.size());
    }
    for (auto &[V, Number] : Values) {
      if (auto *I = dyn_cast<Instruction>(V))
        Makes[I->getParent()].set(Number);
      for (const Use &U : V->uses()) {
        auto *User = cast<Instruction>(U.getUser());
        if (auto *Phi = dyn_cast<PHINode>(User))
          AtEnd[Phi->getIncomingBlock(U)].set(Number);
        else if (!Makes[User->getParent()].test(Number))
          Uses[User->getParent()].set(Number);
      }
    }
    for (bool Changed = !Values.empty(); Changed;) {
      Changed = false;
      for (BasicBlock &Block : reverse(F)) {
        BitVector Now = AtEnd[&Block];
        for (BasicBlock *Next : successors(&Block))
          Now |= Live[Next];
        Now.reset(Makes[&Block]);
        Now |= Uses[&Block];
        if (Now != Live[&Block]) {
          Live[&Block] = Now;
          Changed = true;
        }
      }
    }
    return Live;
  }

  // Which declared variables have a value, by number. What is not followed (records, arguments) always has.

  /// What an instruction does to a declared variable: gives it a value, or begins its life anew.
  struct Mark {
    unsigned Variable;
    bool Assigns;
  };

  /// Finds what may assign to a local: stores, and whatever else gets its address.
  void markUses(AllocaInst &Local, unsigned Number) {
    SmallVector<Value *, 4> Pointers = {&Local};
    SmallPtrSet<Value *, 4> Seen;
    while (!Pointers.empty()) {
      Value *Pointer = Pointers.pop_back_val();
      if (!Seen.insert(Pointer).second)
        continue;
      for (User *Who : Pointer->users()) {
        auto *I = dyn_cast<Instruction>(Who);
        if (!I || isa<LoadInst>(I) || I->isDebugOrPseudoInst())
          continue;
        if (isa<GetElementPtrInst>(I) || isa<BitCastInst>(I))
          Pointers.push_back(I);
        else if (!I->isLifetimeStartOrEnd())
          Marks[I].push_back({Number, true});
        else if (cast<IntrinsicInst>(I)->getIntrinsicID() == Intrinsic::lifetime_start)
          Marks[I].push_back({Number, false});
      }
    }
  }

  void mark(const Instruction &I, BitVector &Assigned) const {
    auto Found = Marks.find(&I);
    if (Found == Marks.end())
      return;
    for (const Mark &M : Found->second)
      M.Assigns ? Assigned.set(M.Variable) : Assigned.reset(M.Variable);
  }

  /// Which variables have a value at each block's start, on all ways, fast or slow.
  void findAssigned() {
    BitVector AtEntry(Variables.size(), true);
    for (auto &[Number, Where] : Declared)
      if (auto *Local = dyn_cast_or_null<AllocaInst>(Where); Local && !Local->getAllocatedType()->isAggregateType()) {
        AtEntry.reset(Number);
        markUses(*Local, Number);
      }
    ReversePostOrderTraversal<Function *> Order(&F);
    DenseMap<const BasicBlock *, BitVector> Out;
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (BasicBlock *Block : Order) {
        BitVector Now = AtEntry;
        if (Block != &F.getEntryBlock()) {
          Now.set();
          for (BasicBlock *Pred : predecessors(Block))
            if (auto Known = Out.find(Pred); Known != Out.end())
              Now &= Known->second;
        }
        AssignedAtStart[Block] = Now;
        for (Instruction &I : *Block)
          mark(I, Now);
        auto [At, New] = Out.try_emplace(Block, Now);
        if (!New && At->second == Now)
          continue;
        At->second = Now;
        Changed = true;
      }
    }
  }

  /// What an event of the slow path does to the valid words; true if it is to be a store.
  bool apply(const Event &E, BitVector &Valid) const {
    bool IsStored = E.Is.Is && isThereAt(*E.Is.Is, *E.At);
    Valid.reset(wordOf(E.Variable, false));
    if (!Declared.count(E.Variable))
      Valid.reset(wordOf(E.Variable, true));
    else if (E.Is.InMemory)
      return false;
    if (IsStored)
      Valid.set(wordOf(E.Variable, E.Is.InMemory));
    return IsStored;
  }

  /// Which words are valid at each block's start, whatever way control came.
  void spread() {
    unsigned Words = 2 * Variables.size();
    std::vector<BasicBlock *> Order;
    for (BasicBlock &Block : F)
      if (isSlow(&Block))
        Order.push_back(&Block);
    DenseMap<const BasicBlock *, BitVector> Out;
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (BasicBlock *Block : Order) {
        BitVector Now(Words, !pred_empty(Block));
        for (BasicBlock *Pred : predecessors(Block)) {
          if (!isSlow(Pred))
            Now.reset();
          else if (auto Known = Out.find(Pred); Known != Out.end())
            Now &= Known->second;
        }
        auto Stored = Crossings.find(Block);
        if (Stored != Crossings.end())
          for (const Crossing &Over : Stored->second)
            Now.set(wordOf(Over.Variable, Over.Is.InMemory));
        AtStart[Block] = Now;
        auto Said = Events.find(Block);
        if (Said != Events.end())
          for (const Event &E : Said->second)
            apply(E, Now);
        auto [At, New] = Out.try_emplace(Block, Now);
        if (!New && At->second == Now)
          continue;
        At->second = Now;
        Changed = true;
      }
    }
  }

  // --- Change -----------------------------------------------------------------------------------------------

  void change(void (*Visit)(void *, const CovTellVariable *), void *Context) {
    BitVector Useful(2 * Variables.size());
    std::vector<std::pair<CallInst *, BitVector>> AtSlots;
    for (BasicBlock &Block : F) {
      if (!isSlow(&Block))
        continue;
      BitVector Valid = AtStart[&Block];
      auto Start = AssignedAtStart.find(&Block);
      // No way leads to the block.
      if (Start == AssignedAtStart.end())
        continue;
      BitVector Assigned = Start->second;
      auto Said = Events.find(&Block);
      const Event *Next = Said == Events.end() ? nullptr : Said->second.begin();
      const Event *End = Said == Events.end() ? nullptr : Said->second.end();
      for (Instruction &I : Block) {
        for (; Next != End && Next->At == &I; ++Next)
          apply(*Next, Valid);
        mark(I, Assigned);
        if (isSlot(I)) {
          BitVector Here = Valid;
          for (auto &[Number, Where] : Declared)
            if (!Assigned.test(Number))
              Here.reset(wordOf(Number, true));
          AtSlots.push_back({cast<CallInst>(&I), Here});
          Useful |= Here;
        }
      }
    }
    if (Useful.none())
      return;
    std::vector<unsigned> Numbers(Useful.size());
    unsigned Count = 0;
    for (unsigned Word : Useful.set_bits())
      Numbers[Word] = Count++;
    Type *WordType = Type::getInt64Ty(F.getContext());
    auto *Frame = new AllocaInst(ArrayType::get(WordType, Count), 0, nullptr, Align(8), "",
                                 &*F.getEntryBlock().getFirstInsertionPt());
    Frame->setMetadata(covsched::LoomFrame, MDNode::get(F.getContext(), {}));
    auto Store = [&](Instruction *Before, unsigned Variable, const What &Is) {
      unsigned Word = wordOf(Variable, Is.InMemory);
      if (!Useful.test(Word))
        return;
      IRBuilder<> B(Before);
      B.SetCurrentDebugLocation(DebugLoc());
      Value *Stored = Is.Is->getType()->isPointerTy() ? B.CreatePtrToInt(Is.Is, WordType) : B.CreateZExt(Is.Is, WordType);
      Value *To = B.CreateConstInBoundsGEP2_64(Frame->getAllocatedType(), Frame, 0, Numbers[Word]);
      StoreInst *Made = B.CreateAlignedStore(Stored, To, Align(8));
      Made->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(F.getContext(), {}));
    };
    for (auto &[Block, Said] : Events) {
      if (!isSlow(Block))
        continue;
      BitVector Valid(Useful.size());
      for (const Event &E : Said)
        if (apply(E, Valid))
          Store(E.At, E.Variable, E.Is);
    }
    for (auto &[Block, Stored] : Crossings) {
      // In the entry, after the locals: the pass has them all at its head.
      Instruction *At = &*Block->getFirstInsertionPt();
      while (isa<AllocaInst>(At))
        At = At->getNextNode();
      for (const Crossing &Over : Stored)
        Store(At, Over.Variable, Over.Is);
    }
    for (auto &[Slot, Valid] : AtSlots) {
      Slot->setArgOperand(1, Frame);
      SmallVector<Metadata *, 8> Available;
      for (unsigned Word : Valid.set_bits())
        Available.push_back(ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(F.getContext()), Numbers[Word])));
      Slot->setMetadata(covsched::LoomAvailable, MDNode::get(F.getContext(), Available));
    }
    tell(Useful, Visit, Context);
  }

  void tell(const BitVector &Useful, void (*Visit)(void *, const CovTellVariable *), void *Context) {
    for (auto &[Of, Number] : Variables)
      for (bool InMemory : {false, true}) {
        if (!Useful.test(wordOf(Number, InMemory)))
          continue;
        auto &[Variable, InlinedAt] = Of;
        DISubprogram *Program = Variable->getScope()->getSubprogram();
        StringRef Function = Program->getLinkageName().empty() ? Program->getName() : Program->getLinkageName();
        StringRef File = Variable->getFilename();
        StringRef Directory = sys::path::is_absolute(File) ? StringRef() : Variable->getDirectory();
        CovTellVariable Facts = {{wrap(InlinedAt), text(GlobalValue::dropLLVMManglingEscape(Function)), text(Directory),
                                  text(File), Variable->getLine()},
                                 text(Variable->getName()), InMemory};
        Visit(Context, &Facts);
      }
  }

  Function &F;
  DominatorTree Dominators;
  const DataLayout &Layout;
  SmallPtrSet<const BasicBlock *, 32> Fast;
  SmallVector<CallInst *, 32> Slots;
  MapVector<Key, unsigned> Variables;
  /// Where a variable is all the time; null if that is not one place.
  MapVector<unsigned, Value *> Declared;
  MapVector<BasicBlock *, SmallVector<Event, 8>> Events;
  MapVector<BasicBlock *, SmallVector<Crossing, 8>> Crossings;
  DenseMap<const BasicBlock *, BitVector> AtStart, AssignedAtStart;
  DenseMap<const Instruction *, SmallVector<Mark, 1>> Marks;
};

}  // namespace

extern "C" void cov_tell_variables(LLVMValueRef function, void (*visit)(void *, const CovTellVariable *), void *context) {
  Keeper(*unwrap<Function>(function)).run(visit, context);
}
