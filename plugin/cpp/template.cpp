// Templates: a copy of a function, outside of the module, in which no register lives in two blocks. Its blocks can
// then be copied any number of times and wired in any way, and LLVM's promotion of memory to registers makes SSA form
// of the result.
//
//   entry: %a = ...            frame: %a.slot = alloca
//          call @hook()               br piece0
//          use %a          =>  piece0: %a = ...; store %a, %a.slot; br piece1
//                              piece1: call @hook(); br piece2
//                              piece2: %a.reload = load %a.slot; use %a.reload

#include "template.h"

#include "llvm-c/Core.h"
#include "llvm/Analysis/EHPersonalities.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "promote.h"

using namespace llvm;
using covsched::None;
using covsched::Piece;
using covsched::Step;

namespace {

CovObstacle functionObstacle(const Function &F) {
  if (F.isDeclaration())
    return COV_IS_DECLARED;
  if (F.hasFnAttribute(Attribute::Naked))
    return COV_IS_NAKED;
  if (F.isPresplitCoroutine())
    return COV_IS_COROUTINE;
  if (F.hasPersonalityFn() && isScopedEHPersonality(classifyEHPersonality(F.getPersonalityFn())))
    return COV_HAS_FUNCLETS;
  for (const Argument &A : F.args())
    if (A.hasSwiftErrorAttr() || A.hasInAllocaAttr())
      return COV_HAS_SPECIAL_MEMORY;
  return COV_CAN_BE_CLONED;
}

CovObstacle callObstacle(const CallBase &Call) {
  if (isa<CallBrInst>(Call))
    return COV_HAS_CALLBR;
  if (Call.isMustTailCall())
    return COV_HAS_MUSTTAIL;
  if (Call.hasFnAttr(Attribute::ReturnsTwice))
    return COV_HAS_RETURNS_TWICE;
  if (Call.cannotDuplicate())
    return COV_HAS_NODUPLICATE;
  if (Call.isConvergent())
    return COV_HAS_CONVERGENT;
  auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call);
  if (Intrinsic && Intrinsic->getIntrinsicID() == Intrinsic::localescape)
    return COV_HAS_FRAME_ESCAPE;
  return COV_CAN_BE_CLONED;
}

CovObstacle obstacle(const Instruction &I) {
  if (isa<IndirectBrInst>(I))
    return COV_HAS_INDIRECTBR;
  if (auto *Alloca = dyn_cast<AllocaInst>(&I); Alloca && (Alloca->isSwiftError() || Alloca->isUsedWithInAlloca()))
    return COV_HAS_SPECIAL_MEMORY;
  // A token that lives in one block may still be cut from its users, so none is taken.
  if (I.getType()->isTokenTy() && !I.use_empty())
    return COV_HAS_TOKEN;
  if (auto *Call = dyn_cast<CallBase>(&I))
    return callObstacle(*Call);
  return COV_CAN_BE_CLONED;
}

/// LLVM's own copy, with the original's debug locations: they are remapped once, in each clone. A function outside of
/// a module and without subprogram is what keeps CloneFunctionInto from going through all debug info of the unit.
Function *copyOf(Function &F) {
  Function *New = Function::Create(F.getFunctionType(), GlobalValue::InternalLinkage, F.getAddressSpace());
  ValueToValueMapTy Map;
  for (auto [Old, Own] : zip(F.args(), New->args()))
    Map[&Old] = &Own;
  DISubprogram *Program = F.getSubprogram();
  F.setSubprogram(nullptr);
  SmallVector<ReturnInst *, 8> Returns;
  CloneFunctionInto(New, &F, Map, CloneFunctionChangeType::LocalChangesOnly, Returns);
  F.setSubprogram(Program);
  New->setComdat(nullptr);
  F.getParent()->getFunctionList().push_back(New);
  return New;
}

/// Scopes of `restrict` are declared once an iteration and would hold across copies of it; assignment tracking links
/// stores and variables by identity.
void dropIdentities(Function &F) {
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    I.setMetadata(LLVMContext::MD_alias_scope, nullptr);
    I.setMetadata(LLVMContext::MD_noalias, nullptr);
    I.setMetadata(LLVMContext::MD_DIAssignID, nullptr);
    if (isa<NoAliasScopeDeclInst>(I) || isa<DbgAssignIntrinsic>(I))
      I.eraseFromParent();
  }
}

