// What ScalarEvolution knows of a function's loops, as words.

#include "code_loop.h"

#include "llvm/IR/Constants.h"

using namespace llvm;

namespace covsched {

/// ScalarEvolution shares parts of expressions, words do not: what is larger than this is of no use to anyone.
static constexpr unsigned MostParts = 64;

/// In the order of Rust's `Nary`.
static std::optional<uint64_t> naryOf(SCEVTypes Type) {
  switch (Type) {
  case scAddExpr: return 0;
  case scMulExpr: return 1;
  case scUMaxExpr: return 2;
  case scSMaxExpr: return 3;
  case scUMinExpr: return 4;
  case scSMinExpr: return 5;
  // That a later operand may be poison if an earlier one is 0 makes no difference: whatever its bits are, 0 is less.
  case scSequentialUMinExpr: return 4;
  default: return std::nullopt;
  }
}

LoopFacts::LoopFacts(CodeWriter &Out, Function &F, DominatorTree &Dominators, LoopInfo &Loops)
    : Out(Out), Dominators(Dominators), Loops(Loops), Library(Out.Library, &F), Assumptions(F),
      Evolution(F, Library, Assumptions, Dominators, Loops) {}

bool LoopFacts::leaf(const Value *V, const Loop &L) {
  if (!Out.isWord(V->getType()))
    return false;
  Out.put(CODE_SCEV_OPERAND);
  if (auto *C = dyn_cast<Constant>(V))
    return !isa<UndefValue>(C) && Out.constant(*Out.simplified(C));
  if (auto *I = dyn_cast<Instruction>(V))
    if (!Dominators.dominates(I, L.getHeader()))
      return false;
  Out.operand(V);
  return true;
}

/// A value that grows evenly in a loop around this one, in terms of a PHI of that loop: one that is it, or one whose
/// multiple differs from it by what the outer loop does not change.
bool LoopFacts::outer(const SCEVAddRecExpr &S, const Loop &L) {
  const Loop &Around = *S.getLoop();
  if (&Around == &L || !Around.contains(&L) || !S.isAffine())
    return false;
  BasicBlock *Header = Around.getHeader();
  for (PHINode &Phi : Header->phis())
    if (Evolution.isSCEVable(Phi.getType()) && Evolution.getSCEV(&Phi) == &S)
      return leaf(&Phi, L);

  auto *Step = dyn_cast<SCEVConstant>(S.getStepRecurrence(Evolution));
  if (!Step)
    return false;
  Type *Wide = Step->getType();
  unsigned Width = Wide->getIntegerBitWidth();
  for (PHINode &Phi : Header->phis()) {
    if (!Phi.getType()->isIntegerTy() || Phi.getType()->getIntegerBitWidth() > Width)
      continue;
    const SCEV *Own = Evolution.getSCEV(&Phi);
    bool IsNarrow = Own->getType() != Wide;
    for (CodeCast Extends : {CODE_ZEXT, CODE_SEXT}) {
      const SCEV *Same = !IsNarrow              ? Own
                         : Extends == CODE_ZEXT ? Evolution.getZeroExtendExpr(Own, Wide)
                                                : Evolution.getSignExtendExpr(Own, Wide);
      auto *Grows = dyn_cast<SCEVAddRecExpr>(Same);
      if (!Grows || Grows->getLoop() != &Around || !Grows->isAffine())
        continue;
      auto *By = dyn_cast<SCEVConstant>(Grows->getStepRecurrence(Evolution));
      if (!By || By->isZero())
        continue;
      APInt Times = Step->getAPInt().sdiv(By->getAPInt());
      if (Times * By->getAPInt() != Step->getAPInt())
        continue;
      const SCEV *Factor = Evolution.getConstant(Times);
      const SCEV *Rest = Evolution.getAddExpr(
          S.getStart(), Evolution.getNegativeSCEV(Evolution.getMulExpr(Factor, Grows->getStart())));
      if (!Rest->isZero()) {
        Out.put(CODE_NARY | *naryOf(scAddExpr) << 8 | uint64_t(2) << 16);
        if (!part(Rest, L))
          return false;
      }
      if (!Times.isOne()) {
        Out.put(CODE_NARY | *naryOf(scMulExpr) << 8 | uint64_t(2) << 16);
        if (!part(Factor, L))
          return false;
      }
      if (IsNarrow)
        Out.put(CODE_SCEV_CAST | Extends << 8 | uint64_t(Width) << 16);
      return leaf(&Phi, L);
    }
  }
  return false;
}

bool LoopFacts::part(const SCEV *S, const Loop &L) {
  if (PartsLeft == 0 || isa<SCEVCouldNotCompute>(S) || !Out.isWord(S->getType()))
    return false;
  --PartsLeft;
  if (auto *Constant = dyn_cast<SCEVConstant>(S))
    return leaf(Constant->getValue(), L);
  if (auto *Unknown = dyn_cast<SCEVUnknown>(S))
    return leaf(Unknown->getValue(), L);
  if (auto *Grows = dyn_cast<SCEVAddRecExpr>(S))
    return outer(*Grows, L);
  if (auto *Divides = dyn_cast<SCEVUDivExpr>(S)) {
    Out.put(CODE_UDIV);
    return part(Divides->getLHS(), L) && part(Divides->getRHS(), L);
  }
  if (auto *Converts = dyn_cast<SCEVCastExpr>(S)) {
    CodeCast Which = isa<SCEVTruncateExpr>(S)     ? CODE_TRUNC
                     : isa<SCEVZeroExtendExpr>(S) ? CODE_ZEXT
                     : isa<SCEVSignExtendExpr>(S) ? CODE_SEXT
                                                  : CODE_SAME;
    Out.put(CODE_SCEV_CAST | Which << 8 | uint64_t(Evolution.getTypeSizeInBits(S->getType())) << 16);
    return part(Converts->getOperand(0), L);
  }
  auto Which = naryOf(S->getSCEVType());
  if (!Which)
    return false;
  auto *Nary = cast<SCEVNAryExpr>(S);
  Out.put(CODE_NARY | *Which << 8 | uint64_t(Nary->getNumOperands()) << 16);
  return all_of(Nary->operands(), [&](const SCEV *Operand) { return part(Operand, L); });
}

bool LoopFacts::whole(const SCEV *S, const Loop &L) {
  size_t Before = Out.Words.size();
  PartsLeft = MostParts;
  if (part(S, L))
    return true;
  Out.Words.resize(Before);
  return false;
}

bool LoopFacts::bound(const Loop &L) {
  if (whole(Evolution.getSymbolicMaxBackedgeTakenCount(&L), L))
    return true;
  // All ones say nothing but how wide the counter is.
  auto *Most = dyn_cast<SCEVConstant>(Evolution.getConstantMaxBackedgeTakenCount(&L));
  return Most && !Most->getAPInt().isAllOnes() && whole(Most, L);
}

/// Whether a PHI of a loop's header grows by additions that all say that they do not overflow as signed numbers, in one
/// direction. ScalarEvolution keeps this only of a single one.
static bool growsWithoutOverflow(const PHINode &Phi, const Loop &L) {
  const BasicBlock *Latch = L.getLoopLatch();
  if (!Latch)
    return false;
  const Value *V = Phi.getIncomingValueForBlock(Latch);
  bool IsUp = false, IsDown = false;
  while (V != &Phi) {
    auto *Add = dyn_cast<BinaryOperator>(V);
    if (!Add || Add->getOpcode() != Instruction::Add || !Add->hasNoSignedWrap())
      return false;
    auto *By = dyn_cast<ConstantInt>(Add->getOperand(1));
    if (!By)
      return false;
    (By->isNegative() ? IsDown : IsUp) = true;
    V = Add->getOperand(0);
  }
  return !(IsUp && IsDown);
}

bool LoopFacts::recurrence(const PHINode &Phi, const Loop &L) {
  if (!Out.isWord(Phi.getType()))
    return false;
  auto *Grows = dyn_cast<SCEVAddRecExpr>(Evolution.getSCEV(const_cast<PHINode *>(&Phi)));
  if (!Grows || Grows->getLoop() != &L || !Grows->isAffine())
    return false;
  size_t Before = Out.Words.size();
  Out.put(Out.Values.lookup(&Phi));
  Out.put(flag(Grows->hasNoSignedWrap() || growsWithoutOverflow(Phi, L), CODE_NO_SIGNED_WRAP) |
          flag(Grows->hasNoUnsignedWrap(), CODE_NO_UNSIGNED_WRAP));
  if (whole(Grows->getStart(), L) && whole(Grows->getStepRecurrence(Evolution), L))
    return true;
  Out.Words.resize(Before);
  return false;
}

bool LoopFacts::checked(ICmpInst::Predicate Stays, Value &Value, llvm::Value &Other, BasicBlock &Exiting,
                        const Loop &L) {
  auto *Grows = dyn_cast<SCEVAddRecExpr>(Evolution.getSCEV(&Value));
  if (!Grows || Grows->getLoop() != &L || !Grows->isAffine())
    return false;
  auto *Step = dyn_cast<SCEVConstant>(Grows->getStepRecurrence(Evolution));
  if (!Step || Step->isZero())
    return false;
  size_t Before = Out.Words.size();
  Out.put(Out.Blocks.lookup(&Exiting));
  Out.put(compareOf(Stays));
  Out.put(uint64_t(Step->getAPInt().getSExtValue()));
  if (whole(Grows->getStart(), L)) {
    Out.operand(&Other);
    return true;
  }
  Out.Words.resize(Before);
  return false;
}

/// A block that each iteration comes through, and that leaves the loop if a comparison with something that grows evenly
/// says so. What it is compared with may be anything.
bool LoopFacts::check(BasicBlock &Exiting, const Loop &L) {
  auto *Branch = dyn_cast<BranchInst>(Exiting.getTerminator());
  if (!Branch || !Branch->isConditional() || Loops.getLoopFor(&Exiting) != &L)
    return false;
  auto *Test = dyn_cast<ICmpInst>(Branch->getCondition());
  if (!Test || !Out.isWord(Test->getOperand(0)->getType()))
    return false;
  SmallVector<BasicBlock *, 2> Latches;
  L.getLoopLatches(Latches);
  if (!all_of(Latches, [&](BasicBlock *Latch) { return Dominators.dominates(&Exiting, Latch); }))
    return false;
  bool StaysIfTrue = L.contains(Branch->getSuccessor(0));
  if (StaysIfTrue == L.contains(Branch->getSuccessor(1)))
    return false;
  ICmpInst::Predicate Stays = StaysIfTrue ? Test->getPredicate() : Test->getInversePredicate();
  Value &A = *Test->getOperand(0), &B = *Test->getOperand(1);
  return checked(Stays, A, B, Exiting, L) || checked(ICmpInst::getSwappedPredicate(Stays), B, A, Exiting, L);
}

void LoopFacts::write(const Loop &L) {
  if (!bound(L))
    Out.put(CODE_NO_SCEV);
  size_t Count = Out.Words.size();
  Out.put(0);
  for (const PHINode &Phi : L.getHeader()->phis()) {
    bool Written = recurrence(Phi, L);
    Out.Words[Count] += Written;
  }
  Count = Out.Words.size();
  Out.put(0);
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  for (BasicBlock *Block : Exiting) {
    bool Written = check(*Block, L);
    Out.Words[Count] += Written;
  }
}

}  // namespace covsched
