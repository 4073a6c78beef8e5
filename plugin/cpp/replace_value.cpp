// Constants in the place of registers, with a check that the register is what it is replaced by.
//
//   %v = ...                  %v = ...
//   use %v             =>     %frozen = freeze %v
//                             %differs = icmp ne %frozen, C
//                             br %differs, label %not_covered, label %on
//                        on:  use C
//
// The freeze is there since the program need not use the register wherever it is made: a branch that depends on an
// undefined value is undefined behaviour, and the check would be gone. Instructions of a check carry a mark, so that
// the register is not replaced in them later.

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/EHPersonalities.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "shared.h"
#include "template.h"
#include "trap.h"

using namespace llvm;
using covsched::str;

namespace {

/// On what looks at the register itself, to check it.
constexpr const char *CheckMark = "covsched.check";

/// Null if the value cannot be this.
Constant *constantOf(const CovConstant &Told, Type &Type) {
  auto *Pointer = dyn_cast<PointerType>(&Type);
  switch (Told.kind) {
  case COV_CONSTANT_INT: {
    auto *Integer = dyn_cast<IntegerType>(&Type);
    if (!Integer || Integer->getBitWidth() > 64 || !isUIntN(Integer->getBitWidth(), Told.number))
      return nullptr;
    return ConstantInt::get(Integer, Told.number);
  }
  case COV_CONSTANT_NULL:
    return Pointer ? ConstantPointerNull::get(Pointer) : nullptr;
  case COV_CONSTANT_ADDRESS: {
    auto *Variable = dyn_cast_or_null<GlobalVariable>(unwrap(Told.global));
    // A variable that each thread has its own of has no one address.
    if (!Variable || Variable->isThreadLocal() || Variable->getType() != &Type)
      return nullptr;
    auto Offset = int64_t(Told.number);
    if (Offset == 0)
      return Variable;
    const DataLayout &Layout = Variable->getParent()->getDataLayout();
    auto *Size = Variable->getValueType();
    bool Inside = Size->isSized() && Offset >= 0 && uint64_t(Offset) <= Layout.getTypeAllocSize(Size).getFixedValue();
    auto *Byte = Type::getInt8Ty(Type.getContext());
    auto *Index = ConstantInt::get(Type::getInt64Ty(Type.getContext()), Told.number);
    return Inside ? ConstantExpr::getInBoundsGetElementPtr(Byte, Variable, Index)
                  : ConstantExpr::getGetElementPtr(Byte, Variable, Index);
  }
  case COV_CONSTANT_FUNCTION: {
    auto *F = dyn_cast_or_null<Function>(unwrap(Told.global));
    return F && !F->isIntrinsic() && F->getType() == &Type ? F : nullptr;
  }
  }
  return nullptr;
}

Function *functionOf(Value &V) {
  if (auto *A = dyn_cast<Argument>(&V))
    return A->getParent();
  auto *I = dyn_cast<Instruction>(&V);
  return I && I->getParent() ? I->getFunction() : nullptr;
}

bool isChecking(const Use &U) { return cast<Instruction>(U.getUser())->hasMetadata(CheckMark); }

/// Whether a block calls this.
bool calls(const BasicBlock &Block, const Function &Hook) {
  return any_of(Block, [&](const Instruction &I) {
    auto *Call = dyn_cast<CallInst>(&I);
    return Call && Call->getCalledOperand() == &Hook;
  });
}

/// Whether there is such a check already.
bool isChecked(const Value &V, const Constant &With, const Function &Hook) {
  for (const User *Who : V.users()) {
    auto *I = cast<Instruction>(Who);
    if (!I->hasMetadata(CheckMark))
      continue;
    if (isa<FreezeInst>(I) && isChecked(*I, With, Hook))
      return true;
    if (!isa<ICmpInst>(I) || I->getOperand(1) != &With)
      continue;
    for (const User *Next : I->users())
      if (auto *Branch = dyn_cast<BranchInst>(Next); Branch && calls(*Branch->getSuccessor(0), Hook))
        return true;
  }
  return false;
}

/// The entry block is about to be split: its allocas stay in it. False if it must not be.
bool prepareEntry(Function &F) {
  for (const Instruction &I : F.getEntryBlock())
    if (auto *Intrinsic = dyn_cast<IntrinsicInst>(&I); Intrinsic && Intrinsic->getIntrinsicID() == Intrinsic::localescape)
      return false;
  cov_gather_allocas(wrap(&F));
  return true;
}

/// The first place behind the definition at which code can be put; null if there is none.
Instruction *pointBehind(Value &V) {
  Function &F = *functionOf(V);
  if (F.hasPersonalityFn() && isScopedEHPersonality(classifyEHPersonality(F.getPersonalityFn())))
    return nullptr;
  if (isa<Argument>(V))
    return prepareEntry(F) ? unwrap<Instruction>(cov_entry_point(wrap(&F))) : nullptr;
  auto &I = cast<Instruction>(V);
  if (auto *Invoke = dyn_cast<InvokeInst>(&I)) {
    BasicBlock *Next = Invoke->getNormalDest();
    if (!Next->getSinglePredecessor())
      Next = SplitEdge(Invoke->getParent(), Next);
    return &*Next->getFirstInsertionPt();
  }
  if (I.isTerminator() || (I.getParent()->isEntryBlock() && !prepareEntry(F)))
    return nullptr;
  if (!isa<PHINode>(I))
    return I.getNextNode();
  BasicBlock::iterator At = I.getParent()->getFirstInsertionPt();
  return At == I.getParent()->end() ? nullptr : &*At;
}

Instruction *mark(Value *Made) {
  auto *I = cast<Instruction>(Made);
  I->setMetadata(CheckMark, MDNode::get(I->getContext(), {}));
  return I;
}

/// What no line of the source says.
DebugLoc artificial(const Function &F) {
  DISubprogram *Program = F.getSubprogram();
  return Program ? DebugLoc(DILocation::get(F.getContext(), 0, 0, Program)) : DebugLoc();
}

/// The number of the thread whose clone it is; -1 if it is none.
int32_t threadOf(const Function &F) {
  MDNode *Mark = F.getMetadata(covsched::CloneMark);
  auto *Number = Mark && Mark->getNumOperands() > 1 ? dyn_cast<ConstantAsMetadata>(Mark->getOperand(1)) : nullptr;
  auto *Thread = Number ? dyn_cast<ConstantInt>(Number->getValue()) : nullptr;
  return Thread ? int32_t(Thread->getSExtValue()) : -1;
}

/// As an operand of a hook that takes any value as bits.
Value *bitsOf(IRBuilder<> &Builder, Value &V, Type &Word) {
  return V.getType()->isPointerTy() ? Builder.CreatePtrToInt(&V, &Word) : Builder.CreateZExtOrTrunc(&V, &Word);
}

/// Ends the process at a place if the value is another.
void check(Value &V, Constant &With, const CovKept &Keep, Instruction &At) {
  Function &F = *At.getFunction();
  Function &Hook = *unwrap<Function>(Keep.hook);
  IRBuilder<> Builder(&At);
  auto *I = dyn_cast<Instruction>(&V);
  Builder.SetCurrentDebugLocation(I && I->getDebugLoc() ? I->getDebugLoc() : artificial(F));
  Value *Seen = &V;
  if (!isGuaranteedNotToBeUndefOrPoison(&V))
    Seen = mark(Builder.CreateFreeze(&V));
  Value *Differs = mark(Builder.CreateICmpNE(Seen, &With));
  auto *Weights = MDBuilder(F.getContext()).createBranchWeights(1, 1 << 20);
  Instruction *End = SplitBlockAndInsertIfThen(Differs, &At, true, Weights);
  BasicBlock *Trap = End->getParent();
  Trap->moveAfter(&F.back());
  Builder.SetInsertPoint(End);
  Builder.SetCurrentDebugLocation(artificial(F));
  End->setDebugLoc(Builder.getCurrentDebugLocation());
  StringRef Words = str(Keep.text);
  Constant *Text = covsched::textConstant(*F.getParent(), "covsched.value." + Twine::utohexstr(xxHash64(Words)), Words);
  if (Keep.keep == COV_KEEP_CHECK) {
    Trap->setName("not_covered");
    int32_t Thread = Keep.thread == COV_OWN_THREAD ? threadOf(F) : Keep.thread;
    covsched::callTrap(Builder, Hook, {Builder.getInt64(0), Text, Builder.getInt32(Thread)});
    return;
  }
  Trap->setName("claim_failed");
  Type &Word = *Hook.getFunctionType()->getParamType(0);
  Value *Bits = bitsOf(Builder, *Seen, Word);
  if (Bits != Seen)
    mark(Bits);
  covsched::callTrap(Builder, Hook, {Bits, bitsOf(Builder, With, Word), Text});
  if (Bits == Seen)
    // The hook's call is what looks at it.
    mark(End->getPrevNode());
}

}  // namespace

