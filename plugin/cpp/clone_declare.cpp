// Clones before they have a body, so that they can call each other, and the vtables that have them.

#include "llvm-c/Core.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "shared.h"
#include "template.h"

using namespace llvm;
using covsched::CloneMark;
using covsched::str;

static FunctionType *typeWithFlag(const Function &F) {
  FunctionType *Own = F.getFunctionType();
  SmallVector<Type *, 8> Types(Own->params());
  Types.push_back(PointerType::get(F.getContext(), F.getParent()->getDataLayout().getAllocaAddrSpace()));
  return FunctionType::get(Own->getReturnType(), Types, Own->isVarArg());
}

extern "C" {

LLVMValueRef cov_clone_declare(CovTemplate *copy, CovText name, int32_t thread, int32_t frame, bool flag) {
  Function &F = copy->Original;
  LLVMContext &Context = F.getContext();
  FunctionType *Type = flag ? typeWithFlag(F) : F.getFunctionType();
  Function *Clone =
      Function::Create(Type, GlobalValue::ExternalLinkage, F.getAddressSpace(), str(name), F.getParent());
  Clone->copyAttributesFrom(&F);
  Clone->setLinkage(GlobalValue::InternalLinkage);
  Clone->setDSOLocal(true);
  Clone->setComdat(nullptr);
  if (F.hasOptNone()) {
    Clone->removeFnAttr(Attribute::OptimizeNone);
    Clone->removeFnAttr(Attribute::NoInline);
  }
  // It may come to a trap, which ends the process.
  Clone->removeFnAttr(Attribute::Memory);
  Clone->removeFnAttr(Attribute::WillReturn);
  Clone->removeFnAttr(Attribute::NoSync);
  Clone->removeFnAttr(Attribute::NoFree);
  Clone->removeFnAttr(Attribute::Speculatable);
  // An allocation that nobody uses may be taken out, but not what the schedule has in it.
  Clone->removeFnAttr(Attribute::AllocKind);
  Clone->removeFnAttr(Attribute::AllocSize);
  Clone->removeFnAttr("alloc-family");
  SmallVector<std::pair<unsigned, MDNode *>, 4> Attached;
  F.getAllMetadata(Attached);
  for (auto [Kind, Node] : Attached)
    if (Kind != LLVMContext::MD_dbg && Kind != LLVMContext::MD_prof)
      Clone->addMetadata(Kind, *Node);
  auto number = [&](int32_t Value) {
    return ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(Context), Value, true));
  };
  Clone->setMetadata(CloneMark, MDNode::get(Context, {MDString::get(Context, F.getName()), number(thread),
                                                      number(frame)}));
  return wrap(Clone);
}

LLVMValueRef cov_clone_vtable(LLVMValueRef vtable, CovText name, LLVMValueRef method, LLVMValueRef with) {
  auto *Old = dyn_cast<GlobalVariable>(unwrap(vtable));
  if (!Old || !Old->hasInitializer())
    return nullptr;
  bool Found = false;
  auto replace = [&](auto &Self, Constant *C) -> Constant * {
    if (C == unwrap(method)) {
      Found = true;
      return unwrap<Constant>(with);
    }
    if (!isa<ConstantStruct>(C) && !isa<ConstantArray>(C))
      return C;
    SmallVector<Constant *, 8> Parts;
    for (Use &Part : C->operands())
      Parts.push_back(Self(Self, cast<Constant>(Part.get())));
    if (auto *Struct = dyn_cast<ConstantStruct>(C))
      return ConstantStruct::get(Struct->getType(), Parts);
    return ConstantArray::get(cast<ConstantArray>(C)->getType(), Parts);
  };
  Constant *Table = replace(replace, Old->getInitializer());
  if (!Found)
    return nullptr;
  auto *New = new GlobalVariable(*Old->getParent(), Table->getType(), true, GlobalValue::InternalLinkage, Table,
                                 str(name), nullptr, Old->getThreadLocalMode(), Old->getAddressSpace());
  New->setAlignment(Old->getAlign());
  New->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  New->copyMetadata(Old, 0);
  return wrap(New);
}

}  // extern "C"
