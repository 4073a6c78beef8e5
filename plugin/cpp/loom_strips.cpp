// Strips: an inner loop that only counts, and that is long, runs in strips of a few thousand iterations; a thread may pause
// between two of them (as Java's compilers do with their safepoints). So no iteration has a check, however small it is.
//
//   preheader -> header ... latch -> exit                 preheader -> start -> header ... latch -> end -> exit
//                  ^---------'                                          |         ^---------'         |
//                                                                       '---------------- again <-----'
//
// `latch` compares with the strip's last value instead of the loop's; `end` makes the loop's own comparison. How long the loop is
// is known before it begins: a copy of it, as it was and without checks, serves where it is no longer than a strip.
//
// A nest is a loop that counts, and whose inner loops count from and to values that do not change in it. What one of its
// iterations costs is known before it begins, too: where that is less than a strip, the outer loop runs in strips, and the inner
// ones as they were. Else each inner loop has its strips, in a copy of the nest.
//
// A small inner loop that does not count is unrolled instead, each copy with its own way out: one of them has the check.

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/UnrollLoop.h"
#include "llvm/Transforms/Utils/ValueMapper.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

namespace {

/// About how many instructions a strip has: some microseconds.
constexpr uint64_t StripSize = 1 << 15;
/// About how many instructions a loop may have that needs no check: a tenth of a millisecond.
constexpr uint64_t ShortSize = 1 << 18;
constexpr uint64_t FewestIterations = 64;
/// How many times longer a strip may take than it should, where that is not known.
constexpr uint64_t MostOver = 8;
/// How many times a loop ends for each time that only a strip does.
constexpr uint32_t StripEnds = 4;
/// How many instructions there should be to a check, so that it is about one in a hundred.
constexpr unsigned UnrolledSize = 256, MostCopies = 8;
/// For how many instructions a call counts.
constexpr unsigned SizeOfCall = 32;

/// A loop that goes on while a counter does not reach a value.
struct Counting {
  Loop *L;
  BasicBlock *Latch;
  ICmpInst *Compare;
  PHINode *Counter = nullptr;
  Value *Compared, *Last;        // the counter, or what it is in the next iteration; what it is compared with
  CmpInst::Predicate GoesOn;     // Compared GoesOn Last
  int64_t Step = 0;
  uint64_t Iterations;           // of a strip

  /// What is compared at the end of an iteration that begins with this counter.
  Value *comparedAfter(IRBuilder<> &B, Value *Counter) const;
  Value *firstCompared(IRBuilder<> &B) const { return comparedAfter(B, begin()); }
  Value *begin() const { return Counter->getIncomingValueForBlock(L->getLoopPreheader()); }
};

/// A loop, and all loops in it that may run more than a few times; no others are in these.
struct Nest {
  Counting Outer;
  SmallVector<Counting, 2> Inner;
  uint64_t Size = 0;             // of an iteration, without them
};

/// What is known of a function's loops.
struct Known {
  ScalarEvolution &Evolution;
  const TargetLibraryInfo &Library;
  unsigned Few; // so few iterations need no check, whatever is in them

