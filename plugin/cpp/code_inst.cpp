// Instructions as words.

#include "code.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/ModRef.h"

using namespace llvm;

namespace covsched {

/// Metadata of calls that are items of a clone's frame.
static constexpr const char *ItemMark = "covsched.item";

/// In the order of Rust's `Binary`.
static uint64_t binaryOf(Instruction::BinaryOps Op) {
  switch (Op) {
  case Instruction::Add: return 0;
  case Instruction::Sub: return 1;
  case Instruction::Mul: return 2;
  case Instruction::UDiv: return 3;
  case Instruction::SDiv: return 4;
  case Instruction::URem: return 5;
  case Instruction::SRem: return 6;
  case Instruction::Shl: return 7;
  case Instruction::LShr: return 8;
  case Instruction::AShr: return 9;
  case Instruction::And: return 10;
  case Instruction::Or: return 11;
  case Instruction::Xor: return 12;
  default: llvm_unreachable("no operation of integers");
  }
}

uint64_t compareOf(CmpInst::Predicate Op) {
  switch (Op) {
  case ICmpInst::ICMP_EQ: return 0;
  case ICmpInst::ICMP_NE: return 1;
  case ICmpInst::ICMP_ULT: return 2;
  case ICmpInst::ICMP_ULE: return 3;
  case ICmpInst::ICMP_UGT: return 4;
  case ICmpInst::ICMP_UGE: return 5;
  case ICmpInst::ICMP_SLT: return 6;
  case ICmpInst::ICMP_SLE: return 7;
  case ICmpInst::ICMP_SGT: return 8;
  case ICmpInst::ICMP_SGE: return 9;
  default: llvm_unreachable("no comparison of integers");
  }
}

/// Intrinsics that give their first argument, for the sake of an optimizer.
static bool passesOn(Intrinsic::ID Id) {
  switch (Id) {
  case Intrinsic::threadlocal_address:
  case Intrinsic::launder_invariant_group:
  case Intrinsic::strip_invariant_group:
  case Intrinsic::ssa_copy:
  case Intrinsic::expect:
  case Intrinsic::expect_with_probability:
  case Intrinsic::annotation:
  case Intrinsic::ptr_annotation:
    return true;
  default:
    return false;
  }
}

uint64_t CodeWriter::typeOf(const Type *T) const {
  if (T->isVoidTy())
    return 0;
  if (T->isIntegerTy())
    return 3 + uint64_t(T->getIntegerBitWidth());
  return isPointer(T) ? 2 : 1;
}

void CodeWriter::head(const Instruction &I, CodeOp Op, uint64_t Which, uint64_t Flags) {
  put(reinterpret_cast<uintptr_t>(&I));
  put(Op | Which << 8 | Flags << 16 | typeOf(I.getType()) << 32);
}

/// Operations on words, and control flow.
bool CodeWriter::plain(const Instruction &I) {
  if (auto *Op = dyn_cast<BinaryOperator>(&I)) {
    if (!isWord(I.getType()))
      return false;
    auto *Overflows = dyn_cast<OverflowingBinaryOperator>(Op);
    uint64_t Flags =
        Overflows ? flag(Overflows->hasNoSignedWrap(), 1) | flag(Overflows->hasNoUnsignedWrap(), 2) : 0;
    head(I, CODE_BINARY, binaryOf(Op->getOpcode()), Flags);
  } else if (auto *Compare = dyn_cast<ICmpInst>(&I)) {
    if (!isWord(Compare->getOperand(0)->getType()))
      return false;
    head(I, CODE_COMPARE, compareOf(Compare->getPredicate()));
  } else if (isa<SelectInst>(I) || isa<FreezeInst>(I)) {
    if (!isWord(I.getType()) || !isWord(I.getOperand(0)->getType()))
      return false;
    head(I, isa<SelectInst>(I) ? CODE_SELECT : CODE_FREEZE);
  } else if (auto *Phi = dyn_cast<PHINode>(&I)) {
    if (!isWord(I.getType()))
      return false;
    head(I, CODE_PHI);
    put(Phi->getNumIncomingValues());
    for (unsigned N = 0; N < Phi->getNumIncomingValues(); ++N) {
      put(Blocks.lookup(Phi->getIncomingBlock(N)));
      operand(Phi->getIncomingValue(N));
    }
    return true;
  } else if (isa<ReturnInst>(I)) {
    head(I, CODE_RETURN, 0, I.getNumOperands());
  } else if (auto *Branch = dyn_cast<BranchInst>(&I)) {
    head(I, CODE_BRANCH, 0, Branch->isConditional());
    if (Branch->isConditional())
      operand(Branch->getCondition());
    return true;
  } else if (auto *Switch = dyn_cast<SwitchInst>(&I)) {
    if (!isWord(Switch->getCondition()->getType()))
      return false;
    head(I, CODE_SWITCH);
    operand(Switch->getCondition());
    put(Switch->getNumCases());
    for (auto Case : Switch->cases())
      put(Case.getCaseValue()->getZExtValue());
    return true;
  } else if (isa<UnreachableInst>(I)) {
    head(I, CODE_UNREACHABLE);
    return true;
  } else {
    return false;
  }
  for (const Use &U : I.operands())
    operand(U.get());
  return true;
}

bool CodeWriter::conversion(const CastInst &I) {
  Type *From = I.getSrcTy(), *To = I.getDestTy();
  if (!isWord(From) || !isWord(To))
    return false;
  CodeCast Which = CODE_SAME;
  switch (I.getOpcode()) {
  case Instruction::Trunc:
    Which = CODE_TRUNC;
    break;
  case Instruction::ZExt:
    Which = CODE_ZEXT;
    break;
  case Instruction::SExt:
    Which = CODE_SEXT;
    break;
  case Instruction::PtrToInt:
    Which = To->getIntegerBitWidth() < 64 ? CODE_TRUNC : CODE_SAME;
    break;
  case Instruction::IntToPtr:
    Which = From->getIntegerBitWidth() < 64 ? CODE_ZEXT : CODE_SAME;
    break;
  case Instruction::BitCast:
    break;
  default:
    return false;
  }
  head(I, CODE_CAST, Which);
  operand(I.getOperand(0));
  return true;
}

bool CodeWriter::gep(const GetElementPtrInst &I) {
  if (!isPointer(I.getType()) || !isPointer(I.getPointerOperandType()) || DL.getIndexSizeInBits(0) != 64)
    return false;
  MapVector<Value *, APInt> Variable;
  APInt Constant(64, 0);
  if (!cast<GEPOperator>(I).collectOffset(DL, 64, Variable, Constant))
    return false;
  Variable.remove_if([](const auto &Term) { return Term.second.isZero(); });
  for (const auto &Term : Variable)
    if (!isWord(Term.first->getType()))
      return false;
  head(I, CODE_GEP, 0, I.isInBounds());
  operand(I.getPointerOperand());
  put(Constant.getZExtValue());
  put(Variable.size());
  for (const auto &[Index, Scale] : Variable) {
    operand(Index);
    put(Scale.getZExtValue());
  }
  return true;
}

/// What touches memory at one known place. Values of any type but wide integers are fine.
bool CodeWriter::memory(const Instruction &I) {
  if (auto *Alloca = dyn_cast<AllocaInst>(&I)) {
    if (!isPointer(I.getType()))
      return false;
    auto Size = Alloca->getAllocationSize(DL);
    bool Known = Size && !Size->isScalable();
    head(I, CODE_ALLOCA, 0, Known);
    put(Known ? Size->getFixedValue() : 0);
    return true;
  }
  const Value *Address = nullptr;
  Type *Accessed = nullptr;
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    Address = Load->getPointerOperand();
    Accessed = Load->getType();
  } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
    Address = Store->getPointerOperand();
    Accessed = Store->getValueOperand()->getType();
  } else if (auto *Rmw = dyn_cast<AtomicRMWInst>(&I)) {
    Address = Rmw->getPointerOperand();
    Accessed = Rmw->getType();
  } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
    Address = Exchange->getPointerOperand();
    Accessed = Exchange->getNewValOperand()->getType();
  } else {
    return false;
  }
  TypeSize Size = DL.getTypeStoreSize(Accessed);
  if (!isPointer(Address->getType()) || Size.isScalable() || (Accessed->isIntegerTy() && !isWord(Accessed)))
    return false;
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    head(I, CODE_LOAD, 0, !Load->isSimple());
    operand(Address);
  } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
    head(I, CODE_STORE, 0, !Store->isSimple());
    operand(Address);
    operand(Store->getValueOperand());
  } else {
    head(I, CODE_EXCHANGE);
    operand(Address);
  }
  put(Size.getFixedValue());
  if (auto *Rmw = dyn_cast<AtomicRMWInst>(&I))
    operands({Rmw->getValOperand()});
  else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
    operands({Exchange->getCompareOperand(), Exchange->getNewValOperand()});
  return true;
}

