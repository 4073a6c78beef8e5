// What `loom` asks of a function before it is changed.

#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "loom.h"
#include "tell_path.h"

using namespace llvm;
using namespace covsched::loom;

/// Each landing pad serves the invokes of one chain of lines, so that a slot after it knows where control came from.
static void splitPads(Function &F) {
  SmallVector<BasicBlock *, 8> Pads;
  for (BasicBlock &Block : F)
    if (Block.isLandingPad())
      Pads.push_back(&Block);
  for (BasicBlock *Pad : Pads) {
    std::vector<std::vector<BasicBlock *>> Groups;
    SmallPtrSet<BasicBlock *, 8> Seen;
    for (BasicBlock *Pred : predecessors(Pad)) {
      if (!Seen.insert(Pred).second)
        continue;
      auto Same = find_if(Groups, [&](auto &Group) { return sameChain(lastLine(*Group.front()), lastLine(*Pred)); });
      if (Same == Groups.end())
        Groups.push_back({Pred});
      else
        Same->push_back(Pred);
    }
    BasicBlock *Rest = Pad;
    for (size_t I = 0; I + 1 < Groups.size(); ++I) {
      SmallVector<BasicBlock *, 2> New;
      SplitLandingPadPredecessors(Rest, Groups[I], ".line", ".rest", New, static_cast<DomTreeUpdater *>(nullptr));
      // What is left lands in the second block; the old one is where both go on.
      if (New.size() < 2)
        break;
      Rest = New[1];
    }
  }
}

/// Whether a value is used other than to be called; `Taken`: so that a pointer to it may be called.
static bool isUsedOtherThanCalled(const Value &V, FunctionType *Type, bool &Taken) {
  bool Other = false;
  for (const Use &U : V.uses()) {
    const User *Who = U.getUser();
    if (auto *Call = dyn_cast<CallBase>(Who); Call && Call->isCallee(&U) && Call->getFunctionType() == Type)
      continue;
    // A block's address is no function's; personalities are called by the unwinder, which never comes here released.
    if (isa<BlockAddress>(Who))
      continue;
    if (auto *Variable = dyn_cast<GlobalVariable>(Who)) {
      // Constructors are called from outside; nothing calls what is only kept.
      StringRef Name = Variable->getName();
      if (Name == "llvm.used" || Name == "llvm.compiler.used")
        continue;
      Other = true;
      Taken |= !Name.startswith("llvm.");
    } else if (isa<Constant>(Who) && !isa<GlobalValue>(Who)) {
      Other |= isUsedOtherThanCalled(*Who, Type, Taken);
    } else {
      Other = Taken = true;
    }
  }
  return Other;
}

static CovLoomObstacle obstacleOf(const Instruction &I) {
  if (isa<IndirectBrInst>(I))
    return COV_LOOM_INDIRECTBR;
  if (isa<CallBrInst>(I))
    return COV_LOOM_CALLBR;
  if (auto *Alloca = dyn_cast<AllocaInst>(&I); Alloca && (Alloca->isSwiftError() || Alloca->isUsedWithInAlloca()))
    return COV_LOOM_SPECIAL_MEMORY;
  if (I.getType()->isTokenTy() || I.getType()->isX86_AMXTy())
    return COV_LOOM_TOKEN;
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    if (Call->hasFnAttr(Attribute::ReturnsTwice))
      return COV_LOOM_RETURNS_TWICE;
    if (Call->cannotDuplicate())
      return COV_LOOM_NODUPLICATE;
    if (auto *Intrinsic = dyn_cast<IntrinsicInst>(Call); Intrinsic && Intrinsic->getIntrinsicID() == Intrinsic::localescape)
      return COV_LOOM_SPECIAL_MEMORY;
  }
  return COV_LOOM_CLONEABLE;
}

