// Unrolling loops with LLVM's own unroller, and what it needs before: locals in registers, a preheader, one latch,
// exits of their own, closed SSA form.
//
// Everything is done to the given loops only: nothing is simplified that is not unrolled, since what runs after this
// in the pipeline does that better. A loop that cannot be unrolled is found before anything is changed, so that a
// function in which none can be stays as it is.

#include "unroll.h"

#include "analyses.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/EHPersonalities.h"
#include "llvm/Analysis/InstSimplifyFolder.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopRotationUtils.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/UnrollLoop.h"
#include "shared.h"

using namespace llvm;
using covsched::str;

namespace {

/// Loop metadata of loops that cov_unroll did; llvm.loop.unroll.disable alone may be the programmer's.
constexpr const char *DoneMark = "covsched.unrolled";

constexpr const char *Disabled = "llvm.loop.unroll.disable";

/// As LLVM's own limit for `#pragma unroll`. Loops around unrolled loops grow with each level.
constexpr size_t MostInstructions = 16 * 1024;

/// A loop to unroll.
struct Candidate {
  CovLoopToUnroll Asked;
  Loop *L;
  CovUnrolled Result;
  uint32_t Times;
};

CovUnrolled loopObstacle(const Loop &L, uint32_t Factor, bool HeedDisabled) {
  if (findOptionMDForLoop(&L, DoneMark))
    return COV_LEFT_DONE;
  if (HeedDisabled && findOptionMDForLoop(&L, Disabled))
    return COV_LEFT_DISABLED;
  size_t Size = 0;
  CovUnrolled Obstacle = covsched::copyObstacle(L, Size);
  return !Obstacle && Size > MostInstructions / Factor ? COV_LEFT_TOO_LARGE : Obstacle;
}

/// Takes the marker out of a loop's header; null if there is none. Copies of it stand for one place.
Instruction *takeMarker(Loop &L, StringRef Symbol) {
  Instruction *First = nullptr;
  for (Instruction &I : make_early_inc_range(*L.getHeader())) {
    auto *Call = dyn_cast<CallInst>(&I);
    Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (!Callee || Callee->getName() != Symbol)
      continue;
    if (!First) {
      Call->removeFromParent();
      First = Call;
    } else {
      Call->eraseFromParent();
    }
  }
  return First;
}

void markDone(Loop &L) {
  L.setLoopAlreadyUnrolled();
  LLVMContext &Context = L.getHeader()->getContext();
  MDNode *Mark = MDNode::get(Context, MDString::get(Context, DoneMark));
  L.setLoopID(makePostTransformationMetadata(Context, L.getLoopID(), {DoneMark}, {Mark}));
}

/// Does one loop, which has no obstacle. Its marker, if it has one, is then in the header of what remains of the loop,
/// and in that of the remainder.
void unrollOne(Candidate &C, uint32_t Factor, StringRef Marker, Function &F, FunctionAnalysisManager &FAM) {
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  auto &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  auto &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  auto &AC = FAM.getResult<AssumptionAnalysis>(F);
  auto &TTI = FAM.getResult<TargetIRAnalysis>(F);
  auto &ORE = FAM.getResult<OptimizationRemarkEmitterAnalysis>(F);
  Loop &L = *C.L;
  MDNode *Id = L.getLoopID();

  // The marker goes first: rotating would copy it out of the loop.
  Instruction *Taken = takeMarker(L, Marker);
  auto putBack = [&](Loop &Into) {
    if (Taken)
      Taken->clone()->insertBefore(&*Into.getHeader()->getFirstInsertionPt());
  };

  covsched::makeUnrollable(L, DT, LI, SE);
  // `while (i < n)` becomes `if (i < n) do ... while (i < n)`, which is what can have a remainder. Elsewhere rotating
  // would only copy what the header does. A header that tests first runs once more than the body.
  unsigned Headers = SE.getSmallConstantMaxTripCount(&L);
  bool Goes = Headers && Headers <= Factor + 1;
  if ((Goes || !C.Asked.keeps_header) && L.isLoopExiting(L.getHeader()) && !L.isLoopExiting(L.getLoopLatch()) &&
      !isa<SCEVCouldNotCompute>(SE.getExitCount(&L, L.getHeader()))) {
    const SimplifyQuery Query(F.getParent()->getDataLayout());
    LoopRotation(&L, &LI, &TTI, &AC, &DT, &SE, nullptr, Query, true, unsigned(-1), false);
    formDedicatedExitBlocks(&L, &DT, &LI, nullptr, true);
  }
  if (Id)
    L.setLoopID(Id);

  bool Constant = SE.getSmallConstantTripCount(&L) != 0;
  unsigned Most = SE.getSmallConstantMaxTripCount(&L);
  bool Fully = Most && Most <= Factor;
  UnrollLoopOptions Options = {Factor, /*Force=*/false, /*Runtime=*/true, /*AllowExpensiveTripCount=*/true,
                               /*UnrollRemainder=*/false, /*ForgetAllSCEV=*/false};
  auto Done = LoopUnrollResult::Unmodified;
  Loop *Remainder = nullptr;
  if (!Constant && !Fully && !C.Asked.keeps_header) {
    Done = UnrollLoop(&L, Options, &LI, &SE, &DT, &AC, &TTI, &ORE, true, &Remainder);
    C.Result = COV_UNROLLED_REMAINDER;
  }
  if (Done == LoopUnrollResult::Unmodified) {
    Options.Runtime = false;
    Options.Force = true;
    Done = UnrollLoop(&L, Options, &LI, &SE, &DT, &AC, &TTI, &ORE, true, nullptr);
    C.Result = Constant ? COV_UNROLLED_CONSTANT : COV_UNROLLED_EXITS;
  }
  C.Times = Factor;
  switch (Done) {
  case LoopUnrollResult::Unmodified:
    C.Result = COV_LEFT_REFUSED;
    putBack(L);
    break;
  case LoopUnrollResult::FullyUnrolled:
    C.Result = Constant ? COV_UNROLLED_FULLY : COV_UNROLLED_FULLY_AT_MOST;
    C.Times = Most;
    break;
  case LoopUnrollResult::PartiallyUnrolled:
    markDone(L);
    putBack(L);
    if (Remainder) {
      markDone(*Remainder);
      putBack(*Remainder);
    }
    break;
  }
  if (Taken)
    Taken->deleteValue();
}

}  // namespace

