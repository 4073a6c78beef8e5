// Strips: an inner loop that only counts, and that is long, runs in strips of a few thousand iterations; a thread may pause
// between two of them (as Java's compilers do with their safepoints). So no iteration has a check, however small it is.
//
//   preheader -> header ... latch -> exit                 preheader -> start -> header ... latch -> end -> exit
//                  ^---------'                                          |         ^---------'         |
//                                                                       '---------------- again <-----'
//
// A small inner loop that does not count is unrolled instead, each copy with its own way out: one of them has the check.
//
// `latch` compares with the strip's last value instead of the loop's; `end` makes the loop's own comparison. How long the loop is
// is known before it begins: a copy of it, as it was and without checks, serves where it is no longer than a strip.

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
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
constexpr uint64_t FewestIterations = 64, MostIterations = 4096;
/// How many instructions there should be to a check.
constexpr unsigned UnrolledSize = 64, MostCopies = 8;

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
};

unsigned sizeOf(const Loop &L) {
  unsigned Size = 0;
  for (const BasicBlock *Block : L.blocks())
    for (const Instruction &I : *Block)
      Size += !I.isDebugOrPseudoInst();
  return Size;
}

/// An inner loop without calls that may run more than a few times.
bool isLongAndPlain(const Loop &L, ScalarEvolution &SE, unsigned Few) {
  if (!L.isInnermost() || !L.getLoopPreheader() || !L.getLoopLatch() || L.getHeader()->isEHPad())
    return false;
  for (const BasicBlock *Block : L.blocks())
    for (const Instruction &I : *Block)
      if (isa<CallBase>(I) && !isa<IntrinsicInst>(I))
        return false;
  unsigned Trips = SE.getSmallConstantMaxTripCount(&L);
  return !Trips || Trips > Few;
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
  C.Iterations = PowerOf2Floor(std::clamp(StripSize / sizeOf(L), FewestIterations, MostIterations));
  return C;
}

/// `From + By`, of integers or bytes.
Value *advance(IRBuilder<> &B, Value *From, int64_t By) {
  if (By == 0)
    return From;
  if (From->getType()->isPointerTy())
    return B.CreateGEP(B.getInt8Ty(), From, B.getInt64(By));
  return B.CreateAdd(From, ConstantInt::getSigned(From->getType(), By));
}

/// What is compared at the end of an iteration that begins with this counter.
Value *comparedAfter(IRBuilder<> &B, const Counting &C, Value *Counter) {
  return advance(B, Counter, C.Compared == C.Counter ? 0 : C.Step);
}

/// Whether more than a strip is left, given what is compared at the end of the first iteration.
Value *isLong(IRBuilder<> &B, const Counting &C, Value *First) {
  Value *From = First, *To = C.Last;
  if (C.Step < 0)
    std::swap(From, To);
  if (From->getType()->isPointerTy())
    From = B.CreatePtrToInt(From, B.getInt64Ty()), To = B.CreatePtrToInt(To, B.getInt64Ty());
  Value *Left = B.CreateSub(To, From);
  uint64_t Length = C.Iterations * std::abs(C.Step);
  Value *IsLong = B.CreateICmpUGT(Left, ConstantInt::get(Left->getType(), Length));
  if (C.GoesOn == CmpInst::ICMP_NE)
    return IsLong;
  return B.CreateLogicalAnd(B.CreateICmp(C.GoesOn, First, C.Last), IsLong);
}

void mark(BranchInst *Latch) { Latch->setMetadata(StripMark, MDNode::get(Latch->getContext(), {})); }

/// Makes strips of the loop.
void mine(const Counting &C, BasicBlock *Preheader) {
  BasicBlock *Header = C.Counter->getParent(), *Latch = C.Latch;
  Function &F = *Header->getParent();
  LLVMContext &Context = F.getContext();
  auto *Branch = cast<BranchInst>(Latch->getTerminator());
  BasicBlock *Exit = Branch->getSuccessor(Branch->getSuccessor(0) == Header ? 1 : 0);
  BasicBlock *Start = BasicBlock::Create(Context, "strip", &F, Header);
  BasicBlock *End = BasicBlock::Create(Context, "strip.end", &F, Exit);
  BasicBlock *Again = BasicBlock::Create(Context, "strip.again", &F, Exit);

  IRBuilder<> B(Start);
  Value *First = nullptr;
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
  First = comparedAfter(B, C, First);
  Value *Limit = B.CreateSelect(isLong(B, C, First), advance(B, First, int64_t(C.Iterations) * C.Step), C.Last);
  B.CreateBr(Header);
  Preheader->getTerminator()->replaceSuccessorWith(Header, Start);

  B.SetInsertPoint(Branch);
  BranchInst *New = B.CreateCondBr(B.CreateICmp(C.GoesOn, C.Compared, Limit), Header, End);
  New->setDebugLoc(Branch->getDebugLoc());
  New->setMetadata(LLVMContext::MD_loop, Branch->getMetadata(LLVMContext::MD_loop));
  mark(New);
  Branch->eraseFromParent();

  B.SetInsertPoint(End);
  B.CreateCondBr(B.CreateICmp(C.GoesOn, C.Compared, C.Last), Again, Exit);
  B.SetInsertPoint(Again);
  B.CreateBr(Start);
  Exit->replacePhiUsesWith(Latch, End);
  if (C.Compare->use_empty())
    C.Compare->eraseFromParent();
}

