// Constants as words: operands, and what variables hold at first.

#include "code.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalIFunc.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace covsched {

/// Initializers that are larger are not copied.
static constexpr uint64_t MostBytes = 1 << 20;

/// The integer that a constant is, pointers included.
static std::optional<APInt> integerOf(const Constant *C) {
  auto *Expression = dyn_cast<ConstantExpr>(C);
  bool IsPointer = Expression && Expression->getOpcode() == Instruction::IntToPtr;
  auto *Int = dyn_cast<ConstantInt>(IsPointer ? Expression->getOperand(0) : C);
  if (!Int)
    return std::nullopt;
  return IsPointer ? Int->getValue().zextOrTrunc(64) : Int->getValue();
}

std::optional<CodeAddress> CodeWriter::addressOf(const Constant *C) const {
  int64_t Offset = 0;
  for (;;) {
    if (isa<Function>(C) || isa<GlobalVariable>(C))
      return CodeAddress{cast<GlobalObject>(C), Offset};
    if (auto *Alias = dyn_cast<GlobalAlias>(C)) {
      if (Alias->isInterposable())
        return std::nullopt;
      C = Alias->getAliasee();
      continue;
    }
    if (auto *Local = dyn_cast<DSOLocalEquivalent>(C)) {
      C = Local->getGlobalValue();
      continue;
    }
    if (auto *Plain = dyn_cast<NoCFIValue>(C)) {
      C = Plain->getGlobalValue();
      continue;
    }
    auto *Expression = dyn_cast<ConstantExpr>(C);
    if (!Expression)
      return std::nullopt;
    Constant *First = Expression->getOperand(0);
    switch (Expression->getOpcode()) {
    case Instruction::GetElementPtr: {
      if (Expression->getType()->isVectorTy())
        return std::nullopt;
      APInt Bytes(DL.getIndexTypeSizeInBits(Expression->getType()), 0);
      if (Bytes.getBitWidth() != 64 || !cast<GEPOperator>(Expression)->accumulateConstantOffset(DL, Bytes))
        return std::nullopt;
      Offset = static_cast<int64_t>(static_cast<uint64_t>(Offset) + Bytes.getZExtValue());
      break;
    }
    case Instruction::Add: {
      auto *Bytes = dyn_cast<ConstantInt>(Expression->getOperand(1));
      if (!Bytes || Bytes->getBitWidth() != 64)
        return std::nullopt;
      Offset = static_cast<int64_t>(static_cast<uint64_t>(Offset) + Bytes->getZExtValue());
      break;
    }
    case Instruction::BitCast:
    case Instruction::AddrSpaceCast:
      break;
    case Instruction::PtrToInt:
      if (!isPointer(First->getType()) || !Expression->getType()->isIntegerTy(64))
        return std::nullopt;
      break;
    case Instruction::IntToPtr:
      if (!isPointer(Expression->getType()) || !First->getType()->isIntegerTy(64))
        return std::nullopt;
      break;
    default:
      return std::nullopt;
    }
    C = First;
  }
}

const Constant *CodeWriter::simplified(const Constant *C) const {
  if (!isa<ConstantExpr>(C) || addressOf(C) || integerOf(C))
    return C;
  return ConstantFoldConstant(C, DL);
}

void CodeWriter::address(CodeAddress A) {
  if (auto *F = dyn_cast<Function>(A.Object)) {
    put(CODE_FUNCTION | uint64_t(Functions.lookup(F)) << 8);
    return;
  }
  put(CODE_GLOBAL | uint64_t(Variables.lookup(cast<GlobalVariable>(A.Object))) << 8);
  put(static_cast<uint64_t>(A.Offset));
}

bool CodeWriter::constant(const Constant &C) {
  if (auto Int = integerOf(&C)) {
    if (Int->getBitWidth() > 64)
      return false;
    put(CODE_INT | uint64_t(Int->getBitWidth()) << 8);
    put(Int->getZExtValue());
    return true;
  }
  if (isa<UndefValue>(C)) {
    put(CODE_UNDEF);
    return true;
  }
  if (!isWord(C.getType()))
    return false;
  if (isa<ConstantPointerNull>(C)) {
    put(CODE_NULL);
    return true;
  }
  auto Address = addressOf(&C);
  if (!Address || (isa<Function>(Address->Object) && Address->Offset != 0))
    return false;
  address(*Address);
  return true;
}

uint32_t CodeWriter::opaque(const Value *V) {
  auto [Found, IsNew] = Opaques.try_emplace(V, Opaques.size());
  if (IsNew)
    NewOpaques.push_back(V);
  return Found->second;
}

void CodeWriter::operand(const Value *V) {
  if (isa<Argument>(V) || isa<Instruction>(V)) {
    put(CODE_VALUE | uint64_t(Values.lookup(V)) << 8);
    return;
  }
  if (auto *C = dyn_cast<Constant>(V))
    if (constant(*simplified(C)))
      return;
  put(CODE_OPAQUE | uint64_t(opaque(V)) << 8);
}

void CodeWriter::operands(ArrayRef<const Value *> All) {
  put(All.size());
  for (const Value *V : All)
    operand(V);
}

