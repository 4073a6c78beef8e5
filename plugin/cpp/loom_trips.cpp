// How often a loop runs at most, where its bounds say so together: `for (k = a; k < min(a + 32, n); ++k)`, as loops over tiles have it, what a
// vectorized loop leaves over, and `while (at < 16384 && ...) ++at` in a loop in which `at` begins at 0 and only grows.
//
// Tiles: ScalarEvolution's count is then X = S + T, with S = smin(a + C, ...): it does not know that X is at most C + T - a. That is so if
// a < S where the loop begins, which is asked for: then S - a is between 1 and C, whatever wraps.
//
// What is left over begins at a phi, and each of its values is looked at: behind the vector loop it is n - n / W * W, and beside it there is
// a test for n < W.
//
// What only grows: the count is X = max(C, at + D) + K - at. If it is C that is the larger, X is between D + K and C + K, since `at` is not
// negative; else it is D + K.
//
// Limits: only signed bounds of tiles, and only sums in which the minimum stands by itself.

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "loom.h"

using namespace llvm;
using namespace llvm::PatternMatch;

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
    if (isa<SCEVUMinExpr>(Count) || isa<SCEVSequentialUMinExpr>(Count)) {
      for (const SCEV *One : cast<SCEVNAryExpr>(Count)->operands())
        Known = std::min(Known, of(One, Depth));
      return Known;
    }
    if (uint64_t Found = remainder(Count); Found != Unknown)
      return Found;
    auto *Sum = dyn_cast<SCEVAddExpr>(Count);
    if (!Sum)
      return Unknown;
    for (const SCEV *Part : Sum->operands())
      if (auto *Least = dyn_cast<SCEVSMinExpr>(Part))
        if (uint64_t Found = withMinimum(Count, Least); Found != Unknown)
          return Found;
    for (const SCEV *Part : Sum->operands())
      if (auto *Greatest = dyn_cast<SCEVSMaxExpr>(Part))
        if (uint64_t Found = withMaximum(Count, Greatest); Found != Unknown)
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

  uint64_t withMaximum(const SCEV *Count, const SCEVSMaxExpr *Greatest) {
    auto *End = Greatest->getNumOperands() == 2 ? dyn_cast<SCEVConstant>(Greatest->getOperand(0)) : nullptr;
    if (!End || Evolution.getTypeSizeInBits(Count->getType()) > 64)
      return Unknown;
    const SCEV *Other = Greatest->getOperand(1), *At = Other;
    if (auto *Sum = dyn_cast<SCEVAddExpr>(Other)) {
      if (Sum->getNumOperands() != 2 || !Sum->hasNoSignedWrap())
        return Unknown;
      At = Sum->getOperand(1);
    }
    auto constant = [](const SCEV *Of) -> std::optional<int64_t> {
      auto *Known = dyn_cast<SCEVConstant>(Of);
      if (!Known || Known->getAPInt().getSignificantBits() > 32)
        return std::nullopt;
      return Known->getAPInt().getSExtValue();
    };
    std::optional<int64_t> C = constant(End), D = constant(Evolution.getMinusSCEV(Other, At));
    std::optional<int64_t> K = constant(Evolution.getAddExpr(Evolution.getMinusSCEV(Count, Greatest), At));
    auto *Begin = dyn_cast<SCEVUnknown>(At);
    if (!C || !D || !K || *D + *K < 0 || !Begin || !neverNegative(Begin->getValue()))
      return Unknown;
    int64_t Largest = std::max(*C, *D) + *K;
    return uint64_t(Largest) > Most ? Unknown : Largest;
  }

  /// Whether a value begins at 0 or more, and only grows: what would wrap is poison, with which no loop can be left.
  bool neverNegative(const Value *Of) const {
    constexpr unsigned MostValues = 32;
    const DataLayout &Layout = L.getHeader()->getModule()->getDataLayout();
    SmallVector<const Value *, 8> Work = {Of};
    SmallPtrSet<const Value *, 16> Seen;
    while (!Work.empty()) {
      const Value *V = Work.pop_back_val();
      if (!Seen.insert(V).second)
        continue;
      if (Seen.size() > MostValues)
        return false;
      const Value *A, *B;
      if (auto *Phi = dyn_cast<PHINode>(V))
        Work.append(Phi->value_op_begin(), Phi->value_op_end());
      else if (match(V, m_NSWAdd(m_Value(A), m_Value(B))) || match(V, m_Select(m_Value(), m_Value(A), m_Value(B))))
        Work.append({A, B});
      else if (!isKnownNonNegative(V, Layout))
        return false;
    }
    return true;
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
  if (isa<SCEVCouldNotCompute>(Count)) // by ways out that are not counted; not more often than by the others
    Count = Evolution.getSymbolicMaxBackedgeTakenCount(&L);
  if (isa<SCEVCouldNotCompute>(Count))
    return 0;
  uint64_t Found = Bound(Evolution, L).of(Count);
  return Found == Unknown ? 0 : Found + 1;
}