void CodeWriter::call(const CallBase &I) {
  if (passesOn(I.getIntrinsicID()) && isWord(I.getType())) {
    head(I, CODE_CAST, CODE_SAME);
    operand(I.getArgOperand(0));
    return;
  }
  MemoryEffects Seen = I.getMemoryEffects().getWithoutLoc(MemoryEffects::InaccessibleMem);
  uint64_t Flags = flag(I.doesNotReturn(), CODE_NEVER_RETURNS) | flag(Seen.onlyReadsMemory(), CODE_ONLY_READS) |
                   flag(Seen.doesNotAccessMemory(), CODE_TOUCHES_NOTHING);
  uint64_t Item = 0;
  MDNode *Mark = I.getMetadata(ItemMark);
  if (Mark && Mark->getNumOperands() == 1)
    if (auto *Number = mdconst::dyn_extract<ConstantInt>(Mark->getOperand(0))) {
      Flags |= CODE_HAS_ITEM;
      Item = Number->getLimitedValue();
    }
  uint64_t ByValue = 0;
  for (unsigned N = 0; N < I.arg_size() && N < 64; ++N)
    if (I.isByValArgument(N))
      ByValue |= uint64_t(1) << N;

  const Value *Called = I.getCalledOperand();
  auto *Constant = dyn_cast<llvm::Constant>(Called);
  auto Address = Constant ? addressOf(Constant) : std::nullopt;
  auto *Callee = Address && Address->Offset == 0 ? dyn_cast<Function>(Address->Object) : nullptr;
  if (I.isInlineAsm()) {
    head(I, CODE_CALL, CODE_TO_ASM, Flags);
  } else if (Callee) {
    head(I, CODE_CALL, CODE_TO_FUNCTION, Flags);
    put(Functions.lookup(Callee));
  } else {
    head(I, CODE_CALL, CODE_TO_POINTER, Flags);
    operand(Called);
  }
  put(ByValue);
  put(Item);
  put(I.arg_size());
  for (const Use &U : I.args())
    operand(U.get());
}

void CodeWriter::other(const Instruction &I) {
  // A fence orders accesses and is none itself.
  bool Touches = !isa<FenceInst>(I);
  head(I, CODE_OTHER, 0, flag(Touches && I.mayReadFromMemory(), 1) | flag(Touches && I.mayWriteToMemory(), 2));
  SmallVector<const Value *, 8> All;
  for (const Use &U : I.operands())
    if (!isa<BasicBlock>(U.get()))
      All.push_back(U.get());
  operands(All);
}

void CodeWriter::instruction(const Instruction &I) {
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    call(*Call);
    return;
  }
  auto *Cast = dyn_cast<CastInst>(&I);
  auto *Gep = dyn_cast<GetElementPtrInst>(&I);
  bool Done = Cast ? conversion(*Cast) : Gep ? gep(*Gep) : plain(I) || memory(I);
  if (!Done)
    other(I);
}

}  // namespace covsched