/// void (i32) or void (i32, ptr, ptr): what signal handlers are, and other functions as well.
static bool isOfHandlers(const Type &Result, ArrayRef<Type *> Params) {
  if (!Result.isVoidTy() || Params.empty() || !Params[0]->isIntegerTy(32))
    return false;
  return Params.size() == 1 || (Params.size() == 3 && Params[1]->isPointerTy() && Params[2]->isPointerTy());
}

/// So many iterations, with those of the loops inside, may go by without a check: 64 strips.
static constexpr uint64_t MostUnchecked = 64 * LongestStrip;

static bool isMarked(const BasicBlock *Latch) { return Latch && Latch->getTerminator()->getMetadata(StripMark); }

/// How many iterations the innermost loop of a nest has in all, as far as nothing is checked on the way.
static uint64_t iterations(ScalarEvolution &Evolution, const Loop &L) {
  uint64_t Inside = 1;
  for (const Loop *Inner : L)
    Inside = std::max(Inside, iterations(Evolution, *Inner));
  // A loop of which nothing is known has a check.
  uint64_t Own = mostTrips(Evolution, L);
  return SaturatingMultiply<uint64_t>(Own ? Own : isMarked(L.getLoopLatch()) ? LongestStrip : 1, Inside);
}

/// How often a loop runs at most; 0 if that is not known, or if that is not all: few times few times few are many.
static unsigned trips(ScalarEvolution &Evolution, const Loop *L, const BasicBlock &Latch) {
  if (!L)
    return 0;
  // The longest strip takes as long as a short loop.
  if (L->getLoopLatch() == &Latch && isMarked(&Latch))
    return 1;
  return iterations(Evolution, *L) <= MostUnchecked ? mostTrips(Evolution, *L) : 0;
}

static bool isCall(const Instruction &I) { return isa<CallBase>(I) && !isa<IntrinsicInst>(I); }

