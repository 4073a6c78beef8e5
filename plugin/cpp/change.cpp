// Changing the IR.

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ModRef.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "shared.h"

using namespace llvm;
using covsched::str;

bool covsched::isInstrumented(const Function &F) { return F.hasFnAttribute(InstrumentedAttribute); }

void covsched::keepFromSanitizers(GlobalVariable &G) {
  GlobalValue::SanitizerMetadata Metadata;
  Metadata.NoAddress = true;
  Metadata.NoHWAddress = true;
  G.setSanitizerMetadata(Metadata);
}

Constant *covsched::fillCacheLines(Constant &Value, const DataLayout &Layout) {
  uint64_t Size = Layout.getTypeAllocSize(Value.getType());
  auto *Rest = ArrayType::get(Type::getInt8Ty(Value.getContext()), alignTo(Size, CacheLine) - Size);
  return ConstantStruct::getAnon({&Value, ConstantAggregateZero::get(Rest)});
}

Instruction *covsched::afterParameters(Function &F) {
  auto IsLocal = [](const Value *Pointer) {
    auto *Local = dyn_cast<AllocaInst>(Pointer->stripInBoundsConstantOffsets());
    return Local && Local->isStaticAlloca();
  };
  SmallPtrSet<const Value *, 8> Known;
  auto IsGiven = [&](const Value *V) { return isa<Argument>(V) || isa<Constant>(V) || Known.count(V); };
  // Such code is of no line: what the program says itself is not meant.
  auto IsPart = [&](const Instruction &I) {
    if (I.getDebugLoc() && I.getDebugLoc()->getLine())
      return false;
    if (auto *Store = dyn_cast<StoreInst>(&I))
      return Store->isSimple() && IsLocal(Store->getPointerOperand()) && IsGiven(Store->getValueOperand());
    if (auto *Copy = dyn_cast<MemCpyInst>(&I))
      return !Copy->isVolatile() && IsLocal(Copy->getRawDest()) &&
             (IsLocal(Copy->getRawSource()) || isa<Argument>(Copy->getRawSource()));
    if (!isa<CastInst>(I) && !isa<ExtractValueInst>(I) && !isa<GetElementPtrInst>(I))
      return false;
    return all_of(I.operands(), [&](const Use &Of) { return IsGiven(Of) || IsLocal(Of); });
  };
  auto *Start = unwrap<Instruction>(cov_entry_point(wrap(static_cast<Value *>(&F))));
  for (Instruction &I : make_range(Start->getIterator(), F.getEntryBlock().end())) {
    if (I.isDebugOrPseudoInst() || I.isLifetimeStartOrEnd())
      continue;
    if (I.isTerminator() || !IsPart(I))
      break;
    Known.insert(&I);
    if (I.mayWriteToMemory())
      Start = I.getNextNode();
  }
  return Start;
}

Type *covsched::typeOf(Module &M, CovWord Word) {
  LLVMContext &Context = M.getContext();
  switch (Word) {
  case COV_PTR:
    return PointerType::get(Context, 0);
  case COV_INT:
  case COV_UINT:
    return Type::getInt32Ty(Context);
  case COV_ULONG:
    return M.getDataLayout().getIntPtrType(Context);
  case COV_SITE:
    return Type::getInt64Ty(Context);
  case COV_VOID:
  case COV_NEVER:
    return Type::getVoidTy(Context);
  }
  llvm_unreachable("a word outside of the table");
}

/// Whether anything that counts uses this constant: not LLVM's own lists, not code that is done.
static bool hasOpenUse(const Constant &C) {
  for (const User *Who : C.users()) {
    if (auto *I = dyn_cast<Instruction>(Who)) {
      if (!covsched::isInstrumented(*I->getFunction()))
        return true;
    } else if (auto *Variable = dyn_cast<GlobalVariable>(Who)) {
      if (!Variable->getName().startswith("llvm."))
        return true;
    } else if (isa<GlobalValue>(Who)) {
      return true;
    } else if (auto *Outer = dyn_cast<Constant>(Who)) {
      if (hasOpenUse(*Outer))
        return true;
    }
  }
  return false;
}