/// A block of its own for static allocas, with the variables that live in them. Returns its terminator.
Instruction *makeFrame(CovTemplate &T) {
  BasicBlock &Entry = T.Copy->getEntryBlock();
  for (Instruction &I : make_early_inc_range(Entry))
    if (auto *Alloca = dyn_cast<AllocaInst>(&I); Alloca && Alloca->isStaticAlloca())
      T.Fixed.push_back(Alloca);
  BasicBlock *Frame = BasicBlock::Create(T.M.getContext(), "", T.Copy, &Entry);
  Instruction *End = BranchInst::Create(&Entry, Frame);
  for (AllocaInst *Alloca : T.Fixed)
    Alloca->moveBefore(End);
  for (AllocaInst *Alloca : T.Fixed)
    for (DbgVariableIntrinsic *Declare : FindDbgAddrUses(Alloca))
      if (isa<DbgDeclareInst>(Declare)) {
        Declare->moveBefore(End);
        T.Declared.push_back(Declare);
      }
  return End;
}

/// Splits so that `Call` is alone with its terminator.
void isolate(CallBase &Call) {
  if (Call.getPrevNode())
    Call.getParent()->splitBasicBlock(&Call);
  if (Call.isTerminator())
    return;
  Instruction *Next = Call.getNextNode();
  auto *Jump = dyn_cast<BranchInst>(Next);
  if (!isa<UnreachableInst>(Next) && !(Jump && Jump->isUnconditional()))
    Call.getParent()->splitBasicBlock(Next);
}

/// Gives every invoke a block on its normal side, where its result can be stored, and cuts behind landing pads, so
/// that control can be led anywhere from there. Returns those blocks, by the invoke's.
DenseMap<BasicBlock *, BasicBlock *> splitInvokes(Function &F) {
  DenseMap<BasicBlock *, BasicBlock *> Tails;
  for (BasicBlock &Block : make_early_inc_range(F)) {
    if (auto *Landing = Block.getLandingPadInst())
      Block.splitBasicBlock(Landing->getNextNode());
  }
  SmallVector<InvokeInst *, 8> Invokes;
  for (BasicBlock &Block : F)
    if (auto *Invoke = dyn_cast<InvokeInst>(Block.getTerminator()))
      Invokes.push_back(Invoke);
  for (InvokeInst *Invoke : Invokes) {
    BasicBlock *From = Invoke->getParent(), *To = Invoke->getNormalDest();
    BasicBlock *Tail = BasicBlock::Create(F.getContext(), "", &F, To);
    BranchInst::Create(To, Tail)->setDebugLoc(Invoke->getDebugLoc());
    Invoke->setNormalDest(Tail);
    To->replacePhiUsesWith(From, Tail);
    Tails[From] = Tail;
  }
  return Tails;
}

bool leavesBlock(const Instruction &I) {
  return any_of(I.users(), [&](const User *Who) {
    auto *User = cast<Instruction>(Who);
    return User->getParent() != I.getParent() || isa<PHINode>(User);
  });
}