extern "C" bool cov_replace_uses(LLVMValueRef value, const CovConstant *with, const CovKept *keep) {
  Value &V = *unwrap(value);
  Function *F = functionOf(V);
  if (!F || F->isDeclaration() || F->hasFnAttribute(Attribute::Naked) || F->isPresplitCoroutine() || V.isSwiftError())
    return false;
  // The result of a call that is bound to its return must be what is returned.
  auto *Call = dyn_cast<CallInst>(&V);
  if (isa<AllocaInst>(V) || (Call && Call->isMustTailCall()))
    return false;
  Constant *With = constantOf(*with, *V.getType());
  SmallVector<Use *, 16> Others;
  for (Use &U : V.uses())
    if (!isChecking(U))
      Others.push_back(&U);
  if (!With || Others.empty())
    return false;

  // Addresses of variables are described by declarations, and stay what they are.
  SmallVector<DbgVariableIntrinsic *, 4> Described;
  findDbgUsers(Described, &V);
  if (keep->keep != COV_KEEP_NOTHING && !isChecked(V, *With, *unwrap<Function>(keep->hook))) {
    Instruction *At = pointBehind(V);
    if (!At)
      return false;
    check(V, *With, *keep, *At);
    covsched::allowTraps(*F);
  }
  for (Use *U : Others)
    U->set(With);
  for (DbgVariableIntrinsic *User : Described)
    if (!isa<DbgDeclareInst>(User))
      User->replaceVariableLocationOp(&V, With);
  return true;
}

extern "C" LLVMValueRef cov_variable(LLVMModuleRef module, CovText name) {
  return wrap(unwrap(module)->getNamedGlobal(str(name)));
}
