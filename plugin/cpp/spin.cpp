// Loops that wait for another thread by reading memory: an exit depends on what was read from an atomic or volatile
// variable. And loops that go on as long as creating or joining threads gives some result. Looks at code as front ends
// make it: values go through local variables, `a && b` through branches, and std::atomic's members are calls.
//
// Limit: values that go through memory other than local variables are not followed.

#include "spin.h"

#include "bridge.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using covsched::ExitFinder;

namespace {

/// How deep calls are followed: an atomic's member function is two or three calls away.
constexpr unsigned MaxDepth = 6;

bool isAtomicLibraryCall(const Function &F) { return F.getName().startswith("__atomic_"); }

/// The local variable behind a pointer, if it is one.
const AllocaInst *variableBehind(const Value *Pointer) {
  return dyn_cast<AllocaInst>(Pointer->stripInBoundsOffsets());
}

/// Other threads cannot write to a local variable whose address stays here. (LLVM's own PointerMayBeCaptured takes a
/// volatile access for a capture.)
bool isPrivate(const Value *Pointer) {
  const AllocaInst *Variable = variableBehind(Pointer);
  if (!Variable)
    return false;
  SmallVector<const Value *, 4> Work = {Variable};
  while (!Work.empty()) {
    for (const Use &U : Work.pop_back_val()->uses()) {
      auto *I = dyn_cast<Instruction>(U.getUser());
      auto *Store = dyn_cast_or_null<StoreInst>(I);
      bool IsAccess = isa_and_nonnull<LoadInst>(I) || (Store && U.getOperandNo() == Store->getPointerOperandIndex());
      if (IsAccess || isa_and_nonnull<DbgInfoIntrinsic>(I) || (I && I->isLifetimeStartOrEnd()))
        continue;
      if (!isa_and_nonnull<GetElementPtrInst>(I) && !isa_and_nonnull<BitCastInst>(I))
        return false;
      Work.push_back(I);
    }
  }
  return true;
}

bool readsShared(const Instruction &I) {
  if (isa<AtomicCmpXchgInst>(I) || isa<AtomicRMWInst>(I))
    return true;
  auto *Load = dyn_cast<LoadInst>(&I);
  return Load && (Load->isAtomic() || Load->isVolatile()) && !isPrivate(Load->getPointerOperand());
}

}  // namespace

const ExitFinder::Control &ExitFinder::controlOf(const Function &F) {
  std::unique_ptr<Control> &Known = Controls[&F];
  if (Known)
    return *Known;
  Known = std::make_unique<Control>();
  // A block depends on a branch if one way leads to it for certain and another may not (Ferrante et al.).
  PostDominatorTree Tree(const_cast<Function &>(F));
  for (const BasicBlock &Block : F) {
    const Instruction *Branch = Block.getTerminator();
    if (Branch->getNumSuccessors() < 2 || !Tree.getNode(&Block))
      continue;
    auto *Stop = Tree.getNode(&Block)->getIDom();
    for (const BasicBlock *Next : successors(&Block))
      for (auto *Node = Tree.getNode(Next); Node && Node != Stop; Node = Node->getIDom())
        if (Node->getBlock())
          (*Known)[Node->getBlock()].insert(Branch);
  }
  return *Known;
}

bool ExitFinder::dependsOnSource(SmallVectorImpl<const Value *> &Work, const Function &F, const Blocks *Region,
                                 unsigned Depth) {
  SmallPtrSet<const Value *, 32> Seen;
  auto isInside = [&](const BasicBlock *Block) { return !Region || Region->contains(Block); };
  auto addControl = [&](const BasicBlock *Block) {
    const Control &All = controlOf(F);
    auto Found = All.find(Block);
    if (Found == All.end())
      return;
    for (const Instruction *Branch : Found->second)
      if (isInside(Branch->getParent()) && decides(*Branch))
        Work.push_back(Branch);
  };
  while (!Work.empty()) {
    auto *I = dyn_cast<Instruction>(Work.pop_back_val());
    if (!I || !isInside(I->getParent()) || !Seen.insert(I).second)
      continue;
    if (isSource(*I))
      return true;
    if (auto *Call = dyn_cast<CallBase>(I)) {
      if (returnsSource(*Call, Depth))
        return true;
      Work.append(Call->arg_begin(), Call->arg_end());
      continue;
    }
    if (auto *Load = dyn_cast<LoadInst>(I)) {
      if (const AllocaInst *Variable = variableBehind(Load->getPointerOperand())) {
        if (addWriters(*Variable, isInside, addControl, Work, Depth))
          return true;
        continue;
      }
    }
    if (auto *Phi = dyn_cast<PHINode>(I))
      for (const BasicBlock *From : Phi->blocks())
        if (isInside(From)) {
          addControl(From);
          // Which of its ways was taken chooses the value.
          if (From->getTerminator()->getNumSuccessors() > 1 && decides(*From->getTerminator()))
            Work.push_back(From->getTerminator());
        }
    for (const Value *Operand : I->operands())
      Work.push_back(Operand);
  }
  return false;
}