CovUnrolled covsched::functionObstacle(const Function &F) {
  if (F.hasOptNone())
    return COV_LEFT_OPTNONE;
  if (F.isPresplitCoroutine())
    return COV_LEFT_COROUTINE;
  if (F.hasPersonalityFn() && isScopedEHPersonality(classifyEHPersonality(F.getPersonalityFn())))
    return COV_LEFT_FUNCLETS;
  if (F.callsFunctionThatReturnsTwice())
    return COV_LEFT_RETURNS_TWICE;
  return COV_NOT_UNROLLED;
}

CovUnrolled covsched::copyObstacle(const Loop &L, size_t &Size) {
  if (L.getHeader()->isEHPad())
    return COV_LEFT_LANDING_HEADER;
  for (const BasicBlock *Block : L.blocks()) {
    if (Block->hasAddressTaken())
      return COV_LEFT_ADDRESS_TAKEN;
    if (isa<IndirectBrInst>(Block->getTerminator()))
      return COV_LEFT_INDIRECTBR;
    if (isa<CallBrInst>(Block->getTerminator()))
      return COV_LEFT_CALLBR;
    for (const Instruction &I : *Block) {
      Size += !I.isDebugOrPseudoInst();
      auto *Call = dyn_cast<CallBase>(&I);
      if (Call && Call->cannotDuplicate())
        return COV_LEFT_NODUPLICATE;
      if (Call && Call->isConvergent())
        return COV_LEFT_CONVERGENT;
    }
  }
  for (const BasicBlock *Outside : predecessors(L.getHeader()))
    if (isa<IndirectBrInst>(Outside->getTerminator()) || isa<CallBrInst>(Outside->getTerminator()))
      return COV_LEFT_INDIRECTBR;
  return COV_NOT_UNROLLED;
}

