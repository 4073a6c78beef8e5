// Strips: an inner loop that only counts runs in strips of a few thousand iterations, and a thread may pause between two
// of them (as Java's compilers do with their safepoints). So no iteration has a check, however small it is.
//
//   preheader -> header ... latch -> exit                 preheader -> start -> header ... latch -> end -> exit
//                  ^---------'                                          |         ^---------'         |
//                                                                       '---------------- again <-----'
//
// `latch` compares with the strip's last value instead of the loop's; `end` makes the loop's own comparison.

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

namespace {

/// About how many instructions a strip has: some microseconds.
constexpr uint64_t StripSize = 1 << 15;
constexpr uint64_t FewestIterations = 64, MostIterations = 4096;

/// A loop that goes on while a counter does not reach a value.
struct Counting {
  Loop *L;
  ICmpInst *Compare;
  PHINode *Counter;
  Value *Compared, *Last;        // the counter, or what it is in the next iteration; what it is compared with
  CmpInst::Predicate GoesOn;     // Compared GoesOn Last
  int64_t Step;
  uint64_t Iterations;           // of a strip
};

std::optional<Counting> countingLoop(Loop &L, ScalarEvolution &SE, unsigned Few) {
  BasicBlock *Latch = L.getLoopLatch(), *Header = L.getHeader();
  auto *Branch = Latch ? dyn_cast<BranchInst>(Latch->getTerminator()) : nullptr;
  if (!L.isInnermost() || !L.getLoopPreheader() || !Branch || !Branch->isConditional() || Header->isEHPad())
    return std::nullopt;
  bool GoesOnIfTrue = Branch->getSuccessor(0) == Header;
  BasicBlock *Exit = Branch->getSuccessor(GoesOnIfTrue ? 1 : 0);
  auto *Compare = dyn_cast<ICmpInst>(Branch->getCondition());
  if (L.contains(Exit) || !Compare || Exit->isEHPad())
    return std::nullopt;
  uint64_t Size = 0;
  for (BasicBlock *Block : L.blocks())
    for (Instruction &I : *Block) {
      if (isa<CallBase>(I) && !isa<IntrinsicInst>(I))
        return std::nullopt;
      Size += !I.isDebugOrPseudoInst();
    }
  if (unsigned Trips = SE.getSmallConstantMaxTripCount(&L); Trips && Trips <= Few)
    return std::nullopt;

  Counting C = {&L, Compare};
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
  C.Iterations = PowerOf2Floor(std::clamp(StripSize / std::max<uint64_t>(Size, 1), FewestIterations, MostIterations));
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

void mine(const Counting &C, DominatorTree &Dominators) {
  Function &F = *C.L->getHeader()->getParent();
  LLVMContext &Context = F.getContext();
  BasicBlock *Preheader = C.L->getLoopPreheader(), *Header = C.L->getHeader(), *Latch = C.L->getLoopLatch();
  auto *Branch = cast<BranchInst>(Latch->getTerminator());
  bool GoesOnIfTrue = Branch->getSuccessor(0) == Header;
  BasicBlock *Exit = Branch->getSuccessor(GoesOnIfTrue ? 1 : 0);
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
  // What is compared at the end of the strip's first iteration, and how far that is from the loop's end.
  First = advance(B, First, C.Compared == C.Counter ? 0 : C.Step);
  int64_t Length = int64_t(C.Iterations) * C.Step;
  Value *From = First, *To = C.Last;
  if (C.Step < 0)
    std::swap(From, To);
  Type *Word = B.getInt64Ty();
  if (From->getType()->isPointerTy())
    From = B.CreatePtrToInt(From, Word), To = B.CreatePtrToInt(To, Word);
  Value *Left = B.CreateSub(To, From);
  Value *IsLong = B.CreateICmpUGT(Left, ConstantInt::get(Left->getType(), std::abs(Length)));
  if (C.GoesOn != CmpInst::ICMP_NE)
    IsLong = B.CreateLogicalAnd(B.CreateICmp(C.GoesOn, First, C.Last), IsLong);
  Value *Limit = B.CreateSelect(IsLong, advance(B, First, Length), C.Last);
  B.CreateBr(Header);
  Preheader->getTerminator()->replaceSuccessorWith(Header, Start);

  B.SetInsertPoint(Branch);
  Value *InStrip = B.CreateICmp(C.GoesOn, C.Compared, Limit);
  BranchInst *New = B.CreateCondBr(InStrip, Header, End);
  New->setDebugLoc(Branch->getDebugLoc());
  New->setMetadata(LLVMContext::MD_loop, Branch->getMetadata(LLVMContext::MD_loop));
  New->setMetadata(StripMark, MDNode::get(Context, {}));
  Branch->eraseFromParent();

  B.SetInsertPoint(End);
  B.CreateCondBr(B.CreateICmp(C.GoesOn, C.Compared, C.Last), Again, Exit);
  B.SetInsertPoint(Again);
  B.CreateBr(Start);
  Exit->replacePhiUsesWith(Latch, End);
  if (C.Compare->use_empty())
    C.Compare->eraseFromParent();
  using Update = DominatorTree::UpdateType;
  Dominators.applyUpdates({Update(DominatorTree::Insert, Preheader, Start), Update(DominatorTree::Insert, Start, Header),
                           Update(DominatorTree::Delete, Preheader, Header), Update(DominatorTree::Insert, Latch, End),
                           Update(DominatorTree::Insert, End, Exit), Update(DominatorTree::Insert, End, Again),
                           Update(DominatorTree::Insert, Again, Start), Update(DominatorTree::Delete, Latch, Exit)});
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
  // All are found before any is changed: what is known of loops is then no longer true.
  SmallVector<Counting, 8> Found;
  for (Loop *L : Loops.getLoopsInPreorder())
    if (std::optional<Counting> C = countingLoop(*L, Evolution, Few))
      Found.push_back(*C);
  for (const Counting &C : Found)
    mine(C, Dominators);
}
