// Loops that wait for another thread by reading memory: an exit depends on what was read from an atomic or volatile
// variable. Looks at code as front ends make it: values go through local variables, `a && b` through branches, and
// std::atomic's members are calls.

#include "spin.h"

#include "bridge.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using covsched::SpinFinder;

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

const SpinFinder::Control &SpinFinder::controlOf(const Function &F) {
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

bool SpinFinder::dependsOnShared(SmallVectorImpl<const Value *> &Work, const Function &F, const Loop *Region,
                                 unsigned Depth) {
  SmallPtrSet<const Value *, 32> Seen;
  auto isInside = [&](const BasicBlock *Block) { return !Region || Region->contains(Block); };
  auto addControl = [&](const BasicBlock *Block) {
    const Control &All = controlOf(F);
    auto Found = All.find(Block);
    if (Found == All.end())
      return;
    for (const Instruction *Branch : Found->second)
      if (isInside(Branch->getParent()) && !isa<InvokeInst>(Branch))
        Work.push_back(Branch);
  };
  while (!Work.empty()) {
    auto *I = dyn_cast<Instruction>(Work.pop_back_val());
    if (!I || !isInside(I->getParent()) || !Seen.insert(I).second)
      continue;
    if (readsShared(*I))
      return true;
    if (auto *Call = dyn_cast<CallBase>(I)) {
      if (returnsShared(*Call, Depth))
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
          if (From->getTerminator()->getNumSuccessors() > 1 && !isa<InvokeInst>(From->getTerminator()))
            Work.push_back(From->getTerminator());
        }
    for (const Value *Operand : I->operands())
      Work.push_back(Operand);
  }
  return false;
}

bool SpinFinder::addWriters(const AllocaInst &Variable, function_ref<bool(const BasicBlock *)> IsInside,
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
        if (Callee && (isAtomicLibraryCall(*Callee) || touchesShared(*Callee, Depth + 1)))
          return true;
      }
    }
  }
  return false;
}

bool SpinFinder::returnsShared(const CallBase &Call, unsigned Depth) {
  // `asm volatile` with a result: what locks and atomics without a compiler's help are made of.
  if (Call.isInlineAsm())
    return !Call.getType()->isVoidTy() && cast<InlineAsm>(Call.getCalledOperand())->hasSideEffects();
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || Callee->isIntrinsic())
    return false;
  if (isAtomicLibraryCall(*Callee))
    return true;
  if (Callee->isDeclaration() || Callee->getReturnType()->isVoidTy() || Depth >= MaxDepth)
    return false;
  auto [Known, IsNew] = Returning.try_emplace(Callee, false);
  if (!IsNew)
    return Known->second;
  SmallVector<const Value *, 16> Work;
  for (const BasicBlock &Block : *Callee)
    if (auto *Return = dyn_cast<ReturnInst>(Block.getTerminator()))
      Work.push_back(Return);
  bool Result = dependsOnShared(Work, *Callee, nullptr, Depth + 1);
  Returning[Callee] = Result;
  return Result;
}

bool SpinFinder::touchesShared(const Function &F, unsigned Depth) {
  if (F.isDeclaration() || Depth >= MaxDepth)
    return false;
  auto [Known, IsNew] = Touching.try_emplace(&F, false);
  if (!IsNew)
    return Known->second;
  for (const Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (readsShared(I) || (Callee && (isAtomicLibraryCall(*Callee) || touchesShared(*Callee, Depth + 1)))) {
      Touching[&F] = true;
      return true;
    }
  }
  return false;
}

bool SpinFinder::waitsForMemory(const Loop &L) {
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  SmallVector<const Value *, 16> Work;
  const Function &F = *L.getHeader()->getParent();
  for (const BasicBlock *Block : Exiting) {
    if (isa<InvokeInst>(Block->getTerminator()))
      continue;
    Work.push_back(Block->getTerminator());
    // `if (flag) { if (x) break; }` waits for the flag, too.
    const Control &All = controlOf(F);
    if (auto Found = All.find(Block); Found != All.end())
      for (const Instruction *Branch : Found->second)
        if (L.contains(Branch) && !isa<InvokeInst>(Branch))
          Work.push_back(Branch);
  }
  return dependsOnShared(Work, F, &L, 0);
}