void covsched::makePlainLatch(Loop &L, DominatorTree &DT, LoopInfo &LI) {
  SmallVector<BasicBlock *, 4> Latches;
  L.getLoopLatches(Latches);
  auto *Branch = dyn_cast<BranchInst>(Latches.front()->getTerminator());
  bool Plain = Latches.size() == 1 && Branch &&
               (Branch->isUnconditional() || L.isLoopExiting(Latches.front()));
  if (!Plain)
    SplitBlockPredecessors(L.getHeader(), Latches, ".latch", &DT, &LI);
}

void covsched::makeUnrollable(Loop &L, DominatorTree &DT, LoopInfo &LI, ScalarEvolution &SE) {
  makePlainLatch(L, DT, LI);
  InsertPreheaderForLoop(&L, &DT, &LI, nullptr, false);
  formDedicatedExitBlocks(&L, &DT, &LI, nullptr, false);
  formLCSSARecursively(*L.getOutermostLoop(), DT, &LI, &SE);
  SE.forgetTopmostLoop(&L);
}

extern "C" {

bool cov_disables_all_unrolling(LLVMModuleRef module) {
  SmallPtrSet<const MDNode *, 16> Loops;
  for (const Function &F : *unwrap(module))
    for (const BasicBlock &Block : F) {
      MDNode *Id = Block.getTerminator()->getMetadata(LLVMContext::MD_loop);
      if (!Id || findOptionMDForLoopID(Id, DoneMark))
        continue;
      if (!findOptionMDForLoopID(Id, Disabled))
        return false;
      Loops.insert(Id);
    }
  return Loops.size() > 1;
}

bool cov_unroll(LLVMValueRef function, const CovLoopToUnroll *loops, size_t count, uint32_t factor,
                bool heed_disabled, CovText marker, void (*visit)(void *, const CovLoopResult *),
                void *context) {
  Function &F = *unwrap<Function>(function);
  covsched::Analyses All;
  FunctionAnalysisManager &FAM = All.Functions;
  SmallVector<BasicBlock *, 32> Blocks;
  for (BasicBlock &Block : F)
    Blocks.push_back(&Block);

  CovUnrolled Obstacle = covsched::functionObstacle(F);
  SmallVector<Candidate, 8> Candidates;
  bool Some = false;
  {
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    for (size_t I = 0; I < count; ++I) {
      BasicBlock *Header = Blocks[loops[I].header];
      Loop *L = LI.getLoopFor(Header);
      if (!L || L->getHeader() != Header)
        continue;
      CovUnrolled Own = Obstacle ? Obstacle : loopObstacle(*L, factor, heed_disabled);
      Some |= Own == COV_NOT_UNROLLED;
      Candidates.push_back({loops[I], L, Own, 0});
    }
  }
  if (Some) {
    // Control flow stays, so that headers are still headers.
    FAM.invalidate(F, SROAPass(SROAOptions::PreserveCFG).run(F, FAM));
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    for (Candidate &C : Candidates)
      C.L = LI.getLoopFor(Blocks[C.Asked.header]);
    // Inner loops first: copies of the outer ones then hold what is done.
    llvm::stable_sort(Candidates, [](const Candidate &A, const Candidate &B) {
      return A.L->getLoopDepth() > B.L->getLoopDepth();
    });
    for (Candidate &C : Candidates)
      if (C.Result == COV_NOT_UNROLLED)
        unrollOne(C, factor, str(marker), F, FAM);
  }
  for (const Candidate &C : Candidates) {
    CovLoopResult Result = {C.Asked.header, C.Times, C.Result};
    visit(context, &Result);
  }
  return Some;
}

}  // extern "C"