bool ExitFinder::addWriters(const AllocaInst &Variable, function_ref<bool(const BasicBlock *)> IsInside,
                            function_ref<void(const BasicBlock *)> AddControl,
                            SmallVectorImpl<const Value *> &Work, unsigned Depth) {
  SmallVector<const Value *, 4> Pointers = {&Variable};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Pointers.empty()) {
    const Value *Pointer = Pointers.pop_back_val();
    if (!Seen.insert(Pointer).second)
      continue;
    for (const User *Who : Pointer->users()) {
      auto *I = dyn_cast<Instruction>(Who);
      if (!I)
        continue;
      if (isa<GetElementPtrInst>(I) || isa<BitCastInst>(I)) {
        Pointers.push_back(I);
        continue;
      }
      if (!IsInside(I->getParent()))
        continue;
      auto *Store = dyn_cast<StoreInst>(I);
      if (Store && Store->getPointerOperand() == Pointer) {
        Work.push_back(Store->getValueOperand());
        AddControl(Store->getParent());
      } else if (auto *Call = dyn_cast<CallBase>(I); Call && !isa<DbgInfoIntrinsic>(Call)) {
        // It may write what it reads elsewhere.
        const Function *Callee = Call->getCalledFunction();
        if (Callee && (isSourceCall(*Callee) || touchesSource(*Callee, Depth + 1)))
          return true;
      }
    }
  }
  return false;
}

bool ExitFinder::returnsSource(const CallBase &Call, unsigned Depth) {
  // `asm volatile` with a result: what locks and atomics without a compiler's help are made of.
  if (Call.isInlineAsm())
    return Wanted == Memory && !Call.getType()->isVoidTy() && cast<InlineAsm>(Call.getCalledOperand())->hasSideEffects();
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || Callee->isIntrinsic())
    return false;
  if (isSourceCall(*Callee))
    return true;
  if (Callee->isDeclaration() || Callee->getReturnType()->isVoidTy() || Depth >= MaxDepth)
    return false;
  auto [Known, IsNew] = Returning[Wanted].try_emplace(Callee, false);
  if (!IsNew)
    return Known->second;
  SmallVector<const Value *, 16> Work;
  for (const BasicBlock &Block : *Callee)
    if (auto *Return = dyn_cast<ReturnInst>(Block.getTerminator()))
      Work.push_back(Return);
  bool Result = dependsOnSource(Work, *Callee, nullptr, Depth + 1);
  Returning[Wanted][Callee] = Result;
  return Result;
}

bool ExitFinder::touchesSource(const Function &F, unsigned Depth) {
  if (F.isDeclaration() || Depth >= MaxDepth)
    return false;
  auto [Known, IsNew] = Touching[Wanted].try_emplace(&F, false);
  if (!IsNew)
    return Known->second;
  for (const Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (isSource(I) || (Callee && (isSourceCall(*Callee) || touchesSource(*Callee, Depth + 1)))) {
      Touching[Wanted][&F] = true;
      return true;
    }
  }
  return false;
}

bool ExitFinder::isSource(const Instruction &I) const { return Wanted == Memory && readsShared(I); }

bool ExitFinder::isSourceCall(const Function &F) const {
  if (Wanted == Memory)
    return isAtomicLibraryCall(F);
  return F.isDeclarationForLinker() && IsThreadCall(GlobalValue::dropLLVMManglingEscape(F.getName()));
}

/// A way that ends the program: `if (pthread_create(...)) exit(1);` decides nothing for those who go on.
static bool isDeadEnd(const BasicBlock &Block) { return isa<UnreachableInst>(Block.getTerminator()); }

bool ExitFinder::decides(const Instruction &Branch) const {
  if (isa<InvokeInst>(Branch))
    return false;
  // What waits for memory is asked for as it always was: the more is found, the better.
  auto goesOn = [](const BasicBlock *Next) { return !isDeadEnd(*Next); };
  return Wanted == Memory || llvm::count_if(successors(&Branch), goesOn) > 1;
}

bool ExitFinder::exitDepends(ArrayRef<BasicBlock *> Cycle, bool &HasExit) {
  Blocks Inside(Cycle.begin(), Cycle.end());
  SmallVector<const Value *, 16> Work;
  const Function &F = *Cycle.front()->getParent();
  for (const BasicBlock *Block : Cycle) {
    const Instruction *Branch = Block->getTerminator();
    auto leaves = [&](const BasicBlock *Next) {
      return !Inside.contains(Next) && (Wanted == Memory || !isDeadEnd(*Next));
    };
    if (isa<InvokeInst>(Branch) || llvm::none_of(successors(Block), leaves))
      continue;
    HasExit = true;
    Work.push_back(Branch);
    // `if (flag) { if (x) break; }` waits for the flag, too.
    const Control &All = controlOf(F);
    if (auto Found = All.find(Block); Found != All.end())
      for (const Instruction *Other : Found->second)
        if (Inside.contains(Other->getParent()) && decides(*Other))
          Work.push_back(Other);
  }
  return dependsOnSource(Work, F, &Inside, 0);
}

bool ExitFinder::waitsForMemory(ArrayRef<BasicBlock *> Cycle) {
  Wanted = Memory;
  bool HasExit = false;
  return exitDepends(Cycle, HasExit);
}

bool ExitFinder::mayGoOn(ArrayRef<BasicBlock *> Cycle) {
  Wanted = Threads;
  bool HasExit = false;
  return exitDepends(Cycle, HasExit) || !HasExit;
}
