// Copies of functions for one call each. A copy is a clone with every piece once: template.cpp and clone.cpp make it.

#include "bridge.h"
#include "clone_parts.h"
#include "llvm-c/Core.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "template.h"

using namespace llvm;
using covsched::CloneMark;

/// The function that a call calls by name.
static Function *calleeOf(const CallBase &Call) {
  Value *Called = Call.getCalledOperand();
  if (auto *Alias = dyn_cast<GlobalAlias>(Called); Alias && !Alias->isInterposable())
    Called = Alias->getAliasee();
  auto *F = dyn_cast<Function>(Called);
  return F && F->getFunctionType() == Call.getFunctionType() ? F : nullptr;
}

/// Whether a function is another's clone.
static bool isCloneOf(const Function &F, const Function &Original) {
  MDNode *Mark = F.getMetadata(CloneMark);
  auto *Name = Mark && Mark->getNumOperands() ? dyn_cast<MDString>(Mark->getOperand(0)) : nullptr;
  return Name && Name->getString() == Original.getName();
}

/// Whether a function is a frame's clone, which has one place already.
static bool isOfFrame(const Function &F) {
  MDNode *Mark = F.getMetadata(CloneMark);
  auto *Thread = Mark && Mark->getNumOperands() > 1 ? mdconst::dyn_extract<ConstantInt>(Mark->getOperand(1)) : nullptr;
  return Thread && !Thread->isNegative();
}

/// The only place from which a function is called.
static const CallBase *onlyCallOf(const Function &F) {
  const auto *Call = F.hasOneUse() ? dyn_cast<CallBase>(*F.user_begin()) : nullptr;
  return Call && Call->getCalledOperand() == &F ? Call : nullptr;
}

/// Whether control comes to a clone through the function of which it would now call another copy: copies of these calls
/// would have no end.
static bool isRecursive(const Function &Caller, const Function &Callee) {
  constexpr unsigned DeepestChain = 256;
  const Function *F = &Caller;
  for (unsigned Depth = 0; Depth < DeepestChain; ++Depth) {
    if (F == &Callee || isCloneOf(*F, Callee))
      return true;
    const CallBase *Call = onlyCallOf(*F);
    if (!Call || Call->getFunction() == F)
      return false;
    F = Call->getFunction();
  }
  return true;
}

static bool readsMoreArguments(const Function &F) {
  return F.isVarArg() && any_of(instructions(F), [](const Instruction &I) { return isa<VAStartInst>(I); });
}

extern "C" {

LLVMValueRef cov_callee_to_copy(LLVMValueRef call) {
  auto *Call = dyn_cast<CallBase>(unwrap(call));
  Function *Callee = Call && !isa<CallBrInst>(Call) ? calleeOf(*Call) : nullptr;
  if (!Callee || !Callee->hasExactDefinition() || isOfFrame(*Callee) || readsMoreArguments(*Callee))
    return nullptr;
  // A copy that is called from here alone is its own already.
  if ((Callee->hasMetadata(CloneMark) && onlyCallOf(*Callee)) || isRecursive(*Call->getFunction(), *Callee))
    return nullptr;
  return wrap(Callee);
}

void cov_call_clone(LLVMValueRef call, LLVMValueRef clone) {
  covsched::callClone(*unwrap<CallBase>(call), *unwrap<Function>(clone));
}

size_t cov_size(LLVMValueRef function) {
  size_t Size = 0;
  for (const Instruction &I : instructions(*unwrap<Function>(function)))
    Size += !I.isDebugOrPseudoInst();
  return Size;
}

}  // extern "C"
