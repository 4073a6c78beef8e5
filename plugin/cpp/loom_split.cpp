// The slow path of a function becomes a function of its own, F.slow, when everything that describes it is in place.
//
// In one function the two paths would share a frame and its registers: a small function would save registers that only its
// slow path needs, and make room for the variables that slots look at, at each call. Where control leaves the fast path there is a
// call instead, with what is still needed:
// ```text
// cross:  %given = call F.slow(values..., 7) ; switch %given.0 [ 0: return %given.1 ] [ 1: back.1 ] ...
// back.1: br header, with %given.1, ...
// ```
// Where more is given back than there are registers for, F makes room for it and F.slow stores it there.
// Without a way back, F.slow returns what F returns, in its place if it can.
//
// In debug info F is inlined in F.slow: so lines, scopes and variables stay as they are.
//
// Limits: functions stay whole whose slow path needs its own frame: dynamic allocas, va_start, calls that must be tail calls,
// frame addresses, handlers of exceptions by their types; and those with very many values at very many places.

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/Triple.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

namespace {

/// More values than this at more places than that are not worth it.
constexpr size_t MostValues = 48, MostPassed = 4096;
/// How many integers and pointers, and how many others, are returned in registers on every machine, besides the code.
constexpr unsigned IntegerRegisters = 2, OtherRegisters = 2;
/// How many integers and pointers the usual convention of x86-64 has registers for.
constexpr unsigned MostIntegers = 6;
/// No argument behind so many others is in a register: x86_regcallcc has 12 for integers and 16 for others.
constexpr unsigned MostInRegisters = 28;

/// What a landing pad gives for a type is a number in its own function's table: in another function it means another type.
bool choosesByType(const LandingPadInst &Pad) {
  for (unsigned I = 0; I < Pad.getNumClauses(); ++I)
    if (Pad.isFilter(I) || !isa<ConstantPointerNull>(Pad.getClause(I)->stripPointerCasts()))
      return true;
  return false;
}

bool needsItsFrame(const Instruction &I) {
  if (isa<AllocaInst>(I) || I.getType()->isTokenTy())
    return true;
  if (auto *Pad = dyn_cast<LandingPadInst>(&I))
    return choosesByType(*Pad);
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call)
    return false;
  if (Call->isMustTailCall() || Call->hasFnAttr(Attribute::ReturnsTwice))
    return true;
  switch (Call->getIntrinsicID()) {
  case Intrinsic::vastart:
  case Intrinsic::stacksave:
  case Intrinsic::stackrestore:
  case Intrinsic::frameaddress:
  case Intrinsic::returnaddress:
  case Intrinsic::addressofreturnaddress:
  case Intrinsic::sponentry:
  case Intrinsic::localescape:
  case Intrinsic::localrecover:
  case Intrinsic::eh_sjlj_setjmp:
  case Intrinsic::eh_sjlj_lsda:
  case Intrinsic::eh_sjlj_functioncontext:
  case Intrinsic::eh_dwarf_cfa:
  case Intrinsic::eh_return_i32:
  case Intrinsic::eh_return_i64:
  case Intrinsic::eh_unwind_init:
    return true;
  default:
    return false;
  }
}

class Split {
public:
  explicit Split(Function &F) : F(F), Context(F.getContext()) {}

  /// Whether it was done.
  bool run() {
    for (BasicBlock &Block : F)
      if (Block.getTerminator()->hasMetadata(SlowMark)) {
        Block.getTerminator()->setMetadata(SlowMark, nullptr);
        Slow.insert(&Block);
      }
    if (Slow.empty())
      return false;
    collect();
    if (!isPossible())
      return false;
    moveOwnLocals();
    findNeeded();
    declare();
    fillEntry();
    leave();
    moveBlocks();
    cross();
    replaceValues();
    forgetLifetimes();
    if (DISubprogram *Program = F.getSubprogram())
      describeAsInlined(*New, *Program);
    return true;
  }

private:
  /// An edge from the fast path to the slow one.
  struct Entry {
    BasicBlock *From, *To;
    BasicBlock *In = nullptr; // in F.slow, before `To`
  };
  /// An edge back, and the values of the header's phis.
  struct Exit {
    BasicBlock *From, *To;
    SmallVector<Value *, 8> Values;
    SmallVector<unsigned, 8> Fields; // of `GivenType`; 0 for constants
  };