  unsigned mostTrips(const Loop &L) const { return covsched::loom::mostTrips(Evolution, L); }
};

/// A call of something like `exp`: it comes back soon, and calls nothing of the program's.
bool computesOnly(const CallBase &Call, const Known &K) {
  LibFunc Which;
  return K.Library.getLibFunc(Call, Which) && Call.doesNotThrow() && Call.hasFnAttr(Attribute::WillReturn) &&
         (Call.onlyReadsMemory() || Call.onlyWritesMemory());
}

bool isCall(const Instruction &I) { return isa<CallBase>(I) && !isa<IntrinsicInst>(I); }

unsigned sizeOf(const Loop &L, unsigned Call = SizeOfCall) {
  unsigned Size = 0;
  for (const BasicBlock *Block : L.blocks())
    for (const Instruction &I : *Block)
      Size += isCall(I) ? Call : !I.isDebugOrPseudoInst();
  return Size;
}

bool hasCalls(const Loop &L, const Known &K) {
  return any_of(L.blocks(), [&](const BasicBlock *Block) {
    return any_of(*Block, [&](const Instruction &I) { return isCall(I) && !computesOnly(cast<CallBase>(I), K); });
  });
}

/// How many instructions the loop executes at most, with those in it; none if that is not known.
std::optional<uint64_t> mostOf(const Loop &L, const Known &K) {
  uint64_t Trips = K.mostTrips(L), Size = sizeOf(L);
  if (!Trips)
    return std::nullopt;
  for (const Loop *Inner : L) {
    std::optional<uint64_t> Most = mostOf(*Inner, K);
    if (!Most)
      return std::nullopt;
    Size += *Most;
  }
  return SaturatingMultiply(Trips, Size);
}

/// A loop without calls, but for such, that provably ends soon.
bool isShort(const Loop &L, const Known &K) {
  std::optional<uint64_t> Most = mostOf(L, K);
  return Most && *Most <= ShortSize && L.getLoopLatch() && !hasCalls(L, K);
}

/// A loop without calls, but for such, that may be long.
bool isLongAndPlain(const Loop &L, const Known &K) {
  if (!L.getLoopPreheader() || !L.getLoopLatch() || L.getHeader()->isEHPad() || !L.isSafeToClone() || hasCalls(L, K))
    return false;
  unsigned Trips = K.mostTrips(L);
  return (!Trips || Trips > K.Few) && !isShort(L, K);
}

std::optional<Counting> countingLoop(Loop &L, ScalarEvolution &SE) {
  BasicBlock *Latch = L.getLoopLatch(), *Header = L.getHeader();
  auto *Branch = Latch ? dyn_cast<BranchInst>(Latch->getTerminator()) : nullptr;
  if (!Branch || !Branch->isConditional())
    return std::nullopt;
  bool GoesOnIfTrue = Branch->getSuccessor(0) == Header;
  BasicBlock *Exit = Branch->getSuccessor(GoesOnIfTrue ? 1 : 0);
  auto *Compare = dyn_cast<ICmpInst>(Branch->getCondition());
  if (L.contains(Exit) || !Compare || Exit->isEHPad())
    return std::nullopt;

  Counting C;
  C.L = &L, C.Latch = Latch, C.Compare = Compare;
  C.GoesOn = GoesOnIfTrue ? Compare->getPredicate() : Compare->getInversePredicate();
  C.Compared = Compare->getOperand(0), C.Last = Compare->getOperand(1);
  if (L.isLoopInvariant(C.Compared)) {
    std::swap(C.Compared, C.Last);
    C.GoesOn = CmpInst::getSwappedPredicate(C.GoesOn);
  }
  Type *Type = C.Compared->getType();
  if (!L.isLoopInvariant(C.Last) || !(Type->isIntegerTy(32) || Type->isIntegerTy(64) || Type->isPointerTy()))
    return std::nullopt;
  for (PHINode &Phi : Header->phis())
    if (&Phi == C.Compared || Phi.getIncomingValueForBlock(Latch) == C.Compared) {
      auto *Line = SE.isSCEVable(Phi.getType()) ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&Phi)) : nullptr;
      if (!Line || Line->getLoop() != &L || !Line->isAffine())
        continue;
      auto *Step = dyn_cast<SCEVConstant>(Line->getStepRecurrence(SE));
      if (!Step || Step->getAPInt().getSignificantBits() > 16)
        continue;
      C.Counter = &Phi;
      C.Step = Step->getAPInt().getSExtValue();
      break;
    }
  bool Up = C.Step > 0;
  switch (C.GoesOn) {
  case CmpInst::ICMP_NE:
    break;
  case CmpInst::ICMP_ULT:
  case CmpInst::ICMP_SLT:
    if (!Up)
      return std::nullopt;
    break;
  case CmpInst::ICMP_UGT:
  case CmpInst::ICMP_SGT:
    if (Up)
      return std::nullopt;
    break;
  default:
    return std::nullopt;
  }
  if (!C.Counter || C.Step == 0)
    return std::nullopt;
  C.Iterations = PowerOf2Floor(std::clamp(StripSize / sizeOf(L), FewestIterations, LongestStrip));
  return C;
}