extern "C" {

bool cov_loom_is_done(LLVMValueRef function) { return unwrap<Function>(function)->hasFnAttribute(DoneAttribute); }

void cov_loom_prepare(LLVMValueRef function, uint32_t few) {
  Function &F = *unwrap<Function>(function);
  EliminateUnreachableBlocks(F);
  cov_gather_allocas(function);
  if (few && !F.hasOptNone())
    mineStrips(F, few);
  if (F.getSubprogram())
    splitPads(F);
}

CovLoomObstacle cov_loom_obstacle(LLVMValueRef function, LLVMValueRef *at) {
  Function &F = *unwrap<Function>(function);
  *at = nullptr;
  if (F.hasGC())
    return COV_LOOM_SPECIAL_MEMORY;
  for (const Argument &A : F.args())
    if (A.hasSwiftErrorAttr() || A.hasInAllocaAttr() || A.hasPreallocatedAttr())
      return COV_LOOM_SPECIAL_MEMORY;
  for (BasicBlock &Block : F) {
    if (Block.hasAddressTaken())
      return COV_LOOM_BLOCK_ADDRESS;
    for (Instruction &I : Block)
      if (CovLoomObstacle Found = obstacleOf(I); Found != COV_LOOM_CLONEABLE) {
        *at = wrap(&I);
        return Found;
      }
  }
  return F.getSubprogram() ? COV_LOOM_CLONEABLE : COV_LOOM_NO_DEBUG_INFO;
}

uint8_t cov_loom_facts(LLVMValueRef function) {
  Function &F = *unwrap<Function>(function);
  bool Taken = false;
  uint8_t Facts = 0;
  if (isUsedOtherThanCalled(F, F.getFunctionType(), Taken) || !F.hasLocalLinkage())
    Facts |= COV_LOOM_FROM_OUTSIDE;
  if (Taken)
    Facts |= COV_LOOM_ADDRESS_TAKEN;
  if (!F.isVarArg() && isOfHandlers(*F.getReturnType(), F.getFunctionType()->params()))
    Facts |= COV_LOOM_HANDLER_TYPE;
  // AddressSanitizer makes frames in which no call can take the function's place.
  bool Forwards = !F.isVarArg() && !F.hasFnAttribute(Attribute::SanitizeAddress);
  for (const Argument &A : F.args())
    Forwards &= !A.hasInAllocaAttr() && !A.hasPreallocatedAttr() && !A.hasSwiftErrorAttr() && !A.hasNestAttr() &&
                !A.hasAttribute(Attribute::SwiftAsync);
  if (Forwards)
    Facts |= COV_LOOM_FORWARDS;
  return Facts;
}

void cov_loom_back_edges(LLVMValueRef function, void (*visit)(void *, const CovLoomBackEdge *), void *context) {
  Function &F = *unwrap<Function>(function);
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 8> Found;
  FindFunctionBackedges(F, Found);
  if (Found.empty())
    return;
  DenseMap<const BasicBlock *, unsigned> Places;
  for (BasicBlock &Block : F)
    Places.try_emplace(&Block, Places.size());
  llvm::sort(Found, [&](const auto &A, const auto &B) {
    return std::pair(Places.lookup(A.first), Places.lookup(A.second)) <
           std::pair(Places.lookup(B.first), Places.lookup(B.second));
  });
  Found.erase(std::unique(Found.begin(), Found.end()), Found.end());

  DominatorTree Dominators(F);
  LoopInfo Loops(Dominators);
  AssumptionCache Assumptions(F);
  TargetLibraryInfoImpl Library(Triple(F.getParent()->getTargetTriple()));
  TargetLibraryInfo OfFunction(Library, &F);
  ScalarEvolution Evolution(F, OfFunction, Assumptions, Dominators, Loops);
  for (auto [From, To] : Found) {
    Loop *Around = Loops.getLoopFor(To);
    bool IsNatural = Around && Around->getHeader() == To && Around->contains(From);
    SmallVector<LLVMValueRef, 8> Calls;
    auto collect = [&](BasicBlock &Block) {
      for (Instruction &I : Block)
        if (isCall(I))
          Calls.push_back(wrap(&I));
    };
    if (IsNatural)
      for (BasicBlock *Block : Around->blocks())
        collect(*Block);
    else
      for (BasicBlock &Block : F)
        collect(Block);
    CovLoomBackEdge Edge = {wrap(From->getTerminator()),
                            wrap(static_cast<const Value *>(To)),
                            Calls.data(),
                            Calls.size(),
                            trips(Evolution, IsNatural ? Around : nullptr, *From),
                            To->isEHPad(),
                            IsNatural && Around->getLoopLatch() == From && Around->isLoopExiting(From) &&
                                isa<BranchInst>(From->getTerminator()),
                            IsNatural && Around->isOutermost(),
                            IsNatural && !Around->isInnermost()};
    visit(context, &Edge);
  }
}

void cov_loom_pads(LLVMValueRef function, void (*visit)(void *, LLVMValueRef), void *context) {
  for (BasicBlock &Block : *unwrap<Function>(function))
    if (LandingPadInst *Pad = Block.getLandingPadInst())
      visit(context, wrap(Pad));
}

void cov_loom_mark_last(LLVMValueRef call) {
  auto &Call = *unwrap<CallBase>(call);
  Call.setMetadata(covsched::LoomLast, MDNode::get(Call.getContext(), {}));
}

uint8_t cov_loom_call_facts(LLVMValueRef call) {
  auto &Call = *unwrap<CallBase>(call);
  uint8_t Facts = 0;
  if (auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand())) {
    StringRef Text = Asm->getAsmString();
    for (StringRef Word : {"syscall", "sysenter", "int $$0x80", "int 0x80", "svc", "ecall"})
      if (Text.contains_insensitive(Word))
        Facts |= COV_LOOM_SYSTEM_CALL;
  }
  // Without a prototype, as C has it, a call looks like one of a variadic function.
  SmallVector<Type *, 4> Passed;
  for (const Value *Argument : Call.args())
    Passed.push_back(Argument->getType());
  if (isOfHandlers(*Call.getType(), Passed))
    Facts |= COV_LOOM_OF_HANDLERS_TYPE;
  return Facts;
}

}  // extern "C"
