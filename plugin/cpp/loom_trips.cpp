// How often a loop runs at most, where its bounds say so together: `for (k = a; k < min(a + 32, n); ++k)`, as loops over tiles have it, and
// what a vectorized loop leaves over.
//
// Tiles: ScalarEvolution's count is then X = S + T, with S = smin(a + C, ...): it does not know that X is at most C + T - a. That is so if
// a < S where the loop begins, which is asked for: then S - a is between 1 and C, whatever wraps.
//
// What is left over begins at a phi, and each of its values is looked at: behind the vector loop it is n - n / W * W, and beside it there is
// a test for n < W.
//
// Limits: only signed bounds of tiles, and only sums in which the minimum stands by itself.

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "loom.h"

using namespace llvm;

namespace {

/// No bound is known.
constexpr uint64_t Unknown = UINT64_MAX;
/// More than this is not asked for.
constexpr uint64_t Most = 1 << 16;

class Bound {
public:
  Bound(ScalarEvolution &Evolution, const Loop &L) : Evolution(Evolution), L(L), Entered(L.getLoopPreheader()) {}

  /// The largest value of a count; `Unknown` if none is known. `Depth`: how many phis may still be looked through.
  uint64_t of(const SCEV *Count, unsigned Depth = 1) {
    if (auto *Quotient = dyn_cast<SCEVUDivExpr>(Count)) {
      auto *By = dyn_cast<SCEVConstant>(Quotient->getRHS());
      uint64_t Dividend = By ? of(Quotient->getLHS(), Depth) : Unknown;
      return Dividend == Unknown ? Unknown : Dividend / By->getAPInt().getZExtValue();
    }
    uint64_t Known = largest(Count);
    if (Known != Unknown)
      return Known;
    if (uint64_t Found = remainder(Count); Found != Unknown)
      return Found;
    auto *Sum = dyn_cast<SCEVAddExpr>(Count);
    if (!Sum)
      return Unknown;
    for (const SCEV *Part : Sum->operands())
      if (auto *Least = dyn_cast<SCEVSMinExpr>(Part))
        if (uint64_t Found = withMinimum(Count, Least); Found != Unknown)
          return Found;
    return Depth ? byPhi(Sum, Depth - 1) : Unknown;
  }

private:
  ScalarEvolution &Evolution;
  const Loop &L;
  /// The block through which the loop is entered where the count is asked for; null if there are several.
  const BasicBlock *Entered;

  /// By its range alone.
  uint64_t largest(const SCEV *Count) const {
    if (Evolution.getTypeSizeInBits(Count->getType()) > 64)
      return Unknown;
    APInt Largest = Evolution.getSignedRangeMax(Count);
    bool Wraps = Evolution.getSignedRangeMin(Count).isNegative();
    return Wraps || Largest.ugt(Most) ? Unknown : Largest.getZExtValue();
  }

  /// Of n - n / W * W - 1, with which a loop begins behind its vector loop, where it runs only if n is not divisible by W.
  uint64_t remainder(const SCEV *Count) {
    auto *Sum = dyn_cast<SCEVAddExpr>(Count);
    if (!Sum || !isVectorized())
      return Unknown;
    for (const SCEV *Part : Sum->operands()) {
      auto *Whole = dyn_cast<SCEVMulExpr>(Part);
      auto *Times = Whole && Whole->getNumOperands() == 2 ? dyn_cast<SCEVConstant>(Whole->getOperand(0)) : nullptr;
      auto *Quotient = Times ? dyn_cast<SCEVUDivExpr>(Whole->getOperand(1)) : nullptr;
      auto *By = Quotient ? dyn_cast<SCEVConstant>(Quotient->getRHS()) : nullptr;
      if (!By || By->getAPInt() != -Times->getAPInt() || By->getAPInt().ugt(Most))
        continue;
      const SCEV *Left = Evolution.getAddExpr(Quotient->getLHS(), Whole);
      if (Evolution.getMinusSCEV(Count, Left)->isAllOnesValue())
        return By->getAPInt().getZExtValue() - 2;
    }
    return Unknown;
  }

  uint64_t withMinimum(const SCEV *Count, const SCEVSMinExpr *Least) {
    for (const SCEV *End : Least->operands()) {
      const APInt *Length = addend(End);
      if (!Length || Length->isNonPositive() || Length->ugt(Most))
        continue;
      const SCEV *Begin = Evolution.getMinusSCEV(End, Evolution.getConstant(*Length));
      const SCEV *Rest = Evolution.getMinusSCEV(Count, Evolution.getMinusSCEV(Least, Begin));
      APInt Largest = Evolution.getSignedRangeMax(Rest) + *Length, Smallest = Evolution.getSignedRangeMin(Rest);
      // A vector loop runs if there is enough for it, which is tested before.
      bool Runs = Smallest.sge(-1) || isVectorized();
      if (Runs && !Largest.isNegative() && Largest.ule(Most) && Smallest.sgt(-int64_t(Most)) &&
          Entered && Evolution.isBasicBlockEntryGuardedByCond(Entered, ICmpInst::ICMP_SLT, Begin, Least))
        return Largest.getZExtValue();
    }
    return Unknown;
  }