/// Two copies of the loop, and the choice between them.
void divide(const Counting &C, LoopInfo &Loops, DominatorTree &Dominators, ScalarEvolution &Evolution) {
  Loop &L = *C.L;
  formLCSSA(L, Dominators, &Loops, &Evolution);
  BasicBlock *Choice = L.getLoopPreheader();
  BasicBlock *Short = SplitBlock(Choice, Choice->getTerminator(), &Dominators, &Loops, nullptr, "short");
  SmallVector<BasicBlock *, 4> Exits;
  L.getUniqueExitBlocks(Exits);
  ValueToValueMapTy Map;
  SmallVector<BasicBlock *, 8> Copies;
  cloneLoopWithPreheader(Short, Choice, &L, Map, ".long", &Loops, &Dominators, Copies);
  remapInstructionsInBlocks(Copies, Map);
  auto copy = [&](Value *V) -> Value * {
    Value *Found = Map.lookup(V);
    return Found ? Found : V;
  };
  for (BasicBlock *Exit : Exits)
    for (PHINode &Phi : Exit->phis())
      for (unsigned I = 0, Count = Phi.getNumIncomingValues(); I < Count; ++I)
        if (L.contains(Phi.getIncomingBlock(I)))
          Phi.addIncoming(copy(Phi.getIncomingValue(I)), cast<BasicBlock>(copy(Phi.getIncomingBlock(I))));

  IRBuilder<> B(Choice->getTerminator());
  B.SetCurrentDebugLocation(DebugLoc());
  Value *First = comparedAfter(B, C, C.Counter->getIncomingValueForBlock(Short));
  auto *Long = cast<BasicBlock>(copy(Short));
  // Long loops are fewer, but that is where the time goes: with more to one, registers were spilled there (radix_sort).
  B.CreateCondBr(isLong(B, C, First), Long, Short, MDBuilder(B.getContext()).createBranchWeights(1, 4));
  Choice->getTerminator()->eraseFromParent();
  mark(cast<BranchInst>(C.Latch->getTerminator()));

  Counting InLong = C;
  InLong.Latch = cast<BasicBlock>(copy(C.Latch));
  InLong.Compare = cast<ICmpInst>(copy(C.Compare));
  InLong.Counter = cast<PHINode>(copy(C.Counter));
  InLong.Compared = copy(C.Compared);
  mine(InLong, Long);
  Dominators.recalculate(*Choice->getParent());
}

/// Makes a small loop so large that a check in it costs little.
void unroll(Loop &L, LoopInfo &Loops, DominatorTree &Dominators, ScalarEvolution &Evolution, AssumptionCache &Assumptions) {
  unsigned Copies = std::min<unsigned>(PowerOf2Floor(UnrolledSize / sizeOf(L)), MostCopies);
  if (Copies < 2)
    return;
  Function &F = *L.getHeader()->getParent();
  TargetTransformInfo Target(F.getParent()->getDataLayout());
  OptimizationRemarkEmitter Remarks(&F);
  formLCSSA(L, Dominators, &Loops, &Evolution);
  UnrollLoopOptions Options = {Copies, /*Force=*/true, /*Runtime=*/false, /*AllowExpensiveTripCount=*/false,
                               /*UnrollRemainder=*/false, /*ForgetAllSCEV=*/true};
  UnrollLoop(&L, Options, &Loops, &Evolution, &Dominators, &Assumptions, &Target, &Remarks, /*PreserveLCSSA=*/true);
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
  for (Loop *L : Loops)
    simplifyLoop(L, &Dominators, &Loops, &Evolution, &Assumptions, nullptr, false);
  // Loops that were unrolled are no candidates any more.
  SmallPtrSet<Loop *, 8> Unrolled;
  for (Loop *L : Loops.getLoopsInPreorder())
    if (!F.hasOptSize() && isLongAndPlain(*L, Evolution, Few) && !countingLoop(*L, Evolution)) {
      Unrolled.insert(L);
      unroll(*L, Loops, Dominators, Evolution, Assumptions);
    }
  // All are found before any is changed: what is known of loops is then no longer true.
  SmallVector<Counting, 8> Found;
  for (Loop *L : Loops.getLoopsInPreorder())
    if (!Unrolled.count(L) && isLongAndPlain(*L, Evolution, Few))
      if (std::optional<Counting> C = countingLoop(*L, Evolution))
        Found.push_back(*C);
  for (const Counting &C : Found)
    divide(C, Loops, Dominators, Evolution);
}