/// `From + By`, of integers or bytes.
Value *advance(IRBuilder<> &B, Value *From, Value *By) {
  if (From->getType()->isPointerTy())
    return B.CreateGEP(B.getInt8Ty(), From, By);
  return B.CreateAdd(From, B.CreateTrunc(By, From->getType()));
}

Value *advance(IRBuilder<> &B, Value *From, int64_t By) { return By ? advance(B, From, B.getInt64(By)) : From; }

Value *Counting::comparedAfter(IRBuilder<> &B, Value *Counter) const {
  return advance(B, Counter, Compared == this->Counter ? 0 : Step);
}

/// How far it is to the last value, given what is compared at the end of the first iteration; as large a number as any if the
/// loop counts the other way.
Value *distance(IRBuilder<> &B, const Counting &C, Value *First) {
  Value *From = First, *To = C.Last;
  if (C.Step < 0)
    std::swap(From, To);
  if (From->getType()->isPointerTy())
    From = B.CreatePtrToInt(From, B.getInt64Ty()), To = B.CreatePtrToInt(To, B.getInt64Ty());
  return B.CreateSub(To, From);
}

/// Whether the loop has a second iteration.
Value *goesOn(IRBuilder<> &B, const Counting &C, Value *First) { return B.CreateICmp(C.GoesOn, First, C.Last); }

/// Whether more than a strip is left. `Length`: how far the counter comes in a strip.
Value *isLong(IRBuilder<> &B, const Counting &C, Value *First, Value *Length) {
  Value *Left = distance(B, C, First);
  Value *IsLong = B.CreateICmpUGT(Left, B.CreateZExtOrTrunc(Length, Left->getType()));
  return C.GoesOn == CmpInst::ICMP_NE ? IsLong : B.CreateLogicalAnd(goesOn(B, C, First), IsLong);
}

Value *lengthOfStrip(IRBuilder<> &B, const Counting &C) { return B.getInt32(C.Iterations * std::abs(C.Step)); }

/// On the last branch of a loop that needs no check.
void mark(BasicBlock *Latch) {
  Latch->getTerminator()->setMetadata(StripMark, MDNode::get(Latch->getContext(), {}));
}

/// Makes strips of the loop. `Length`: how far the counter comes in one; 32 bits.
void mine(const Counting &C, BasicBlock *Preheader, Value *Length) {
  BasicBlock *Header = C.Counter->getParent(), *Latch = C.Latch;
  Function &F = *Header->getParent();
  LLVMContext &Context = F.getContext();
  auto *Branch = cast<BranchInst>(Latch->getTerminator());
  BasicBlock *Exit = Branch->getSuccessor(Branch->getSuccessor(0) == Header ? 1 : 0);
  BasicBlock *Start = BasicBlock::Create(Context, "strip", &F, Header);
  BasicBlock *End = BasicBlock::Create(Context, "strip.end", &F, Exit);
  BasicBlock *Again = BasicBlock::Create(Context, "strip.again", &F, Exit);

  IRBuilder<> B(Start);
  PHINode *First = nullptr;
  for (PHINode &Phi : Header->phis()) {
    PHINode *Outer = B.CreatePHI(Phi.getType(), 2);
    Outer->addIncoming(Phi.getIncomingValueForBlock(Preheader), Preheader);
    Outer->addIncoming(Phi.getIncomingValueForBlock(Latch), Again);
    int Entry = Phi.getBasicBlockIndex(Preheader);
    Phi.setIncomingBlock(Entry, Start);
    Phi.setIncomingValue(Entry, Outer);
    if (&Phi == C.Counter)
      First = Outer;
  }
  Value *Compared = C.comparedAfter(B, First);
  Value *By = C.Step < 0 ? B.CreateNeg(B.CreateZExt(Length, B.getInt64Ty())) : B.CreateZExt(Length, B.getInt64Ty());
  Value *Limit = B.CreateSelect(isLong(B, C, Compared, Length), advance(B, Compared, By), C.Last);
  // Where another strip follows, this one was as long as any: said so that what divides the counter stays known. Vector loops
  // count from 0 in steps of 4, and have addresses with `or`.
  if (isa<Constant>(Length))
    First->setIncomingValueForBlock(Again, advance(B, advance(B, First, By), C.Step));
  B.CreateBr(Header);
  Preheader->getTerminator()->replaceSuccessorWith(Header, Start);

  B.SetInsertPoint(Branch);
  BranchInst *New = B.CreateCondBr(B.CreateICmp(C.GoesOn, C.Compared, Limit), Header, End);
  New->setDebugLoc(Branch->getDebugLoc());
  New->setMetadata(LLVMContext::MD_loop, Branch->getMetadata(LLVMContext::MD_loop));
  Branch->eraseFromParent();
  mark(Latch);

  B.SetInsertPoint(End);
  B.CreateCondBr(B.CreateICmp(C.GoesOn, C.Compared, C.Last), Again, Exit,
                 MDBuilder(Context).createBranchWeights(1, StripEnds));
  B.SetInsertPoint(Again);
  B.CreateBr(Start);
  Exit->replacePhiUsesWith(Latch, End);
  if (C.Compare->use_empty())
    C.Compare->eraseFromParent();
}