  Function &F, *New = nullptr;
  LLVMContext &Context;
  SmallSetVector<BasicBlock *, 32> Slow;
  SmallVector<Entry, 16> Entries;
  SmallVector<Exit, 4> Exits;
  /// What is defined in the fast path and used in the slow one, with its number; locals that only the latter uses.
  MapVector<Value *, unsigned> Values;
  SmallVector<AllocaInst *, 8> OwnLocals;
  /// The values of each of F.slow's parameters, and which one each is.
  SmallVector<SmallVector<Value *, 2>, 16> Shared;
  DenseMap<Value *, unsigned> ParameterOf;
  /// Which values are needed from each block of the slow path on.
  DenseMap<const BasicBlock *, BitVector> Needed;
  /// What is given back: a code, then the result or the values of an exit, which share fields. Null if there are no exits.
  StructType *GivenType = nullptr;
  bool HasResult = false, InMemory = false;

  bool isSlow(const BasicBlock *Block) const { return Slow.contains(const_cast<BasicBlock *>(Block)); }
  bool isSlow(const Instruction &I) const { return isSlow(I.getParent()); }

  void collect() {
    for (BasicBlock &Block : F) {
      SmallSetVector<BasicBlock *, 4> Next(succ_begin(&Block), succ_end(&Block));
      for (BasicBlock *To : Next) {
        if (!isSlow(&Block) && isSlow(To))
          Entries.push_back({&Block, To});
        if (isSlow(&Block) && !isSlow(To))
          Exits.push_back({&Block, To, {}, {}});
      }
    }
    // Arguments first and in their order: where control crosses at the entry, they are in place.
    for (Argument &A : F.args())
      if (any_of(A.users(), [&](User *Who) { return isSlow(*cast<Instruction>(Who)); }))
        Values.insert({&A, Values.size()});
    for (BasicBlock *Block : Slow)
      for (Instruction &I : *Block)
        for (Value *Operand : I.operands())
          if (isa<Argument>(Operand) || (isa<Instruction>(Operand) && !isSlow(*cast<Instruction>(Operand))))
            Values.insert({Operand, Values.size()});
    // Locals that the fast path does not use move.
    for (auto &[V, Number] : Values)
      if (auto *Local = dyn_cast<AllocaInst>(V); Local && Local->isStaticAlloca() && isOnlySlow(*Local))
        OwnLocals.push_back(Local);
    for (AllocaInst *Local : OwnLocals)
      Values.erase(Local);
    unsigned Number = 0;
    for (auto &Value : Values)
      Value.second = Number++;
  }

  bool isOnlySlow(const AllocaInst &Local) const {
    return all_of(Local.users(), [&](const User *Who) { return isSlow(*cast<Instruction>(Who)); });
  }

  bool isPossible() const {
    if (Values.size() > MostValues || Values.size() * Entries.size() > MostPassed)
      return false;
    for (BasicBlock *Block : Slow)
      for (const Instruction &I : *Block)
        if (needsItsFrame(I))
          return false;
    // Exceptions cross by landing pads only, which have their own place in each copy.
    return all_of(Entries, [](const Entry &E) { return isa<BranchInst>(E.From->getTerminator()) && !E.To->isEHPad(); }) &&
           all_of(Exits, [](const Exit &E) { return isa<BranchInst>(E.From->getTerminator()) && !E.To->isEHPad(); });
  }

  void moveOwnLocals() {
    for (AllocaInst *Local : OwnLocals) {
      SmallVector<DbgVariableIntrinsic *, 2> Users;
      findDbgUsers(Users, Local);
      for (DbgVariableIntrinsic *User : Users)
        if (!isSlow(*User))
          User->eraseFromParent();
    }
  }

