// Loops that run a small constant number of times become straight code.
//
// LLVM's unroller also simplifies what it copied, and takes out reads that nobody needs: these are kept from it. Only
// whole loops go: one that would stay as a loop is not touched.

#include "analyses.h"
#include "bridge.h"
#include "kept_reads.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/UnrollLoop.h"
#include "shared.h"
#include "template.h"
#include "unroll.h"

using namespace llvm;
using covsched::KeptReads;

namespace {

/// Whether the program or the function is left behind here, in a trap or by an exception, and nothing goes on.
bool isDeadEnd(const BasicBlock &Block) {
  constexpr size_t Most = 64;
  SetVector<const BasicBlock *> Seen;
  Seen.insert(&Block);
  for (size_t I = 0; I < Seen.size(); ++I) {
    const Instruction *Last = Seen[I]->getTerminator();
    if (I == Most || (Last->getNumSuccessors() == 0 && !isa<UnreachableInst>(Last) && !isa<ResumeInst>(Last)))
      return false;
    Seen.insert(succ_begin(Last), succ_end(Last));
  }
  return true;
}

/// How often the header runs unless the run ends in the loop, or an exception leaves it; 0 if that is no constant.
unsigned tripsOf(const Loop &L, ScalarEvolution &SE) {
  unsigned Trips = 0;
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  for (BasicBlock *Block : Exiting) {
    if (unsigned Own = SE.getSmallConstantTripCount(&L, Block)) {
      Trips = Trips ? std::min(Trips, Own) : Own;
      continue;
    }
    for (const BasicBlock *Next : successors(Block))
      if (!L.contains(Next) && !Next->isLandingPad() && !isDeadEnd(*Next))
        return 0;
  }
  return Trips && SE.getSmallConstantMaxTripCount(&L) == Trips ? Trips : 0;
}

bool hasItem(const Loop &L) {
  return any_of(L.blocks(), [](const BasicBlock *Block) {
    return any_of(*Block, [](const Instruction &I) { return I.hasMetadata(covsched::ItemMark); });
  });
}

class Unroller {
public:
  Unroller(Function &F, const CovUnrollLimits &Limits, function_ref<void(const CovUnrolledLoop &)> Tell)
      : F(F), Limits(Limits), Left(Limits.growth), Tell(Tell) {}

  /// Once over all loops, inner ones first. How many are gone.
  size_t round() {
    covsched::Analyses All;
    auto &FAM = All.Functions;
    auto &LI = FAM.getResult<LoopAnalysis>(F);
    // Of loops that are made meanwhile the next round takes care.
    SmallVector<Loop *, 8> Loops = LI.getLoopsInPreorder();
    if (Loops.empty())
      return 0;
    KeptReads Reads;
    Reads.keep(F);
    size_t Done = 0;
    for (Loop *L : reverse(Loops))
      Done += unroll(*L, FAM, Reads);
    Reads.release(F);
    return Done;
  }

private:
  Function &F;
  const CovUnrollLimits &Limits;
  uint64_t Left;  // instructions that may still be added
  function_ref<void(const CovUnrolledLoop &)> Tell;

  /// The number of iterations if they are to be copied, else 0. The analysis of constants must see reads as they are.
  unsigned tripsWanted(const Loop &L, size_t Size, ScalarEvolution &SE, KeptReads &Reads) {
    for (BasicBlock *Block : L.blocks())
      Reads.release(*Block);
    unsigned Trips = tripsOf(L, SE);
    for (BasicBlock *Block : L.blocks())
      Reads.keep(*Block);
    uint64_t Copied = uint64_t(Trips) * Size;
    return Trips <= Limits.trips && Copied <= Limits.instructions && Copied <= Left ? Trips : 0;
  }

  bool unroll(Loop &L, FunctionAnalysisManager &FAM, KeptReads &Reads) {
    size_t Size = 0;
    if (covsched::copyObstacle(L, Size) || Size > Limits.instructions || hasItem(L))
      return false;
    auto &LI = FAM.getResult<LoopAnalysis>(F);
    auto &DT = FAM.getResult<DominatorTreeAnalysis>(F);
    auto &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
    // With several latches nothing can be said yet.
    if (!L.getLoopLatch()) {
      covsched::makePlainLatch(L, DT, LI);
      SE.forgetTopmostLoop(&L);
    }
    if (!tripsWanted(L, Size, SE, Reads))
      return false;
    covsched::makeUnrollable(L, DT, LI, SE);
    unsigned Trips = tripsWanted(L, Size, SE, Reads);
    if (!Trips)
      return false;
    Left -= uint64_t(Trips) * Size;
    DebugLoc Start = L.getStartLoc();
    // A loop that is left at its header runs its body once less.
    unsigned Bodies = L.isLoopExiting(L.getHeader()) && L.getHeader() != L.getLoopLatch() ? Trips - 1 : Trips;
    UnrollLoopOptions Options = {Trips, /*Force=*/true, /*Runtime=*/false, /*AllowExpensiveTripCount=*/false,
                                 /*UnrollRemainder=*/false, /*ForgetAllSCEV=*/false};
    bool IsGone = UnrollLoop(&L, Options, &LI, &SE, &DT, &FAM.getResult<AssumptionAnalysis>(F),
                      &FAM.getResult<TargetIRAnalysis>(F), &FAM.getResult<OptimizationRemarkEmitterAnalysis>(F), true,
                      nullptr) == LoopUnrollResult::FullyUnrolled;
    if (IsGone)
      Tell({Start ? cov_place_location(wrap(Start.getAsMDNode())) : CovLocation{covsched::text(""), 0, 0}, Bodies});
    return IsGone;
  }
};

}  // namespace

extern "C" void cov_unroll_constant(LLVMValueRef function, const CovUnrollLimits *limits,
                                    void (*visit)(void *, const CovUnrolledLoop *), void *context) {
  Function &F = *unwrap<Function>(function);
  if (F.isDeclaration() || covsched::functionObstacle(F))
    return;
  auto Tell = [&](const CovUnrolledLoop &Loop) { visit(context, &Loop); };
  Unroller All(F, *limits, Tell);
  // Copies of loops in loops may have become constant; each level of nesting takes a round.
  while (All.round())
    ;
}