/// A second copy of a loop, which may have others in it, and the choice between them.
class Divided {
public:
  Divided(Loop &L, LoopInfo &Loops, DominatorTree &Dominators) {
    Choice = L.getLoopPreheader();
    First = SplitBlock(Choice, Choice->getTerminator(), &Dominators, &Loops, nullptr, "first");
    SmallVector<BasicBlock *, 4> Exits;
    L.getUniqueExitBlocks(Exits);
    SmallVector<BasicBlock *, 8> Copies;
    cloneLoopWithPreheader(First, Choice, &L, Map, ".long", &Loops, &Dominators, Copies);
    remapInstructionsInBlocks(Copies, Map);
    for (BasicBlock *Exit : Exits)
      for (PHINode &Phi : Exit->phis())
        for (unsigned I = 0, Count = Phi.getNumIncomingValues(); I < Count; ++I)
          if (L.contains(Phi.getIncomingBlock(I)))
            Phi.addIncoming(copy(Phi.getIncomingValue(I)), copy(Phi.getIncomingBlock(I)));
  }

  template <typename T> T *copy(T *Of) {
    Value *Found = Map.lookup(Of);
    return Found ? cast<T>(Found) : Of;
  }

  Counting copy(const Counting &C) {
    Counting Copy = C;
    Copy.Latch = copy(C.Latch);
    Copy.Compare = copy(C.Compare);
    Copy.Counter = copy(C.Counter);
    Copy.Compared = copy(C.Compared);
    Copy.Last = copy(C.Last);
    return Copy;
  }

  /// The copy's preheader or the one of a loop in it.
  BasicBlock *preheader(const Loop &L) { return copy(L.getLoopPreheader()); }

  void choose(Value *IsCopy, DominatorTree &Dominators) {
    IRBuilder<> B(Choice->getTerminator());
    B.SetCurrentDebugLocation(DebugLoc());
    // Long loops are fewer, but that is where the time goes: with more to one, registers were spilled there (radix_sort).
    B.CreateCondBr(IsCopy, copy(First), First, MDBuilder(B.getContext()).createBranchWeights(1, 4));
    Choice->getTerminator()->eraseFromParent();
    Dominators.recalculate(*Choice->getParent());
  }

private:
  BasicBlock *Choice, *First; // First: the preheader of the original
  ValueToValueMapTy Map;
};

/// Where what is known of these values is said once: before the outermost loop around `L` in which they do not change.
Instruction *outermost(const Loop &L, ArrayRef<Value *> Values) {
  const Loop *Outermost = &L;
  for (const Loop *Around = L.getParentLoop(); Around; Around = Around->getParentLoop()) {
    if (!Around->getLoopPreheader() || !all_of(Values, [&](Value *V) { return Around->isLoopInvariant(V); }))
      break;
    Outermost = Around;
  }
  return Outermost->getLoopPreheader()->getTerminator();
}

