// Parts of making a clone that need nothing of it.

#include "clone_parts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"

using namespace llvm;

/// Takes away PHIs that have one value (Braun and others, Simple and Efficient Construction of SSA Form, 2013), and
/// those that nothing reads.
void covsched::cleanPhis(ArrayRef<PHINode *> Phis) {
  DenseMap<Value *, Value *> Same;
  auto resolve = [&](Value *V) {
    Value *Last = V;
    for (auto Found = Same.find(Last); Found != Same.end(); Found = Same.find(Last))
      Last = Found->second;
    // The next one finds it at once.
    for (auto Found = Same.find(V); Found != Same.end() && Found->second != Last; Found = Same.find(V)) {
      V = Found->second;
      Found->second = Last;
    }
    return Last;
  };
  // In the order of control one round finds nearly all; what further ones would find is only not as tidy.
  constexpr unsigned Rounds = 4;
  bool Changed = true;
  for (unsigned Round = 0; Changed && Round < Rounds; ++Round) {
    Changed = false;
    for (PHINode *Phi : Phis) {
      if (Same.count(Phi))
        continue;
      Value *Only = nullptr;
      bool Several = false;
      for (Value *Incoming : Phi->incoming_values()) {
        Value *Own = resolve(Incoming);
        if (Own == Phi || Own == Only)
          continue;
        Several = Only != nullptr;
        if (Several)
          break;
        Only = Own;
      }
      if (Several || !Only)
        continue;
      Same[Phi] = Only;
      Changed = true;
    }
  }
  for (PHINode *Phi : Phis)
    if (Same.count(Phi))
      Phi->replaceAllUsesWith(resolve(Phi));
  SmallPtrSet<PHINode *, 32> Read;
  SmallVector<PHINode *, 32> Work;
  for (PHINode *Phi : Phis)
    if (any_of(Phi->users(), [](User *Who) { return !isa<PHINode>(Who); }) && Read.insert(Phi).second)
      Work.push_back(Phi);
  while (!Work.empty())
    for (Value *Incoming : Work.pop_back_val()->incoming_values())
      if (auto *Phi = dyn_cast<PHINode>(Incoming); Phi && Read.insert(Phi).second)
        Work.push_back(Phi);
  for (PHINode *Phi : Phis)
    if (!Read.contains(Phi))
      Phi->dropAllReferences();
  for (PHINode *Phi : Phis)
    if (!Read.contains(Phi)) {
      if (Phi->isUsedByMetadata())
        Phi->replaceAllUsesWith(PoisonValue::get(Phi->getType()));
      Phi->eraseFromParent();
    }
}

void covsched::callClone(CallBase &Call, Function &Clone) {
  Call.setMetadata(LLVMContext::MD_callees, nullptr);
  Call.setMetadata(LLVMContext::MD_prof, nullptr);
  // What was known of the original need not hold of one that may come to a trap.
  for (Attribute::AttrKind Kind : {Attribute::Memory, Attribute::WillReturn, Attribute::NoSync, Attribute::AllocKind,
                                   Attribute::AllocSize})
    Call.removeFnAttr(Kind);
  Call.setCalledOperand(&Clone);
}

CallBase *covsched::withArgument(CallBase &Call, Function &Callee, Value &Last) {
  FunctionType *Own = Call.getFunctionType();
  unsigned At = std::min(Callee.getFunctionType()->getNumParams() - 1, Call.arg_size());
  SmallVector<Type *, 8> Types(Own->params());
  SmallVector<Value *, 8> Args(Call.args());
  Types.insert(Types.begin() + std::min<size_t>(At, Types.size()), Last.getType());
  Args.insert(Args.begin() + At, &Last);
  AttributeList Old = Call.getAttributes();
  SmallVector<AttributeSet, 8> ArgAttributes;
  for (unsigned I = 0; I < Call.arg_size(); ++I)
    ArgAttributes.push_back(Old.getParamAttrs(I));
  ArgAttributes.insert(ArgAttributes.begin() + At, AttributeSet());
  SmallVector<OperandBundleDef, 1> Bundles;
  Call.getOperandBundlesAsDefs(Bundles);
  auto *Type = FunctionType::get(Own->getReturnType(), Types, Own->isVarArg());
  CallBase *New;
  if (auto *Invoke = dyn_cast<InvokeInst>(&Call)) {
    New = InvokeInst::Create(Type, &Callee, Invoke->getNormalDest(), Invoke->getUnwindDest(), Args, Bundles, "",
                             &Call);
  } else {
    auto *Plain = CallInst::Create(Type, &Callee, Args, Bundles, "", &Call);
    // It may point into the caller's frame.
    Plain->setTailCallKind(CallInst::TCK_None);
    New = Plain;
  }
  New->setCallingConv(Call.getCallingConv());
  New->setAttributes(AttributeList::get(Call.getContext(), Old.getFnAttrs(), Old.getRetAttrs(), ArgAttributes));
  New->copyMetadata(Call);
  New->setDebugLoc(Call.getDebugLoc());
  Call.eraseFromParent();
  return New;
}