/// No register and no PHI is left that concerns two blocks (as LLVM's reg2mem does it); debug info follows.
void demoteRegisters(Function &F, Instruction *Frame) {
  SmallVector<Instruction *, 64> Registers;
  SmallVector<PHINode *, 32> Phis;
  for (BasicBlock &Block : F) {
    if (&Block == Frame->getParent())
      continue;
    for (Instruction &I : Block) {
      if (auto *Phi = dyn_cast<PHINode>(&I))
        Phis.push_back(Phi);
      SmallVector<DbgVariableIntrinsic *, 4> Described;
      findDbgUsers(Described, &I);
      bool Far = any_of(Described, [&](auto *User) { return User->getParent() != &Block; });
      if (Far || leavesBlock(I))
        Registers.push_back(&I);
    }
  }
  for (Instruction *I : Registers) {
    SmallVector<DbgVariableIntrinsic *, 4> Described;
    findDbgUsers(Described, I);
    AllocaInst *Slot;
    if (I->use_empty()) {
      // Only debug info asks for it.
      Slot = new AllocaInst(I->getType(), F.getParent()->getDataLayout().getAllocaAddrSpace(), nullptr, "", Frame);
      Instruction *After = I->isTerminator() ? &*cast<InvokeInst>(I)->getNormalDest()->getFirstInsertionPt()
                           : isa<PHINode>(I) ? &*I->getParent()->getFirstInsertionPt()
                                             : I->getNextNode();
      new StoreInst(I, Slot, After);
    } else {
      Slot = DemoteRegToStack(*I, false, Frame);
    }
    for (DbgVariableIntrinsic *User : Described)
      if (User->getParent() != I->getParent())
        User->replaceVariableLocationOp(I, new LoadInst(I->getType(), Slot, "", User));
  }
  for (PHINode *Phi : Phis)
    DemotePHIToStack(Phi, Frame);
}

/// A slot that was read or written in a block need not be read there again.
void forwardInBlocks(Function &F, const SmallPtrSetImpl<const Value *> &Slots) {
  for (BasicBlock &Block : F) {
    DenseMap<const Value *, Value *> Known;
    for (Instruction &I : make_early_inc_range(Block)) {
      if (auto *Store = dyn_cast<StoreInst>(&I)) {
        if (Slots.contains(Store->getPointerOperand()))
          Known[Store->getPointerOperand()] = Store->getValueOperand();
      } else if (auto *Load = dyn_cast<LoadInst>(&I); Load && Slots.contains(Load->getPointerOperand())) {
        Value *&Current = Known[Load->getPointerOperand()];
        if (!Current) {
          Current = Load;
          continue;
        }
        Load->replaceAllUsesWith(Current);
        Load->eraseFromParent();
      }
    }
  }
}

/// Collects debug info that belongs to the function.
class LocalDebugInfo {
public:
  explicit LocalDebugInfo(CovTemplate &T) : T(T) {
    if (DISubprogram *Program = T.Original.getSubprogram())
      keep(Program);
  }

  /// Its place among what clones have their own of; None if they share it.
  uint32_t add(MDNode *Node) {
    if (!Node || T.Local.empty())
      return None;
    auto Found = T.LocalPlaces.find(Node);
    if (Found != T.LocalPlaces.end())
      return Found->second;
    T.LocalPlaces[Node] = None;
    bool Own = false;
    if (auto *Location = dyn_cast<DILocation>(Node)) {
      Own |= add(Location->getScope()) != None;
      Own |= add(Location->getInlinedAt()) != None;
    } else if (auto *Block = dyn_cast<DILexicalBlockBase>(Node)) {
      Own = add(Block->getScope()) != None;
    } else if (auto *Variable = dyn_cast<DILocalVariable>(Node)) {
      Own = add(Variable->getScope()) != None;
    } else if (auto *Label = dyn_cast<DILabel>(Node)) {
      Own = add(Label->getScope()) != None;
    }
    return Own ? keep(Node) : None;
  }

  /// A loop's id: its locations are of the function.
  uint32_t addLoop(MDNode *Id) {
    if (!Id || T.Local.empty())
      return None;
    auto Found = T.LocalPlaces.find(Id);
    if (Found != T.LocalPlaces.end())
      return Found->second;
    bool Own = false;
    for (const MDOperand &Part : drop_begin(Id->operands()))
      Own |= add(dyn_cast_or_null<DILocation>(Part.get())) != None;
    return Own ? keep(Id) : T.LocalPlaces[Id] = None;
  }

private:
  CovTemplate &T;

  uint32_t keep(MDNode *Node) {
    T.Local.push_back(Node);
    return T.LocalPlaces[Node] = T.Local.size() - 1;
  }
};

