// Functions that take the place of others, and what the optimizer is told of the result.

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

extern "C" void cov_forward(LLVMValueRef function, LLVMValueRef to) {
  Function &F = *unwrap<Function>(function);
  Function &To = *unwrap<Function>(to);
  // Linkage, attributes and debug info are those of the function, deleteBody would make it external.
  GlobalValue::LinkageTypes Linkage = F.getLinkage();
  DISubprogram *Program = F.getSubprogram();
  Comdat *Group = F.getComdat();
  F.deleteBody();
  F.setLinkage(Linkage);
  F.setComdat(Group);
  F.setSubprogram(Program);
  // What was known of the old body may not hold for a call of another function.
  for (Attribute::AttrKind Kind : {Attribute::OptimizeNone, Attribute::Memory, Attribute::WillReturn, Attribute::NoSync,
                                   Attribute::NoFree, Attribute::Speculatable})
    F.removeFnAttr(Kind);
  IRBuilder<> Builder(BasicBlock::Create(F.getContext(), "", &F));
  if (Program)
    Builder.SetCurrentDebugLocation(DILocation::get(F.getContext(), Program->getLine(), 0, Program));
  SmallVector<Value *, 8> Arguments;
  for (Argument &A : F.args())
    Arguments.push_back(&A);
  CallInst *Call = Builder.CreateCall(&To, Arguments);
  Call->setCallingConv(To.getCallingConv());
  if (F.getReturnType()->isVoidTy())
    Builder.CreateRetVoid();
  else
    Builder.CreateRet(Call);
}

extern "C" void cov_set_constant_argument(LLVMValueRef call, size_t argument, uint64_t value) {
  auto *Call = unwrap<CallBase>(call);
  Call->setArgOperand(argument, ConstantInt::get(Call->getArgOperand(argument)->getType(), value));
}

extern "C" bool cov_drop_if_unused(LLVMValueRef function) {
  Function &F = *unwrap<Function>(function);
  if (!F.hasLocalLinkage())
    return false;
  F.removeDeadConstantUsers();
  // A function that calls itself is not used by that.
  for (User *Who : F.users()) {
    auto *I = dyn_cast<Instruction>(Who);
    if (!I || I->getFunction() != &F)
      return false;
  }
  F.deleteBody();
  F.eraseFromParent();
  return true;
}

/// Whether the constant, or a part of it, is the function.
static bool holds(const Constant &C, const Function &F) {
  if (C.stripPointerCasts() == &F)
    return true;
  if (isa<GlobalValue>(C))
    return false;
  for (const Use &Part : C.operands())
    if (auto *Inner = dyn_cast<Constant>(Part); Inner && holds(*Inner, F))
      return true;
  return false;
}

extern "C" LLVMValueRef cov_vtable_with(LLVMValueRef function) {
  const Function &F = *unwrap<Function>(function);
  for (GlobalVariable &Variable : unwrap<Function>(function)->getParent()->globals())
    if (Variable.hasInitializer() && Variable.getName().startswith("_ZTV") &&
        holds(*Variable.getInitializer(), F))
      return wrap(&Variable);
  return nullptr;
}

extern "C" size_t cov_keep_stored(LLVMModuleRef module, size_t stores) {
  Module &M = *unwrap(module);
  SmallVector<GlobalValue *, 8> Kept;
  for (GlobalVariable &Variable : M.globals()) {
    if (!Variable.hasLocalLinkage())
      continue;
    size_t Found = 0;
    for (const User *Who : Variable.users())
      if (auto *Store = dyn_cast<StoreInst>(Who); Store && Store->getPointerOperand() == &Variable)
        ++Found;
    if (Found > stores)
      Kept.push_back(&Variable);
  }
  if (!Kept.empty())
    appendToCompilerUsed(M, Kept);
  return Kept.size();
}