  /// Backwards from uses; nothing is defined on the way.
  void findNeeded() {
    for (BasicBlock *Block : Slow) {
      BitVector &Own = Needed[Block];
      Own.resize(Values.size());
    }
    auto note = [&](BasicBlock *At, Value *Used) {
      auto Found = Values.find(Used);
      if (Found != Values.end())
        Needed[At].set(Found->second);
    };
    for (BasicBlock *Block : Slow)
      for (Instruction &I : *Block) {
        auto *Phi = dyn_cast<PHINode>(&I);
        for (Use &U : I.operands()) {
          BasicBlock *At = Phi ? Phi->getIncomingBlock(U) : Block;
          // From the fast path: only that edge needs it.
          if (isSlow(At))
            note(At, U.get());
        }
      }
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (BasicBlock *Block : reverse(Slow)) {
        BitVector Now = Needed[Block];
        for (BasicBlock *Next : successors(Block))
          if (isSlow(Next))
            Now |= Needed[Next];
        if (Now != Needed[Block]) {
          Needed[Block] = std::move(Now);
          Changed = true;
        }
      }
    }
  }

  bool isNeeded(const Entry &E, Value *V, unsigned Number) const {
    if (Needed.find(E.To)->second.test(Number))
      return true;
    return any_of(E.To->phis(), [&](PHINode &Phi) { return Phi.getIncomingValueForBlock(E.From) == V; });
  }

  void declare() {
    SmallVector<Type *, 16> Params;
    Type *Result = F.getReturnType();
    if (!Exits.empty()) {
      layOut();
      Result = InMemory ? Type::getInt32Ty(Context) : static_cast<Type *>(GivenType);
    }
    share();
    for (ArrayRef<Value *> Sharing : Shared)
      Params.push_back(Sharing.front()->getType());
    Params.push_back(Type::getInt32Ty(Context));
    if (InMemory)
      Params.push_back(PointerType::get(Context, 0));
    New = Function::Create(FunctionType::get(Result, Params, false), GlobalValue::InternalLinkage, F.getAddressSpace(),
                           F.getName() + ".slow", F.getParent());
    AttrBuilder Own(Context, F.getAttributes().getFnAttrs());
    AttributeList Attributes = AttributeList::get(Context, AttributeList::FunctionIndex, Own);
    if (!GivenType)
      Attributes = Attributes.addRetAttributes(Context, AttrBuilder(Context, F.getAttributes().getRetAttrs()));
    New->setAttributes(Attributes);
    New->removeFnAttr(SymbolAttribute);
    // Two of these name parameters by their number.
    for (Attribute::AttrKind Kind : {Attribute::AlwaysInline, Attribute::InlineHint, Attribute::Hot, Attribute::AllocSize,
                                     Attribute::AllocKind, Attribute::JumpTable})
      New->removeFnAttr(Kind);
    New->addFnAttr(Attribute::NoInline);
    New->addFnAttr(Attribute::Cold);
    New->setCallingConv(callingConvention());
    New->setDSOLocal(true);
    New->setComdat(F.getComdat());
    if (F.hasPersonalityFn())
      New->setPersonalityFn(F.getPersonalityFn());
  }

  /// Decides which parameter each value is passed in. What calls returned shares one, if no entry needs both: usually it is needed just
  /// after the call. (To share more was tried: fewer parameters, but worse registers.)
  void share() {
    SmallVector<BitVector, 16> Needing; // of each parameter: the entries
    auto isReturned = [](ArrayRef<Value *> Sharing) { return isa<CallBase>(Sharing.front()); };
    for (auto &[V, Number] : Values) {
      BitVector Own(Entries.size());
      for (unsigned I = 0; I < Entries.size(); ++I)
        if (isNeeded(Entries[I], V, Number))
          Own.set(I);
      unsigned Place = 0;
      auto canShare = [&, V = V] {
        return isa<CallBase>(V) && isReturned(Shared[Place]) && Shared[Place].front()->getType() == V->getType() &&
               !Needing[Place].anyCommon(Own);
      };
      while (Place < Shared.size() && !canShare())
        ++Place;
      if (Place == Shared.size())
        Shared.emplace_back(), Needing.push_back(Own);
      Shared[Place].push_back(V);
      Needing[Place] |= Own;
    }
    // The first register of x86_regcallcc is the one that a call's result is in: there it stays. Where F.slow is called in F's place, F's
    // arguments stay where they are.
    auto isIntegers = [](ArrayRef<Value *> Sharing) { return isInteger(Sharing.front()->getType()); };
    if (GivenType || count_if(Shared, isIntegers) >= MostIntegers)
      std::stable_partition(Shared.begin(), Shared.end(), isReturned);
    for (unsigned Place = 0; Place < Shared.size(); ++Place)
      for (Value *V : Shared[Place])
        ParameterOf[V] = Place;
  }

  static bool isInteger(const Type *Of) {
    return Of->isPointerTy() || (Of->isIntegerTy() && Of->getIntegerBitWidth() <= 64);
  }

  /// What x86_regcallcc passes and returns in registers.
  static bool isPlain(const Type *Of) {
    return isInteger(Of) || Of->isFloatTy() || Of->isDoubleTy() || (Of->isVectorTy() && Of->getPrimitiveSizeInBits() == 128);
  }

  bool hasRegCall() const {
    Triple Target(F.getParent()->getTargetTriple());
    return Target.getArch() == Triple::x86_64 && !Target.isOSWindows();
  }

  /// The one with the most registers: what does not fit into them needs room in F's frame, which F makes at each call. But a
  /// call in F's place needs F's own convention.
  CallingConv::ID callingConvention() const {
    ArrayRef<Type *> Params = New->getFunctionType()->params();
    Type *Result = New->getReturnType();
    ArrayRef<Type *> Given = Result->isStructTy() ? cast<StructType>(Result)->elements() : ArrayRef(Result);
    bool ArePlain = all_of(Params, isPlain) && (Result->isVoidTy() || all_of(Given, isPlain));
    bool InPlace = !GivenType && count_if(Params, isInteger) <= MostIntegers;
    return hasRegCall() && ArePlain && !InPlace ? CallingConv::X86_RegCall : CallingConv::Fast;
  }

  /// Decides which field each value is given back in.
  void layOut() {
    HasResult = !F.getReturnType()->isVoidTy();
    SmallVector<Type *, 16> Fields = {Type::getInt32Ty(Context)};
    if (HasResult)
      Fields.push_back(F.getReturnType());
    for (Exit &E : Exits) {
      SmallSet<unsigned, 8> Taken;
      for (PHINode &Phi : E.To->phis()) {
        Value *Incoming = Phi.getIncomingValueForBlock(E.From);
        E.Values.push_back(Incoming);
        // What the fast path defined may be given back, too.
        if (isa<Argument>(Incoming) || (isa<Instruction>(Incoming) && !isSlow(*cast<Instruction>(Incoming))))
          addValue(Incoming, E.From);
        unsigned Field = 0;
        if (!isa<Constant>(Incoming)) {
          for (Field = 1; Field < Fields.size(); ++Field)
            if (Fields[Field] == Phi.getType() && !Taken.count(Field))
              break;
          if (Field == Fields.size())
            Fields.push_back(Phi.getType());
          Taken.insert(Field);
        }
        E.Fields.push_back(Field);
      }
    }
    GivenType = StructType::get(Context, Fields);
    unsigned Integers = 0, Others = 0;
    for (Type *Field : drop_begin(Fields)) {
      ++(isInteger(Field) ? Integers : Others);
      InMemory |= Field->isAggregateType();
    }
    InMemory |= Integers > IntegerRegisters || Others > OtherRegisters;
  }

  /// A value more, which is needed from `At` on and on the ways there.
  void addValue(Value *V, BasicBlock *At) {
    auto [Found, IsNew] = Values.insert({V, Values.size()});
    SmallVector<BasicBlock *, 8> Work = {At};
    for (BasicBlock *Block : Slow)
      Needed[Block].resize(Values.size());
    while (!Work.empty()) {
      BasicBlock *Block = Work.pop_back_val();
      if (Needed[Block].test(Found->second))
        continue;
      Needed[Block].set(Found->second);
      for (BasicBlock *Pred : predecessors(Block))
        if (isSlow(Pred))
          Work.push_back(Pred);
    }
  }

  void fillEntry() {
    BasicBlock *First = BasicBlock::Create(Context, "", New);
    for (AllocaInst *Local : OwnLocals)
      Local->removeFromParent(), Local->insertInto(First, First->end());
    IRBuilder<> B(First);
    BasicBlock *Never = BasicBlock::Create(Context, "never", New);
    new UnreachableInst(Context, Never);
    SwitchInst *Choice = B.CreateSwitch(New->getArg(Shared.size()), Never, Entries.size());
    unsigned Number = 0;
    for (Entry &E : Entries) {
      E.In = BasicBlock::Create(Context, "", New);
      BranchInst::Create(E.To, E.In);
      Choice->addCase(B.getInt32(Number++), E.In);
    }
  }

  Value *field(IRBuilder<> &B, Value *Room, unsigned Number) { return B.CreateStructGEP(GivenType, Room, Number); }

  static void hide(Instruction &I) {
    I.setMetadata(LLVMContext::MD_nosanitize, MDNode::get(I.getContext(), {}));
  }

  /// F.slow's ends.
  void leave() {
    if (!GivenType)
      return;
    for (BasicBlock *Block : Slow)
      if (auto *Return = dyn_cast<ReturnInst>(Block->getTerminator())) {
        IRBuilder<> B(Return);
        if (HasResult)
          give(B, 0, {Return->getReturnValue()}, {1});
        else
          give(B, 0, {}, {});
        Return->eraseFromParent();
      }
    unsigned Code = 0;
    for (Exit &E : Exits) {
      BasicBlock *Leave = BasicBlock::Create(Context, "", New);
      IRBuilder<> B(Leave);
      give(B, ++Code, E.Values, E.Fields);
      E.From->getTerminator()->replaceSuccessorWith(E.To, Leave);
      Slow.insert(Leave);
    }
  }

  void give(IRBuilder<> &B, unsigned Code, ArrayRef<Value *> Given, ArrayRef<unsigned> Fields) {
    Value *Room = InMemory ? New->getArg(New->arg_size() - 1) : nullptr;
    Value *All = B.CreateInsertValue(PoisonValue::get(GivenType), B.getInt32(Code), 0);
    for (auto [V, Field] : zip(Given, Fields)) {
      if (Field && InMemory)
        hide(*B.CreateStore(V, field(B, Room, Field)));
      else if (Field)
        All = B.CreateInsertValue(All, V, Field);
    }
    B.CreateRet(InMemory ? B.getInt32(Code) : All);
  }

  void moveBlocks() {
    for (BasicBlock *Block : Slow)
      if (Block->getParent() != New) {
        Block->removeFromParent();
        Block->insertInto(New);
      }
  }

  /// F's calls, and what comes after them.
  void cross() {
    // Whatever pointer it has may be to one of F's own.
    bool HasLocals = any_of(instructions(F), [](const Instruction &I) { return isa<AllocaInst>(I); }) ||
                     any_of(F.args(), [](const Argument &A) { return A.hasPassPointeeByValueCopyAttr(); });
    AllocaInst *Room = nullptr;
    BasicBlock *After = nullptr;
    PHINode *Given = nullptr;
    IRBuilder<> B(Context);
    DILocation *Nowhere = F.getSubprogram() ? DILocation::get(Context, 0, 0, F.getSubprogram()) : nullptr;
    if (GivenType) {
      if (InMemory)
        Room = new AllocaInst(GivenType, F.getParent()->getDataLayout().getAllocaAddrSpace(), "",
                              &*F.getEntryBlock().getFirstInsertionPt());
      After = afterCall(Room, Given);
    }
    unsigned Number = 0;
    for (Entry &E : Entries) {
      BasicBlock *Cross = BasicBlock::Create(Context, "cross", &F);
      B.SetInsertPoint(Cross);
      B.SetCurrentDebugLocation(Nowhere);
      SmallVector<Value *, 16> Args;
      for (ArrayRef<Value *> Sharing : Shared) {
        auto *Needed = find_if(Sharing, [&](Value *V) { return isNeeded(E, V, Values[V]); });
        Args.push_back(Needed == Sharing.end() ? notNeeded(Sharing.front()->getType(), Args.size()) : *Needed);
      }
      Args.push_back(B.getInt32(Number++));
      if (Room)
        Args.push_back(Room);
      CallInst *Call = B.CreateCall(New->getFunctionType(), New, Args);
      Call->setCallingConv(New->getCallingConv());
      Call->setAttributes(AttributeList::get(Context, AttributeSet(), New->getAttributes().getRetAttrs(), {}));
      if (New->doesNotThrow())
        Call->setDoesNotThrow();
      // x86_regcallcc passes arguments in registers that F must keep for its caller.
      if (!HasLocals && !GivenType && New->getCallingConv() != CallingConv::X86_RegCall)
        Call->setTailCall();
      if (GivenType) {
        Given->addIncoming(Call, Cross);
        B.CreateBr(After);
      } else if (F.getReturnType()->isVoidTy()) {
        B.CreateRetVoid();
      } else {
        B.CreateRet(Call);
      }
      E.From->getTerminator()->replaceSuccessorWith(E.To, Cross);
      E.To->replacePhiUsesWith(E.From, E.In);
    }
  }

  /// What is passed where nothing is needed. x86_regcallcc passes arguments in registers that a call otherwise keeps, and LLVM 16 believes
  /// that it keeps them if what is passed is poison.
  Constant *notNeeded(Type *Of, unsigned Place) const {
    bool InRegister = New->getCallingConv() == CallingConv::X86_RegCall && Place < MostInRegisters;
    return InRegister ? Constant::getNullValue(Of) : PoisonValue::get(Of);
  }

  BasicBlock *afterCall(AllocaInst *Room, PHINode *&Given) {
    BasicBlock *After = BasicBlock::Create(Context, "crossed", &F);
    IRBuilder<> B(After);
    Given = B.CreatePHI(New->getReturnType(), Entries.size());
    BasicBlock *Return = BasicBlock::Create(Context, "return", &F);
    Value *Code = InMemory ? Given : B.CreateExtractValue(Given, 0);
    SwitchInst *Choice = B.CreateSwitch(Code, Return, Exits.size());
    B.SetInsertPoint(Return);
    auto take = [&](unsigned Field) -> Value * {
      if (!InMemory)
        return B.CreateExtractValue(Given, Field);
      LoadInst *Load = B.CreateLoad(GivenType->getElementType(Field), field(B, Room, Field));
      hide(*Load);
      return Load;
    };
    if (HasResult)
      B.CreateRet(take(1));
    else
      B.CreateRetVoid();
    unsigned Number = 0;
    for (Exit &E : Exits) {
      BasicBlock *Back = BasicBlock::Create(Context, "back", &F);
      B.SetInsertPoint(Back);
      unsigned Place = 0;
      for (PHINode &Phi : E.To->phis()) {
        int From = Phi.getBasicBlockIndex(E.From);
        unsigned Field = E.Fields[Place];
        if (Field)
          Phi.setIncomingValue(From, take(Field));
        Phi.setIncomingBlock(From, Back);
        ++Place;
      }
      B.CreateBr(E.To);
      Choice->addCase(B.getInt32(++Number), Back);
    }
    return After;
  }

  /// In F.slow values are parameters.
  void replaceValues() {
    for (BasicBlock &Block : *New)
      for (Instruction &I : Block) {
        for (Use &U : I.operands()) {
          auto Found = ParameterOf.find(U.get());
          if (Found != ParameterOf.end())
            U.set(New->getArg(Found->second));
        }
        if (auto *Said = dyn_cast<DbgVariableIntrinsic>(&I))
          replaceIn(*Said);
      }
    // What debug info in F says of values that are no longer here is not known.
    for (Instruction &I : instructions(F))
      if (auto *Said = dyn_cast<DbgVariableIntrinsic>(&I))
        if (any_of(Said->location_ops(), [&](Value *V) {
              auto *Made = dyn_cast<Instruction>(V);
              return Made && Made->getFunction() == New;
            }))
          Said->setKillLocation();
  }

  void replaceIn(DbgVariableIntrinsic &Said) {
    SmallVector<Value *, 2> Old(Said.location_ops());
    for (Value *V : Old) {
      auto *Made = dyn_cast_or_null<Instruction>(V);
      if (!(Made && Made->getFunction() == &F) && !isa_and_nonnull<Argument>(V))
        continue;
      // A parameter that others share has this value only where it is still needed.
      auto Found = ParameterOf.find(V);
      if (Found == ParameterOf.end() ||
          (Shared[Found->second].size() > 1 && !Needed[Said.getParent()].test(Values[V])))
        return Said.setKillLocation();
      Said.replaceVariableLocationOp(V, New->getArg(Found->second));
    }
  }

  /// F.slow uses all of F's locals at any time. If F still said which of them are used one after the other, these would share
  /// a place, since nothing in F tells what F.slow does with them.
  void forgetLifetimes() {
    for (auto &[V, Number] : Values)
      if (auto *Local = dyn_cast<AllocaInst>(V))
        for (User *Who : make_early_inc_range(Local->users()))
          if (auto *Said = dyn_cast<LifetimeIntrinsic>(Who))
            Said->eraseFromParent();
  }
};

}  // namespace

bool covsched::loom::splitSlowPath(Function &F) { return Split(F).run(); }