/// Strips for an inner loop, and a copy without.
void divide(const Counting &C, LoopInfo &Loops, DominatorTree &Dominators) {
  IRBuilder<> B(outermost(*C.L, {C.begin(), C.Last}));
  B.SetCurrentDebugLocation(DebugLoc());
  Value *Length = lengthOfStrip(B, C);
  Value *IsLong = isLong(B, C, C.firstCompared(B), Length);
  Divided Two(*C.L, Loops, Dominators);
  mark(C.Latch);
  mine(Two.copy(C), Two.preheader(*C.L), Length);
  Two.choose(IsLong, Dominators);
}

// --- Nests ----------------------------------------------------------------------------------------------------------

/// The values that the inner loop begins with, all known before the outer one; none if there are others.
SmallVector<Value *, 2> beginnings(const Counting &C, const Loop &Outer) {
  Value *Begin = C.begin();
  if (Outer.isLoopInvariant(Begin))
    return {Begin};
  // After a vector loop: the iterations that are left, or all if there were too few.
  auto *Choice = dyn_cast<PHINode>(Begin);
  if (!Choice || !all_of(Choice->incoming_values(), [&](Value *V) { return Outer.isLoopInvariant(V); }))
    return {};
  SmallVector<Value *, 2> All;
  for (Value *V : Choice->incoming_values())
    if (!is_contained(All, V))
      All.push_back(V);
  return All;
}

std::optional<Nest> nestOf(Loop &L, const Known &K) {
  if (L.isInnermost() || !isLongAndPlain(L, K))
    return std::nullopt;
  std::optional<Counting> Outer = countingLoop(L, K.Evolution);
  if (!Outer)
    return std::nullopt;
  Nest N = {*Outer, {}, sizeOf(L)};
  for (Loop *Inner : L.getSubLoops()) {
    if (!Inner->isInnermost())
      return std::nullopt;
    unsigned Trips = K.mostTrips(*Inner);
    if ((Trips && Trips <= K.Few) || isShort(*Inner, K)) {
      N.Size += *mostOf(*Inner, K) - sizeOf(*Inner);
      continue;
    }
    std::optional<Counting> C = countingLoop(*Inner, K.Evolution);
    if (!C || !isLongAndPlain(*Inner, K) || !L.isLoopInvariant(C->Last) || beginnings(*C, L).empty())
      return std::nullopt;
    N.Size -= sizeOf(*Inner);
    N.Inner.push_back(*C);
  }
  if (N.Inner.empty())
    return std::nullopt;
  return N;
}

/// About how many instructions an iteration of the outer loop has; 32 bits, and as many as fit there at most. What is left after a
/// vector loop is usually little, but all where there were too few iterations for it or where it could not be used.
Value *costOf(IRBuilder<> &B, const Nest &N) {
  Type *Wide = B.getInt64Ty();
  auto atMost = [&](Value *V, uint64_t Most) { return B.CreateBinaryIntrinsic(Intrinsic::umin, V, B.getInt64(Most)); };
  Value *Least = B.getInt64(N.Size), *Most = Least;
  // An inner loop may never be begun; what it would begin or end with then need not have a value.
  auto fixed = [&](Value *V) { return isGuaranteedNotToBeUndefOrPoison(V) ? V : B.CreateFreeze(V); };
  for (Counting C : N.Inner) {
    Value *Shortest = nullptr, *Longest = nullptr;
    SmallVector<Value *, 2> Begins = beginnings(C, *N.Outer.L);
    C.Last = fixed(C.Last);
    for (Value *Begin : map_range(Begins, fixed)) {
      // Where there is a choice, one may be the end already, with which the loop is then not begun.
      Value *First = Begins.size() == 1 ? C.comparedAfter(B, Begin) : Begin;
      Value *Way = distance(B, C, First);
      if (C.GoesOn != CmpInst::ICMP_NE)
        Way = B.CreateSelect(goesOn(B, C, First), Way, ConstantInt::get(Way->getType(), 0));
      Shortest = Shortest ? B.CreateBinaryIntrinsic(Intrinsic::umin, Shortest, Way) : Way;
      Longest = Longest ? B.CreateBinaryIntrinsic(Intrinsic::umax, Longest, Way) : Way;
    }
    auto costs = [&](Value *Way) {
      Value *Trips = B.CreateUDiv(Way, ConstantInt::get(Way->getType(), std::abs(C.Step)));
      // No sum of products overflows then.
      Trips = atMost(B.CreateZExt(Trips, Wide), 1 << 24);
      return B.CreateMul(B.CreateAdd(Trips, B.getInt64(1)), B.getInt64(sizeOf(*C.L)));
    };
    Most = B.CreateAdd(Most, costs(Longest));
    Least = B.CreateAdd(Least, costs(Shortest));
  }
  Value *Cost = B.CreateBinaryIntrinsic(Intrinsic::umax, Least, B.CreateUDiv(Most, B.getInt64(MostOver)));
  return B.CreateTrunc(atMost(Cost, INT32_MAX), B.getInt32Ty());
}