void CodeWriter::opaques() {
  put(NewOpaques.size());
  for (const Value *Opaque : NewOpaques) {
    SmallVector<CodeAddress, 4> Mentioned;
    DenseSet<std::pair<const GlobalObject *, int64_t>> Known;
    SmallPtrSet<const Value *, 8> Seen;
    SmallVector<const Value *, 8> Work = {Opaque};
    while (!Work.empty()) {
      auto *C = dyn_cast<Constant>(Work.pop_back_val());
      if (!C || isa<BlockAddress>(C) || !Seen.insert(C).second)
        continue;
      if (auto Address = addressOf(C)) {
        // A function's address is mentioned as such, even if the constant points into it.
        if (isa<Function>(Address->Object))
          Address->Offset = 0;
        if (Known.insert({Address->Object, Address->Offset}).second)
          Mentioned.push_back(*Address);
      } else if (auto *Alias = dyn_cast<GlobalAlias>(C)) {
        Work.push_back(Alias->getAliasee());
      } else if (!isa<GlobalValue>(C)) {
        for (unsigned I = C->getNumOperands(); I > 0; --I)
          Work.push_back(C->getOperand(I - 1));
      }
    }
    put(Mentioned.size());
    for (CodeAddress A : Mentioned)
      address(A);
  }
  NewOpaques.clear();
}

namespace {

/// What is in a variable at first.
struct Initializer {
  const DataLayout &DL;
  function_ref<const Constant *(const Constant *)> Simplified;
  std::vector<uint64_t> Bytes;
  uint64_t Size;
  bool Known;
  SmallVector<std::pair<uint64_t, const Constant *>, 8> Pointers;
  SmallVector<std::pair<uint64_t, uint64_t>, 4> Undefined;

  uint8_t *at(uint64_t Offset) { return reinterpret_cast<uint8_t *>(Bytes.data()) + Offset; }

  void integer(const APInt &Value, uint64_t Offset) {
    uint64_t Count = divideCeil(Value.getBitWidth(), 8);
    if (Known && Offset + Count <= Size)
      memcpy(at(Offset), Value.getRawData(), Count);
  }

  void fill(const Constant *C, uint64_t Offset) {
    if (isa<UndefValue>(C)) {
      Undefined.push_back({Offset, Offset + DL.getTypeStoreSize(C->getType())});
    } else if (C->isNullValue()) {
      return;
    } else if (auto *Number = dyn_cast<ConstantFP>(C)) {
      integer(Number->getValueAPF().bitcastToAPInt(), Offset);
    } else if (auto Int = integerOf(C)) {
      integer(*Int, Offset);
    } else if (auto *Data = dyn_cast<ConstantDataSequential>(C)) {
      StringRef Raw = Data->getRawDataValues();
      if (Known && Offset + Raw.size() <= Size)
        memcpy(at(Offset), Raw.data(), Raw.size());
    } else if (auto *Struct = dyn_cast<ConstantStruct>(C)) {
      const StructLayout *Layout = DL.getStructLayout(Struct->getType());
      for (unsigned I = 0; I < Struct->getNumOperands(); ++I)
        fill(Struct->getOperand(I), Offset + Layout->getElementOffset(I));
    } else if (isa<ConstantArray>(C) || isa<ConstantVector>(C)) {
      Type *Element = C->getOperand(0)->getType();
      uint64_t Step = DL.getTypeAllocSize(Element);
      // Elements of vectors are next to each other, bit by bit.
      if (isa<ConstantVector>(C) && DL.getTypeSizeInBits(Element) != 8 * Step)
        Known = false;
      for (unsigned I = 0; I < C->getNumOperands(); ++I)
        fill(cast<Constant>(C->getOperand(I)), Offset + I * Step);
    } else if (const Constant *Simple = Simplified(C); Simple != C) {
      fill(Simple, Offset);
    } else {
      Pointers.push_back({Offset, C});
      if (DL.getTypeStoreSize(C->getType()) != 8)
        Known = false;
    }
  }
};

}  // namespace

void CodeWriter::variable(const GlobalVariable &G) {
  text(GlobalValue::dropLLVMManglingEscape(G.getName()));
  uint64_t Size = G.getValueType()->isSized() ? DL.getTypeAllocSize(G.getValueType()).getKnownMinValue() : 0;
  put(Size);
  uint64_t Flags = flag(G.isConstant(), CODE_CONSTANT) | flag(G.hasLocalLinkage(), CODE_VARIABLE_INTERNAL) |
                   flag(G.isThreadLocal(), CODE_THREAD_LOCAL);
  auto Simplified = [this](const Constant *C) { return simplified(C); };
  Initializer Initial = {DL, Simplified, {}, Size, false, {}, {}};
  if (G.hasInitializer()) {
    Initial.Known = G.hasDefinitiveInitializer() && G.hasUniqueInitializer() && DL.isLittleEndian();
    bool IsNull = G.getInitializer()->isNullValue();
    if (!IsNull && Size > MostBytes)
      Initial.Known = false;
    if (!IsNull && Initial.Known)
      Initial.Bytes.resize(divideCeil(Size, 8));
    Initial.fill(G.getInitializer(), 0);
  }
  bool IsZero = all_of(Initial.Bytes, [](uint64_t Word) { return Word == 0; });
  if (Initial.Known)
    Flags |= IsZero ? CODE_ZERO : CODE_BYTES;
  put(Flags);
  if (Flags & CODE_BYTES) {
    put(Initial.Bytes.size());
    Words.insert(Words.end(), Initial.Bytes.begin(), Initial.Bytes.end());
  }
  put(Initial.Pointers.size());
  for (auto [Offset, Pointer] : Initial.Pointers) {
    put(Offset);
    operand(Pointer);
  }
  put(Initial.Undefined.size());
  for (auto [Offset, End] : Initial.Undefined) {
    put(Offset);
    put(End);
  }
}

}  // namespace covsched
