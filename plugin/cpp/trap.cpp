// Blocks from which control does not come back.

#include "trap.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;

Constant *covsched::textConstant(Module &M, const Twine &Name, StringRef Text) {
  SmallString<64> Buffer;
  StringRef Known = Name.toStringRef(Buffer);
  Constant *Bytes = ConstantDataArray::getString(M.getContext(), Text);
  GlobalVariable *Found = M.getNamedGlobal(Known);
  if (Found && Found->isConstant() && Found->hasInitializer() && Found->getInitializer() == Bytes)
    return Found;
  auto *G = new GlobalVariable(M, Bytes->getType(), true, GlobalValue::PrivateLinkage, Bytes, Known);
  G->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  G->setAlignment(Align(1));
  return G;
}

void covsched::callTrap(IRBuilder<> &Builder, Function &Hook, ArrayRef<Value *> Arguments) {
  CallInst *Call = Builder.CreateCall(Hook.getFunctionType(), &Hook, Arguments);
  Call->setAttributes(Hook.getAttributes());
  Call->setDoesNotReturn();
  Call->setDoesNotThrow();
  Call->addFnAttr(Attribute::Cold);
  Call->addFnAttr(Attribute::NoMerge);
}

/// Takes away what a trap makes untrue; whether there was anything.
template <typename HasAttributes> static bool stripAttributes(HasAttributes &Of) {
  bool Changed = false;
  for (Attribute::AttrKind Kind : {Attribute::Memory, Attribute::WillReturn, Attribute::NoSync, Attribute::NoFree,
                                   Attribute::Speculatable})
    if (Of.getAttributes().hasFnAttr(Kind)) {
      Of.removeFnAttr(Kind);
      Changed = true;
    }
  return Changed;
}

void covsched::allowTraps(Function &F) {
  SmallVector<Function *, 8> Work = {&F};
  SmallPtrSet<Function *, 8> Seen = {&F};
  while (!Work.empty()) {
    Function *Next = Work.pop_back_val();
    bool Changed = stripAttributes(*Next);
    for (User *Who : Next->users()) {
      auto *Call = dyn_cast<CallBase>(Who);
      if (!Call || Call->getCalledOperand() != Next)
        continue;
      Function *Caller = Call->getFunction();
      if ((stripAttributes(*Call) || Changed) && Seen.insert(Caller).second)
        Work.push_back(Caller);
    }
  }
}