/// Strips for the outer loop where its iterations are short; else for each inner one, in a copy of the nest.
void divide(const Nest &N, LoopInfo &Loops, DominatorTree &Dominators) {
  Loop &L = *N.Outer.L;
  SmallVector<Value *, 8> Values;
  for (const Counting &C : N.Inner) {
    Values.push_back(C.Last);
    Values.append(beginnings(C, L));
  }
  IRBuilder<> B(outermost(L, Values));
  B.SetCurrentDebugLocation(DebugLoc());
  Value *Cost = costOf(B, N);
  Value *Iterations = B.CreateUDiv(B.getInt32(StripSize), Cost);
  Value *Length = B.CreateMul(Iterations, B.getInt32(std::abs(N.Outer.Step)));
  Value *IsLong = B.CreateICmpULT(Iterations, B.getInt32(2));
  Divided Two(L, Loops, Dominators);
  for (const Counting &C : N.Inner) {
    mark(C.Latch);
    Counting Copy = Two.copy(C);
    mine(Copy, Two.preheader(*C.L), lengthOfStrip(B, C));
  }
  mine(N.Outer, L.getLoopPreheader(), Length);
  Two.choose(IsLong, Dominators);
}

/// Copies of a loop compare what the counter is in each of them. The code generator would take these for counters of their own, each
/// with a register; so they are said to be sums of one.
void compareWithOne(const Loop &L, ScalarEvolution &Evolution) {
  DenseMap<PHINode *, Value *> Hidden;
  for (BasicBlock *Block : L.blocks()) {
    auto *Branch = dyn_cast<BranchInst>(Block->getTerminator());
    auto *Compare = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
    if (!Compare || Block == L.getLoopLatch() || !L.isLoopExiting(Block))
      continue;
    for (Use &Operand : Compare->operands())
      for (PHINode &Phi : L.getHeader()->phis()) {
        if (Phi.getType() != Operand->getType() || !Phi.getType()->isIntegerTy() || Operand.get() == &Phi ||
            !isa<SCEVAddRecExpr>(Evolution.getSCEV(&Phi)))
          continue;
        auto *By = dyn_cast<SCEVConstant>(Evolution.getMinusSCEV(Evolution.getSCEV(Operand), Evolution.getSCEV(&Phi)));
        if (!By)
          continue;
        Value *&Counter = Hidden[&Phi];
        if (!Counter)
          Counter = new FreezeInst(&Phi, "", &*L.getHeader()->getFirstInsertionPt());
        Operand.set(BinaryOperator::CreateAdd(Counter, By->getValue(), "", Compare));
        break;
      }
  }
}

/// Whether something is called in each iteration that stays a call: `memcpy` too, where it is not known how long it is.
bool callsAlways(const Loop &L, const DominatorTree &Dominators, const TargetTransformInfo &Target) {
  auto isReal = [&](const Instruction &I) {
    if (auto *Memory = dyn_cast<MemIntrinsic>(&I))
      return !isa<ConstantInt>(Memory->getLength());
    return isCall(I) && (!cast<CallBase>(I).getCalledFunction() || Target.isLoweredToCall(cast<CallBase>(I).getCalledFunction()));
  };
  return any_of(L.blocks(), [&](const BasicBlock *Block) {
    return Dominators.dominates(Block, L.getLoopLatch()) && any_of(*Block, isReal);
  });
}

