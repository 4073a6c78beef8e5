// Which way code goes that loom's pass has made.

#include "tell_path.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

const GlobalVariable *covsched::globalBehind(const Value *Pointer, const DataLayout &Layout, uint64_t &Offset) {
  APInt Sum(Layout.getIndexTypeSizeInBits(Pointer->getType()), 0);
  const Value *Base = Pointer->stripAndAccumulateConstantOffsets(Layout, Sum, /*AllowNonInbounds=*/true);
  Offset = Sum.getZExtValue();
  if (auto *Own = dyn_cast<IntrinsicInst>(Base); Own && Own->getIntrinsicID() == Intrinsic::threadlocal_address)
    Base = Own->getArgOperand(0);
  return dyn_cast<GlobalVariable>(Base);
}

/// The value on the path, or null if it depends on the program.
static Constant *valueIf(const Value *V, uint8_t Byte, const DataLayout &Layout, unsigned Depth = 0) {
  if (auto *Known = dyn_cast<Constant>(V))
    return const_cast<Constant *>(Known);
  auto *I = dyn_cast<Instruction>(V);
  if (!I || Depth > 6)
    return nullptr;
  if (auto *Load = dyn_cast<LoadInst>(I)) {
    uint64_t Offset;
    const GlobalVariable *Global = covsched::globalBehind(Load->getPointerOperand(), Layout, Offset);
    if (!Global)
      return nullptr;
    Type *Kind = Load->getType();
    StringRef Name = Global->getName();
    if (Name.startswith(covsched::LoomFunctions) && Kind->isIntegerTy())
      return ConstantInt::get(Kind, Byte);
    if (Name == covsched::LoomPending && Kind->isIntegerTy())
      return ConstantInt::get(Kind, 0);
    if (Name == covsched::LoomAt) {
      Constant *Running = ConstantInt::get(Type::getInt64Ty(Kind->getContext()), 1);
      return Kind->isPointerTy() ? ConstantExpr::getIntToPtr(Running, Kind)
             : Kind->isIntegerTy() ? ConstantInt::get(Kind, 1) : nullptr;
    }
    return nullptr;
  }
  if (auto *Expect = dyn_cast<IntrinsicInst>(I)) {
    bool Passes = Expect->getIntrinsicID() == Intrinsic::expect ||
                  Expect->getIntrinsicID() == Intrinsic::expect_with_probability;
    return Passes ? valueIf(Expect->getArgOperand(0), Byte, Layout, Depth + 1) : nullptr;
  }
  if (isa<FreezeInst>(I))
    return valueIf(I->getOperand(0), Byte, Layout, Depth + 1);
  if (!isa<BinaryOperator>(I) && !isa<CmpInst>(I) && !isa<CastInst>(I))
    return nullptr;
  SmallVector<Constant *, 2> Operands;
  for (const Value *Operand : I->operands()) {
    Constant *Known = valueIf(Operand, Byte, Layout, Depth + 1);
    if (!Known)
      return nullptr;
    Operands.push_back(Known);
  }
  if (auto *Compare = dyn_cast<CmpInst>(I))
    return ConstantFoldCompareInstOperands(Compare->getPredicate(), Operands[0], Operands[1], Layout);
  return ConstantFoldInstOperands(const_cast<Instruction *>(I), Operands, Layout);
}

SmallVector<BasicBlock *, 2> covsched::successorsIf(const BasicBlock &Block, uint8_t Byte) {
  auto *Branch = dyn_cast<BranchInst>(Block.getTerminator());
  if (Branch && Branch->isConditional()) {
    const DataLayout &Layout = Block.getModule()->getDataLayout();
    if (auto *Known = dyn_cast_or_null<ConstantInt>(valueIf(Branch->getCondition(), Byte, Layout)))
      return {Branch->getSuccessor(Known->isZero() ? 1 : 0)};
  }
  SmallVector<BasicBlock *, 2> All;
  for (const BasicBlock *Next : successors(&Block))
    All.push_back(const_cast<BasicBlock *>(Next));
  return All;
}

std::vector<BasicBlock *> covsched::blocksIf(Function &F, uint8_t Byte) {
  // Depth first with an explicit stack; what is finished last comes first.
  std::vector<BasicBlock *> Finished;
  SmallPtrSet<BasicBlock *, 32> Seen;
  struct Frame {
    BasicBlock *Block;
    SmallVector<BasicBlock *, 2> Next;
    size_t Done;
  };
  std::vector<Frame> Stack;
  auto Enter = [&](BasicBlock *Block) {
    if (Seen.insert(Block).second)
      Stack.push_back({Block, successorsIf(*Block, Byte), 0});
  };
  Enter(&F.getEntryBlock());
  while (!Stack.empty()) {
    Frame &Top = Stack.back();
    if (Top.Done == Top.Next.size()) {
      Finished.push_back(Top.Block);
      Stack.pop_back();
      continue;
    }
    // `Enter` may move the stack's frames.
    BasicBlock *Next = Top.Next[Top.Done++];
    Enter(Next);
  }
  return {Finished.rbegin(), Finished.rend()};
}
