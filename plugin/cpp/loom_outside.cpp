// Entry from outside: by a thread that is released, or not known yet, or as a signal handler.

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

void covsched::loom::dropPromises(Function &F) {
  for (Attribute::AttrKind Kind : {Attribute::Memory, Attribute::NoSync, Attribute::NoFree, Attribute::WillReturn,
                                   Attribute::NoRecurse, Attribute::Speculatable, Attribute::NoCallback})
    F.removeFnAttr(Kind);
}

CallInst::TailCallKind covsched::loom::inPlaceOf(const Function &F) {
  bool Copies = any_of(F.args(), [](const Argument &A) { return A.hasPassPointeeByValueCopyAttr(); });
  return Copies ? CallInst::TCK_NoTail : CallInst::TCK_MustTail;
}

/// A function that calls `F` with its own arguments, between two calls of the runtime.
static void fillAround(CovLoom &Unit, Function &Outer, Function &F, Function *Enter) {
  LLVMContext &Context = F.getContext();
  Writer Write(Unit, 0);
  IRBuilder<> B(BasicBlock::Create(Context, "", &Outer));
  AllocaInst *Record = B.CreateAlloca(ArrayType::get(B.getInt64Ty(), Unit.Abi.outer_size / 8));
  Record->setAlignment(Align(8));
  Write.call(B, Enter, {Record});
  SmallVector<Value *, 8> Args;
  for (Argument &A : Outer.args())
    Args.push_back(&A);

  // Forced unwinding passes frames that never throw; without tables it passes none.
  bool MayUnwind = !F.doesNotThrow() || F.hasUWTable();
  F.removeFnAttr(Attribute::NoUnwind);
  CallBase *Call;
  if (MayUnwind) {
    BasicBlock *Back = BasicBlock::Create(Context, "", &Outer), *Pad = BasicBlock::Create(Context, "", &Outer);
    Call = B.CreateInvoke(F.getFunctionType(), &F, Back, Pad, Args);
    Constant *Personality = F.hasPersonalityFn() ? F.getPersonalityFn() : nullptr;
    if (!Personality) {
      auto *Type = FunctionType::get(B.getInt32Ty(), true);
      Personality = cast<Constant>(Unit.M.getOrInsertFunction("__gcc_personality_v0", Type).getCallee());
    }
    Outer.setPersonalityFn(Personality);
    B.SetInsertPoint(Pad);
    LandingPadInst *Landed = B.CreateLandingPad(StructType::get(B.getPtrTy(), B.getInt32Ty()), 0);
    Landed->setCleanup(true);
    Write.call(B, Unit.Leave, {Record});
    B.CreateResume(Landed);
    B.SetInsertPoint(Back);
  } else {
    Call = B.CreateCall(F.getFunctionType(), &F, Args);
  }
  Call->setCallingConv(F.getCallingConv());
  // What the function's own attributes say about parameters is part of how they are passed.
  SmallVector<AttributeSet, 8> Params;
  for (unsigned I = 0; I < F.arg_size(); ++I)
    Params.push_back(F.getAttributes().getParamAttrs(I));
  Call->setAttributes(AttributeList::get(Context, AttributeSet(), F.getAttributes().getRetAttrs(), Params));
  Call->addFnAttr(Attribute::NoInline);
  Write.call(B, Unit.Leave, {Record});
  if (F.getReturnType()->isVoidTy())
    B.CreateRetVoid();
  else
    B.CreateRet(Call);
}

/// A function of the same type, with what matters of the other's attributes.
static Function *makeLike(Function &F, const Twine &Name) {
  Function *New = Function::Create(F.getFunctionType(), GlobalValue::InternalLinkage, F.getAddressSpace(), Name,
                                   F.getParent());
  New->copyAttributesFrom(&F);
  New->setLinkage(GlobalValue::InternalLinkage);
  New->setVisibility(GlobalValue::DefaultVisibility);
  New->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  New->setPrefixData(nullptr);
  New->setPrologueData(nullptr);
  New->setPersonalityFn(nullptr);
  dropPromises(*New);
  for (Attribute::AttrKind Kind : {Attribute::AlwaysInline, Attribute::InlineHint, Attribute::NoUnwind})
    New->removeFnAttr(Kind);
  New->addFnAttr(Attribute::NoInline);
  New->addFnAttr(DoneAttribute);
  New->addFnAttr("covsched-instrumented");
  return New;
}

Function *covsched::loom::makeOutside(CovLoom &Unit, Function &F) {
  Function *Outside = makeLike(F, F.getName() + ".outside");
  Outside->addFnAttr(Attribute::Cold);
  // Dropped by the linker together with its only caller.
  Outside->setComdat(F.getComdat());
  fillAround(Unit, *Outside, F, Unit.Enter);
  return Outside;
}

void covsched::loom::wrapHandler(CovLoom &Unit, Function &F) {
  Function *Wrapper = makeLike(F, "");
  std::string Symbol = F.getName().str();
  Wrapper->takeName(&F);
  F.setName(Symbol + ".body");
  F.addFnAttr(SymbolAttribute, Symbol);
  Wrapper->setLinkage(F.getLinkage());
  Wrapper->setVisibility(F.getVisibility());
  Wrapper->setDSOLocal(F.isDSOLocal());
  Wrapper->setUnnamedAddr(F.getUnnamedAddr());
  Wrapper->setComdat(F.getComdat());
  // Its own unit's calls need the body also if the linker takes another unit's wrapper. But addresses of labels, in a table that
  // the linker takes from another unit, would be those of that unit's body.
  bool HasLabels = any_of(F, [](const BasicBlock &Block) { return Block.hasAddressTaken(); });
  bool IsLeftToLinker = HasLabels && F.hasComdat();
  if (!IsLeftToLinker)
    F.setComdat(nullptr);
  SmallVector<MDNode *, 2> Types;
  F.getMetadata(LLVMContext::MD_type, Types);
  for (MDNode *Type : Types)
    Wrapper->addMetadata(LLVMContext::MD_type, *Type);
  Wrapper->setMetadata(LLVMContext::MD_kcfi_type, F.getMetadata(LLVMContext::MD_kcfi_type));

  // Its own unit calls the body as any other function; everybody else comes through the wrapper. What may be replaced
  // at link time is called by its name.
  bool IsReplaceable = F.isInterposable() || IsLeftToLinker, HasEntry = !F.hasLocalLinkage() && canHaveEntry(Unit, *Wrapper);
  F.replaceUsesWithIf(Wrapper, [&](Use &U) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    bool IsCall = Call && Call->isCallee(&U) && Call->getFunctionType() == F.getFunctionType();
    return !isa<BlockAddress>(U.getUser()) && (!IsCall || IsReplaceable);
  });
  F.setLinkage(GlobalValue::InternalLinkage);
  F.setVisibility(GlobalValue::DefaultVisibility);
  F.setDSOLocal(true);
  fillAround(Unit, *Wrapper, F, Unit.HandlerEnter);
  Unit.Handlers.push_back({&F, Wrapper, HasEntry});
}