/// Makes a small loop so large that a check in it costs little; beside a call it already does, and copies of that would only
/// push apart what is around the loop.
void unroll(Loop &L, LoopInfo &Loops, DominatorTree &Dominators, ScalarEvolution &Evolution, AssumptionCache &Assumptions) {
  Function &F = *L.getHeader()->getParent();
  TargetTransformInfo Target(F.getParent()->getDataLayout());
  if (callsAlways(L, Dominators, Target))
    return;
  // It is code that is copied: there, a call is one instruction.
  unsigned Copies = std::min<unsigned>(PowerOf2Floor(UnrolledSize / sizeOf(L, 1)), MostCopies);
  if (Copies < 2)
    return;
  OptimizationRemarkEmitter Remarks(&F);
  formLCSSA(L, Dominators, &Loops, &Evolution);
  UnrollLoopOptions Options = {Copies, /*Force=*/true, /*Runtime=*/false, /*AllowExpensiveTripCount=*/false,
                               /*UnrollRemainder=*/false, /*ForgetAllSCEV=*/true};
  LoopUnrollResult Done =
      UnrollLoop(&L, Options, &Loops, &Evolution, &Dominators, &Assumptions, &Target, &Remarks, /*PreserveLCSSA=*/true);
  if (Done == LoopUnrollResult::PartiallyUnrolled)
    compareWithOne(L, Evolution);
}

}  // namespace

void covsched::loom::mineStrips(Function &F, unsigned Few) {
  DominatorTree Dominators(F);
  LoopInfo Loops(Dominators);
  if (Loops.empty())
    return;
  AssumptionCache Assumptions(F);
  TargetLibraryInfoImpl Library(Triple(F.getParent()->getTargetTriple()));
  TargetLibraryInfo OfFunction(Library, &F);
  ScalarEvolution Evolution(F, OfFunction, Assumptions, Dominators, Loops);
  Known K = {Evolution, OfFunction, Few};
  for (Loop *L : Loops)
    simplifyLoop(L, &Dominators, &Loops, &Evolution, &Assumptions, nullptr, false);
  for (Loop *L : Loops.getLoopsInPreorder())
    if (isShort(*L, K))
      mark(L->getLoopLatch());
  // Loops that were unrolled are no candidates any more.
  SmallPtrSet<Loop *, 8> Unrolled;
  for (Loop *L : Loops.getLoopsInPreorder())
    if (!F.hasOptSize() && L->isInnermost() && isLongAndPlain(*L, K) && !countingLoop(*L, Evolution)) {
      Unrolled.insert(L);
      unroll(*L, Loops, Dominators, Evolution, Assumptions);
    }
  // All are found before any is changed: what is known of loops is then no longer true. And what one loop computes has two
  // origins when it is divided: others that begin or end with it are to see the phi behind it.
  for (Loop *L : Loops)
    formLCSSARecursively(*L, Dominators, &Loops, &Evolution);
  SmallVector<Nest, 4> Nests;
  SmallVector<Counting, 8> Alone;
  SmallPtrSet<Loop *, 8> Nested;
  for (Loop *L : Loops.getLoopsInPreorder()) {
    if (Unrolled.count(L) || Nested.count(L))
      continue;
    if (!L->isInnermost()) {
      bool HasUnrolled = any_of(L->getSubLoops(), [&](Loop *Inner) { return Unrolled.count(Inner); });
      if (std::optional<Nest> N = HasUnrolled ? std::nullopt : nestOf(*L, K)) {
        Nests.push_back(*N);
        Nested.insert(L->begin(), L->end());
      }
    } else if (isLongAndPlain(*L, K)) {
      if (std::optional<Counting> C = countingLoop(*L, Evolution))
        Alone.push_back(*C);
    }
  }
  for (const Nest &N : Nests)
    divide(N, Loops, Dominators);
  for (const Counting &C : Alone)
    divide(C, Loops, Dominators);
}