/// The slot that an instruction loads or stores.
uint32_t slotOf(const CovTemplate &T, const Instruction &I) {
  const Value *Place = getLoadStorePointerOperand(&I);
  auto Found = Place ? T.Values.find(Place) : T.Values.end();
  uint32_t First = T.Copy->arg_size() + T.Fixed.size();
  bool Is = Found != T.Values.end() && Found->second >= First && Found->second < First + T.Slots.size();
  return Is ? Found->second - First : None;
}

std::vector<Step> stepsOf(CovTemplate &T, BasicBlock &Block, LocalDebugInfo &Info) {
  std::vector<Step> Steps;
  for (Instruction &I : Block) {
    uint32_t First = T.Operands.size();
    for (const Use &U : I.operands()) {
      auto Found = T.Values.find(U.get());
      if (Found != T.Values.end())
        T.Operands.push_back({U.getOperandNo(), Found->second});
    }
    uint32_t Own = T.Values.size();
    T.Values[&I] = Own;
    if (auto *Variable = dyn_cast<DbgVariableIntrinsic>(&I))
      Info.add(Variable->getVariable());
    else if (auto *Label = dyn_cast<DbgLabelInst>(&I))
      Info.add(Label->getLabel());
    Steps.push_back({&I, Own, First, uint32_t(T.Operands.size() - First), Info.add(I.getDebugLoc().get()),
                     Info.addLoop(I.getMetadata(LLVMContext::MD_loop)), slotOf(T, I),
                     isa<LoadInst>(I) && I.use_empty()});
  }
  return Steps;
}

/// What is read in these steps, or later, before it is written.
void stepBack(ArrayRef<Step> Steps, BitVector &Live) {
  for (const Step &S : reverse(Steps)) {
    if (S.Slot == None)
      continue;
    if (isa<StoreInst>(S.Inst))
      Live.reset(S.Slot);
    else if (!S.OnlyDescribes)
      Live.set(S.Slot);
  }
}

void findLiveSlots(CovTemplate &T) {
  for (Piece &P : T.Pieces)
    P.Live.resize(T.Slots.size());
  bool Changed = true;
  while (Changed) {
    Changed = false;
    for (Piece &P : reverse(T.Pieces)) {
      BitVector Live(T.Slots.size());
      if (P.Tail) {
        Live |= T.Pieces[P.Next[0]].Live;
        stepBack(P.TailSteps, Live);
        Live |= T.Pieces[P.Next[1]].Live;
      } else {
        for (uint32_t Next : P.Next)
          Live |= T.Pieces[Next].Live;
      }
      stepBack(P.Steps, Live);
      if (Live != P.Live) {
        P.Live = std::move(Live);
        Changed = true;
      }
    }
  }
}

void makePieces(CovTemplate &T, BasicBlock *Frame, const DenseMap<BasicBlock *, BasicBlock *> &Tails,
                const SmallPtrSetImpl<const Value *> &Calls) {
  SmallPtrSet<BasicBlock *, 16> Inner = {Frame};
  for (auto [Block, Tail] : Tails)
    Inner.insert(Tail);
  DenseMap<BasicBlock *, uint32_t> Numbers;
  for (BasicBlock &Block : *T.Copy)
    if (!Inner.contains(&Block)) {
      Numbers[&Block] = T.Pieces.size();
      T.Pieces.emplace_back();
      T.Pieces.back().Block = &Block;
    }

  LocalDebugInfo Info(T);
  uint32_t Count = 0;
  auto number = [&](const Value *V) { T.Values[V] = Count++; };
  for (Argument &A : T.Copy->args())
    number(&A);
  for (AllocaInst *Alloca : T.Fixed)
    number(Alloca);
  for (AllocaInst *Slot : T.Slots)
    number(Slot);
  for (DbgVariableIntrinsic *Declare : T.Declared) {
    Info.add(Declare->getVariable());
    Info.add(Declare->getDebugLoc().get());
  }
  for (Piece &P : T.Pieces) {
    P.Tail = Tails.lookup(P.Block);
    P.Lands = P.Block->isLandingPad();
    P.Steps = stepsOf(T, *P.Block, Info);
    if (P.Tail) {
      P.TailSteps = stepsOf(T, *P.Tail, Info);
      P.TailSteps.pop_back();
    }
    for (const Step &S : P.Steps)
      if (Calls.contains(S.Inst))
        P.Call = cast<CallBase>(S.Inst);
    for (BasicBlock *Next : successors(P.Block))
      P.Next.push_back(Numbers.lookup(Next == P.Tail ? P.Tail->getSingleSuccessor() : Next));
  }
  findLiveSlots(T);
  if (DISubprogram *Program = T.Original.getSubprogram())
    for (DINode *Node : Program->getRetainedNodes())
      Info.add(Node);
}

}  // namespace

