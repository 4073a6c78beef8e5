// How often a loop runs at most, where its bounds say so together: `for (k = a; k < min(a + 32, n); ++k)`, as loops over tiles have it.
//
// ScalarEvolution's count is then X = S + T, with S = smin(a + C, ...): it does not know that X is at most C + T - a. That is so if a < S
// where the loop begins, which is asked for: then S - a is between 1 and C, whatever wraps. What a vector loop leaves over begins at a
// phi, and each of its values is looked at.
//
// Limits: only signed bounds, and only sums in which the minimum stands by itself.

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
  Bound(ScalarEvolution &Evolution, const Loop &L) : Evolution(Evolution), L(L) {}

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

  /// By its range alone. Counts of loops that run are not negative.
  uint64_t largest(const SCEV *Count) const {
    if (Evolution.getTypeSizeInBits(Count->getType()) > 64)
      return Unknown;
    APInt Largest = Evolution.getSignedRangeMax(Count);
    return Largest.isNegative() || Largest.ugt(Most) ? Unknown : Largest.getZExtValue();
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
          Evolution.isLoopEntryGuardedByCond(&L, ICmpInst::ICMP_SLT, Begin, Least))
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
      uint64_t Largest = 0;
      for (Value *Incoming : Phi->incoming_values()) {
        const SCEV *Begun = Evolution.getMinusSCEV(Evolution.getAddExpr(Sum, From), Evolution.getSCEV(Incoming));
        Largest = std::max(Largest, of(Begun, Depth));
      }
      return Largest;
    }
    return Unknown;
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