bool covsched::isAddressUse(const Use &U) {
  const User *Who = U.getUser();
  if (auto *I = dyn_cast<Instruction>(Who)) {
    if (isInstrumented(*I->getFunction()))
      return false;
    if (auto *Call = dyn_cast<CallBase>(I); Call && Call->isCallee(&U))
      return false;
    // "Is there such a function?": the wrapper would always say yes.
    if (isa<ICmpInst>(I) && isa<ConstantPointerNull>(I->getOperand(1 - U.getOperandNo())))
      return false;
    return true;
  }
  if (isa<GlobalVariable>(Who))
    return true;
  if (isa<GlobalValue>(Who))
    return false;
  if (auto *Expression = dyn_cast<ConstantExpr>(Who))
    if (Expression->isCompare())
      return false;
  return hasOpenUse(*cast<Constant>(Who));
}

/// One a linked object: every object file brings a copy, the linker keeps one, nobody outside sees it.
static void makeOneAnObject(GlobalObject &G) {
  G.setLinkage(GlobalValue::LinkOnceODRLinkage);
  G.setVisibility(GlobalValue::HiddenVisibility);
  G.setDSOLocal(true);
  G.setComdat(G.getParent()->getOrInsertComdat(G.getName()));
}

static void extendSmallIntegers(Function &F, const CovWord *Params, size_t Count, CovWord Result) {
  Triple Target(F.getParent()->getTargetTriple());
  for (size_t I = 0; I < Count; ++I) {
    if (Params[I] != COV_INT && Params[I] != COV_UINT)
      continue;
    auto Kind = TargetLibraryInfo::getExtAttrForI32Param(Target, Params[I] == COV_INT);
    if (Kind != Attribute::None)
      F.addParamAttr(I, Kind);
  }
  if (Result == COV_INT || Result == COV_UINT) {
    auto Kind = TargetLibraryInfo::getExtAttrForI32Return(Target, Result == COV_INT);
    if (Kind != Attribute::None)
      F.addRetAttr(Kind);
  }
}

/// A function that the pass adds. Cancellation unwinds through wrappers, so they have unwind tables.
static Function *newFunction(Module &M, FunctionType *Type, StringRef Name) {
  Function *F = Function::createWithDefaultAttr(Type, GlobalValue::LinkOnceODRLinkage, 0, Name, &M);
  makeOneAnObject(*F);
  F->setUWTableKind(UWTableKind::Default);
  F->addFnAttr(covsched::InstrumentedAttribute);
  return F;
}