  /// The constant that something is added to.
  static const APInt *addend(const SCEV *Of) {
    if (auto *Recurrence = dyn_cast<SCEVAddRecExpr>(Of))
      Of = Recurrence->getStart();
    else if (auto *Sum = dyn_cast<SCEVAddExpr>(Of))
      Of = Sum->getOperand(0);
    else
      return nullptr;
    auto *Constant = dyn_cast<SCEVConstant>(Of);
    return Constant ? &Constant->getAPInt() : nullptr;
  }

  bool isVectorized() const { return getBooleanLoopAttribute(&L, "llvm.loop.isvectorized"); }

  /// The largest of all values that a phi brings with it.
  uint64_t byPhi(const SCEVAddExpr *Sum, unsigned Depth) {
    if (!isVectorized())
      return Unknown;
    for (const SCEV *Part : Sum->operands()) {
      auto *Negated = dyn_cast<SCEVMulExpr>(Part);
      auto *From = Negated ? dyn_cast<SCEVUnknown>(Negated->getOperand(1)) : nullptr;
      auto *Phi = From ? dyn_cast<PHINode>(From->getValue()) : nullptr;
      if (!Phi || Negated->getNumOperands() != 2 || !Negated->getOperand(0)->isAllOnesValue())
        continue;
      // Another loop's header has values of its last iteration.
      if (Phi->getParent() != L.getLoopPreheader() || (L.getParentLoop() && L.getParentLoop()->getHeader() == Phi->getParent()))
        continue;
      uint64_t Largest = 0;
      for (unsigned I = 0; I != Phi->getNumIncomingValues() && Largest != Unknown; ++I) {
        const SCEV *Begin = Evolution.getSCEV(Phi->getIncomingValue(I));
        const SCEV *Count = Evolution.getMinusSCEV(Evolution.getAddExpr(Sum, From), Begin);
        Bound There(Evolution, L);
        There.Entered = Phi->getIncomingBlock(I);
        uint64_t Found = There.of(Count, Depth);
        Largest = std::max(Largest, Found != Unknown ? Found : There.byTest(*Phi->getParent(), Begin, Count));
      }
      return Largest;
    }
    return Unknown;
  }

  /// By a test for a few iterations on the edge from `Entered`.
  uint64_t byTest(const BasicBlock &To, const SCEV *Begin, const SCEV *Count) {
    auto *Branch = dyn_cast<BranchInst>(Entered->getTerminator());
    auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
    auto *Few = Compare ? dyn_cast<ConstantInt>(Compare->getOperand(1)) : nullptr;
    if (!Few || Branch->getSuccessor(0) == Branch->getSuccessor(1) || Few->getValue().ugt(Most))
      return Unknown;
    ICmpInst::Predicate Holds = Branch->getSuccessor(0) == &To ? Compare->getPredicate() : Compare->getInversePredicate();
    if ((Holds != ICmpInst::ICMP_ULT && Holds != ICmpInst::ICMP_ULE) || Few->isZero())
      return Unknown;
    const SCEV *Compared = Evolution.getSCEV(Compare->getOperand(0));
    if (Compared->getType() != Count->getType())
      return Unknown;
    uint64_t Largest = Few->getZExtValue() - (Holds == ICmpInst::ICMP_ULT);
    if (Compared == Count)
      return Largest;
    // The number of iterations, which is one more, might be 0 for 2^64.
    const SCEV *Trips = Evolution.getAddExpr(Count, Evolution.getOne(Count->getType()));
    const SCEV *End = Evolution.getAddExpr(Begin, Trips);
    bool Runs = Evolution.isKnownNonZero(Trips) || Evolution.isBasicBlockEntryGuardedByCond(Entered, ICmpInst::ICMP_NE, Begin, End);
    return Compared == Trips && Runs && Largest ? Largest - 1 : Unknown;
  }
};

}  // namespace

unsigned covsched::loom::mostTrips(ScalarEvolution &Evolution, const Loop &L) {
  if (unsigned Known = Evolution.getSmallConstantMaxTripCount(&L))
    return Known;
  const SCEV *Count = Evolution.getBackedgeTakenCount(&L);
  if (isa<SCEVCouldNotCompute>(Count))
    return 0;
  uint64_t Found = Bound(Evolution, L).of(Count);
  return Found == Unknown ? 0 : Found + 1;
}