CovTemplate::~CovTemplate() {
  // References inside of it are in no order.
  Copy->dropAllReferences();
  if (Copy->getParent())
    Copy->eraseFromParent();
  else
    delete Copy;
}

/// Whether a call may leave the function by an exception.
static bool mayUnwind(const CovTemplate &T, const Piece &P) {
  if (T.Original.doesNotThrow())
    return false;
  auto leaves = [](const Step &S) {
    auto *Call = dyn_cast<CallInst>(S.Inst);
    return Call && !Call->doesNotThrow();
  };
  return any_of(P.Steps, leaves) || any_of(P.TailSteps, leaves);
}

extern "C" {

CovTemplate *cov_template_new(LLVMValueRef function, CovObstacle *reason, LLVMValueRef *at) {
  Function &F = *unwrap<Function>(function);
  *at = nullptr;
  *reason = functionObstacle(F);
  if (*reason != COV_CAN_BE_CLONED)
    return nullptr;
  for (BasicBlock &Block : F) {
    if (Block.hasAddressTaken()) {
      *reason = COV_HAS_LABEL_ADDRESS;
      *at = wrap(&Block.front());
      return nullptr;
    }
    for (Instruction &I : Block) {
      *reason = obstacle(I);
      if (*reason == COV_CAN_BE_CLONED)
        continue;
      *at = wrap(&I);
      return nullptr;
    }
  }
  auto *T = new CovTemplate(F);
  T->Copy = copyOf(F);
  EliminateUnreachableBlocks(*T->Copy);
  dropIdentities(*T->Copy);
  covsched::promoteLocals(*T->Copy);
  return T;
}

LLVMValueRef cov_template_copy(CovTemplate *copy) { return wrap(copy->Copy); }

void cov_template_cut(CovTemplate *copy, const LLVMValueRef *calls, size_t count) {
  CovTemplate &T = *copy;
  SmallPtrSet<const Value *, 16> Calls;
  Instruction *Frame = makeFrame(T);
  for (size_t I = 0; I < count; ++I) {
    auto *Call = unwrap<CallBase>(calls[I]);
    Calls.insert(Call);
    isolate(*Call);
  }
  DenseMap<BasicBlock *, BasicBlock *> Tails = splitInvokes(*T.Copy);
  demoteRegisters(*T.Copy, Frame);
  SmallPtrSet<const Value *, 32> Fixed(T.Fixed.begin(), T.Fixed.end()), Slots;
  for (Instruction &I : *Frame->getParent())
    if (auto *Alloca = dyn_cast<AllocaInst>(&I); Alloca && !Fixed.contains(Alloca)) {
      T.Slots.push_back(Alloca);
      Slots.insert(Alloca);
    }
  forwardInBlocks(*T.Copy, Slots);
  makePieces(T, Frame->getParent(), Tails, Calls);
  T.Copy->removeFromParent();
}

void cov_template_drop(CovTemplate *copy) { delete copy; }

void cov_template_pieces(CovTemplate *copy, void (*visit)(void *, const CovPiece *), void *context) {
  for (const Piece &P : copy->Pieces) {
    const Instruction *Last = P.Block->getTerminator();
    CovEnd End = isa<ReturnInst>(Last)   ? COV_END_RETURNS
                 : isa<ResumeInst>(Last) ? COV_END_UNWINDS
                                         : COV_END_GOES_ON;
    CovPiece Facts = {wrap(P.Call), P.Next.data(), P.Next.size(), End, P.Lands, mayUnwind(*copy, P)};
    visit(context, &Facts);
  }
}

}  // extern "C"