extern "C" {

LLVMValueRef cov_declare_hook(LLVMModuleRef module, CovText symbol, const CovWord *params, size_t count,
                              CovWord result, bool marker, LLVMValueRef like) {
  Module &M = *unwrap(module);
  SmallVector<Type *, 8> Types;
  for (size_t I = 0; I < count; ++I)
    Types.push_back(covsched::typeOf(M, params[I]));
  auto *Type = FunctionType::get(covsched::typeOf(M, result), Types, false);
  GlobalValue *Known = M.getNamedValue(str(symbol));
  if (Known) {
    auto *F = dyn_cast<Function>(Known);
    return F && F->getFunctionType() == Type ? wrap(F) : nullptr;
  }
  Function *F = Function::Create(Type, GlobalValue::ExternalLinkage, str(symbol), M);
  extendSmallIntegers(*F, params, count, result);
  if (result == COV_NEVER)
    F->setDoesNotReturn();
  if (marker) {
    F->setDoesNotThrow();
    F->setWillReturn();
    F->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
  }
  if (like)
    for (Attribute::AttrKind Kind : {Attribute::NoUnwind, Attribute::Cold})
      if (unwrap<Function>(like)->hasFnAttribute(Kind))
        F->addFnAttr(Kind);
  return wrap(F);
}

LLVMValueRef cov_replace_call(LLVMValueRef call, LLVMValueRef hook, LLVMValueRef original, uint64_t site) {
  CallBase *Old = unwrap<CallBase>(call);
  Function *Hook = unwrap<Function>(hook);
  FunctionType *Type = Hook->getFunctionType();
  LLVMContext &Context = Old->getContext();

  SmallVector<Value *, 8> Args(Old->args());
  unsigned Own = Type->getNumParams() - 1 - (original ? 1 : 0);
  while (Args.size() < Own)
    Args.push_back(Constant::getNullValue(Type->getParamType(Args.size())));
  if (original)
    Args.push_back(unwrap(original));
  Args.push_back(ConstantInt::get(Type::getInt64Ty(Context), site));

  SmallVector<OperandBundleDef, 1> Bundles;
  Old->getOperandBundlesAsDefs(Bundles);
  CallBase *New;
  if (auto *Invoke = dyn_cast<InvokeInst>(Old)) {
    New = InvokeInst::Create(Type, Hook, Invoke->getNormalDest(), Invoke->getUnwindDest(), Args, Bundles, "",
                             Old);
  } else {
    auto *Call = CallInst::Create(Type, Hook, Args, Bundles, "", Old);
    Call->setTailCallKind(cast<CallInst>(Old)->getTailCallKind());
    New = Call;
  }
  New->setCallingConv(Hook->getCallingConv());
  New->setDebugLoc(Old->getDebugLoc());
  New->copyMetadata(*Old);

  // The arguments kept their places, so their attributes fit as they are. Those of the result fit if there
  // was one.
  AttributeList Kept = Old->getAttributes();
  SmallVector<AttributeSet, 8> Params;
  for (unsigned I = 0; I < Old->arg_size(); ++I)
    Params.push_back(Kept.getParamAttrs(I));
  AttributeSet Result = Old->getType() == New->getType() ? Kept.getRetAttrs() : AttributeSet();
  AttributeSet OfCall = Kept.getFnAttrs().addAttribute(Context, Attribute::NoMerge);
  New->setAttributes(AttributeList::get(Context, OfCall, Result, Params));
  for (unsigned I = Old->arg_size(); I < Type->getNumParams(); ++I)
    for (Attribute A : Hook->getAttributes().getParamAttrs(I))
      New->addParamAttr(I, A);

  if (Old->getType() == New->getType()) {
    New->takeName(Old);
    Old->replaceAllUsesWith(New);
  }
  Old->eraseFromParent();
  return wrap(New);
}

LLVMValueRef cov_insert_marker(LLVMValueRef before, LLVMValueRef hook, LLVMValueRef value,
                               const uint64_t *site, LLVMValueRef location) {
  auto *Before = unwrap<Instruction>(before);
  Function *Hook = unwrap<Function>(hook);
  SmallVector<Value *, 2> Args;
  if (value)
    Args.push_back(unwrap(value));
  if (site)
    Args.push_back(ConstantInt::get(Type::getInt64Ty(Before->getContext()), *site));
  auto *Call = CallInst::Create(Hook->getFunctionType(), Hook, Args, "", Before);
  Call->setCallingConv(Hook->getCallingConv());
  Call->setAttributes(AttributeList::get(Call->getContext(), AttributeSet(),
                                         Hook->getAttributes().getRetAttrs(), {}));
  for (unsigned I = 0; I < Args.size(); ++I)
    for (Attribute A : Hook->getAttributes().getParamAttrs(I))
      Call->addParamAttr(I, A);
  Call->addFnAttr(Attribute::NoMerge);
  // What is inlined is what would be without covsched: the inliner counts nothing for it.
  Call->addFnAttr(Attribute::get(Call->getContext(), "call-inline-cost", "0"));

  // In a function with debug info every call has a location; line 0 where the compiler left none.
  DebugLoc Location;
  if (auto *At = dyn_cast<Instruction>(unwrap(location)))
    Location = At->getDebugLoc();
  if (!Location)
    if (DISubprogram *Program = Before->getFunction()->getSubprogram())
      Location = DILocation::get(Call->getContext(),
                                 isa<Function>(unwrap(location)) ? Program->getScopeLine() : 0, 0, Program);
  Call->setDebugLoc(Location);
  return wrap(Call);
}

LLVMValueRef cov_entry_point(LLVMValueRef function) {
  BasicBlock &Entry = unwrap<Function>(function)->getEntryBlock();
  BasicBlock::iterator At = Entry.begin();
  while (isa<AllocaInst>(*At))
    ++At;
  return wrap(&*At);
}

LLVMValueRef cov_body_point(LLVMValueRef function) {
  Instruction *At = covsched::afterParameters(*unwrap<Function>(function));
  while (isa<DbgInfoIntrinsic>(At))
    At = At->getNextNode();
  return wrap(At);
}

LLVMValueRef cov_point_after(LLVMValueRef call) {
  auto *I = unwrap<Instruction>(call);
  if (auto *Invoke = dyn_cast<InvokeInst>(I)) {
    BasicBlock *Next = Invoke->getNormalDest();
    if (!Next->getSinglePredecessor())
      Next = SplitEdge(Invoke->getParent(), Next);
    I = &*Next->getFirstInsertionPt();
  } else {
    I = I->getNextNode();
  }
  return isa<UnreachableInst>(I) ? nullptr : wrap(I);
}

LLVMValueRef cov_landing_point(LLVMValueRef invoke) {
  LandingPadInst *Pad = unwrap<InvokeInst>(invoke)->getUnwindDest()->getLandingPadInst();
  return Pad ? wrap(Pad->getNextNode()) : nullptr;
}

LLVMValueRef cov_make_wrapper(LLVMModuleRef module, CovText name, LLVMValueRef hook, LLVMValueRef original,
                              uint64_t site) {
  Module &M = *unwrap(module);
  if (Function *Known = M.getFunction(str(name)))
    return wrap(Known);
  Function *Hook = unwrap<Function>(hook);
  FunctionType *Type = Hook->getFunctionType();
  unsigned Own = Type->getNumParams() - 1 - (original ? 1 : 0);
  ArrayRef<llvm::Type *> Params(Type->param_begin(), Own);
  Function *F = newFunction(M, FunctionType::get(Type->getReturnType(), Params, false), str(name));
  for (Attribute::AttrKind Kind : {Attribute::NoUnwind, Attribute::Cold, Attribute::NoReturn})
    if (Hook->hasFnAttribute(Kind))
      F->addFnAttr(Kind);

  IRBuilder<> Builder(BasicBlock::Create(M.getContext(), "", F));
  SmallVector<Value *, 8> Args;
  for (Argument &A : F->args())
    Args.push_back(&A);
  if (original)
    Args.push_back(unwrap(original));
  Args.push_back(Builder.getInt64(site));
  CallInst *Call = Builder.CreateCall(Type, Hook, Args);
  Call->setAttributes(AttributeList::get(M.getContext(), AttributeSet(), Hook->getAttributes().getRetAttrs(),
                                         {}));
  for (unsigned I = 0; I < Args.size(); ++I)
    for (Attribute A : Hook->getAttributes().getParamAttrs(I))
      Call->addParamAttr(I, A);
  Call->addFnAttr(Attribute::NoMerge);
  if (Hook->doesNotReturn())
    Builder.CreateUnreachable();
  else if (Type->getReturnType()->isVoidTy())
    Builder.CreateRetVoid();
  else
    Builder.CreateRet(Call);
  return wrap(F);
}

void cov_replace_address(LLVMValueRef function, LLVMValueRef wrapper) {
  // Control-flow integrity knows a function by its type.
  auto *From = unwrap<Function>(function), *To = unwrap<Function>(wrapper);
  SmallVector<MDNode *, 2> Types;
  From->getMetadata(LLVMContext::MD_type, Types);
  if (!To->hasMetadata(LLVMContext::MD_type))
    for (MDNode *Type : Types)
      To->addMetadata(LLVMContext::MD_type, *Type);
  To->setMetadata(LLVMContext::MD_kcfi_type, From->getMetadata(LLVMContext::MD_kcfi_type));
  unwrap(function)->replaceUsesWithIf(unwrap(wrapper), [](Use &U) { return covsched::isAddressUse(U); });
}

void cov_mark_instrumented(LLVMValueRef function) {
  unwrap<Function>(function)->addFnAttr(covsched::InstrumentedAttribute);
}

void cov_set_place(LLVMValueRef inst, LLVMMetadataRef place) {
  unwrap<Instruction>(inst)->setDebugLoc(DebugLoc(cast<DILocation>(unwrap(place))));
}

void cov_allow_markers(LLVMValueRef function) {
  auto *F = unwrap<Function>(function);
  F->removeFnAttr(Attribute::NoSync);
  F->removeFnAttr(Attribute::Speculatable);
  if (F->getMemoryEffects() != MemoryEffects::unknown())
    F->setMemoryEffects(F->getMemoryEffects() | MemoryEffects::inaccessibleMemOnly());
}

void cov_set_flag(LLVMModuleRef module, CovText flag) {
  Module &M = *unwrap(module);
  if (!M.getModuleFlag(str(flag)))
    M.addModuleFlag(Module::Max, str(flag), 1);
}

void cov_add_section_data(LLVMModuleRef module, CovText name, CovText section, CovText bytes, bool retain) {
  Module &M = *unwrap(module);
  Constant *Data = ConstantDataArray::getRaw(str(bytes), bytes.len, Type::getInt8Ty(M.getContext()));
  auto *G = new GlobalVariable(M, Data->getType(), true, GlobalValue::PrivateLinkage, Data, str(name));
  G->setSection(str(section));
  G->setAlignment(Align(8));
  covsched::keepFromSanitizers(*G);
  if (retain)
    appendToUsed(M, {G});
  else
    appendToCompilerUsed(M, {G});
}

LLVMValueRef cov_active_byte(LLVMModuleRef module, CovText name) {
  Module &M = *unwrap(module);
  if (GlobalVariable *Known = M.getGlobalVariable(str(name)))
    return wrap(Known);
  auto *Byte = Type::getInt8Ty(M.getContext());
  Constant *Line = covsched::fillCacheLines(*ConstantInt::get(Byte, 0), M.getDataLayout());
  auto *G = new GlobalVariable(M, Line->getType(), false, GlobalValue::LinkOnceODRLinkage, Line, str(name));
  G->setAlignment(Align(covsched::CacheLine));
  makeOneAnObject(*G);
  covsched::keepFromSanitizers(*G);
  return wrap(G);
}

void cov_add_registration(LLVMModuleRef module, CovText section, LLVMValueRef hook, LLVMValueRef active,
                          uint32_t version, uint32_t size) {
  static constexpr const char *RecordName = "covsched.registration";
  static constexpr const char *ConstructorName = "covsched.register";
  Module &M = *unwrap(module);
  if (M.getFunction(ConstructorName))
    return;
  LLVMContext &Context = M.getContext();
  Type *Byte = Type::getInt8Ty(Context);
  // The linker defines these; weak, since a linker that drops the section defines none.
  auto bound = [&](StringRef Prefix) -> GlobalVariable * {
    std::string Name = (Prefix + str(section)).str();
    if (GlobalVariable *Known = M.getGlobalVariable(Name))
      return Known;
    auto *G = new GlobalVariable(M, Byte, true, GlobalValue::ExternalWeakLinkage, nullptr, Name);
    G->setVisibility(GlobalValue::HiddenVisibility);
    return G;
  };
  Constant *Record = ConstantStruct::getAnon(
      {ConstantInt::get(Type::getInt32Ty(Context), version), ConstantInt::get(Type::getInt32Ty(Context), size),
       bound("__start_"), bound("__stop_"), unwrap<Constant>(active)});
  auto *G = new GlobalVariable(M, Record->getType(), true, GlobalValue::LinkOnceODRLinkage, Record, RecordName);
  makeOneAnObject(*G);
  covsched::keepFromSanitizers(*G);

  Function *Constructor = newFunction(M, FunctionType::get(Type::getVoidTy(Context), false), ConstructorName);
  IRBuilder<> Builder(BasicBlock::Create(Context, "", Constructor));
  Function *Hook = unwrap<Function>(hook);
  Builder.CreateCall(Hook->getFunctionType(), Hook, {G});
  Builder.CreateRetVoid();
  // Before every constructor of the program's own. The key makes the entry one a linked object, too.
  appendToGlobalCtors(M, Constructor, 0, Constructor);
}

void cov_gather_allocas(LLVMValueRef function) {
  BasicBlock &Entry = unwrap<Function>(function)->getEntryBlock();
  Instruction *At = unwrap<Instruction>(cov_entry_point(function));
  for (Instruction &I : make_early_inc_range(make_range(At->getIterator(), Entry.end())))
    if (auto *Alloca = dyn_cast<AllocaInst>(&I); Alloca && Alloca->isStaticAlloca() && Alloca != At)
      Alloca->moveBefore(At);
}

void cov_guard_call(LLVMValueRef call, LLVMValueRef active, uint8_t only) {
  auto *Call = unwrap<CallInst>(call);
  LLVMContext &Context = Call->getContext();
  IRBuilder<> Builder(Call);
  LoadInst *Byte = Builder.CreateLoad(Builder.getInt8Ty(), unwrap(active));
  // The byte is ours, not the program's: no sanitizer looks at it.
  Byte->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(Context, {}));
  Value *Busy = only ? Builder.CreateICmpEQ(Byte, Builder.getInt8(only))
                     : Builder.CreateICmpNE(Byte, Builder.getInt8(0));
  BasicBlock *Head = Call->getParent();
  Instruction *Branch =
      SplitBlockAndInsertIfThen(Busy, Call, false, MDBuilder(Context).createBranchWeights(1, 1 << 20));
  BasicBlock *Tail = Call->getParent();
  Call->moveBefore(Branch);
  Call->addFnAttr(Attribute::get(Context, covsched::GuardedAttribute));
  if (!Call->use_empty()) {
    auto *Phi = PHINode::Create(Call->getType(), 2, "", &Tail->front());
    Call->replaceAllUsesWith(Phi);
    Phi->addIncoming(Constant::getNullValue(Call->getType()), Head);
    Phi->addIncoming(Call, Branch->getParent());
  }
}

}  // extern "C"
