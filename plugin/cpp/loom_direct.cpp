// Calls between units that know of each other at link time only.
//
// Whether a function of another unit is instrumented, nobody knows while its caller is compiled. So who calls G on a fast path calls a
// symbol that stands for G with loom, and gives its own place in a register that other parameters do not use:
// ```text
// caller:         lea location, %r10 ; call G.in.HASH ; testb $3, byte(F) ; jne slow
// its unit, weak: G.in.HASH(%r10, ...):  at = location ; call G ; at = RUNNING ; [ pending -> reacquire ]
// G's unit:       G.in.HASH(%r10, ...):  G's code, without the test for threads that come from outside
//                 G(...):                [ at != RUNNING -> G.outside ] ; jmp G.in.HASH
// ```
// The linker prefers G's own. If G has none, the weak one releases the thread, unless G is instrumented after all (in another linked
// object, as an inline function): then its call cell says so. The hash is of G's type, so that units that disagree about it do not
// meet. Calls within a unit go to G.in as well.
//
// Limits: variadic functions are called as before, and so is everything that may be replaced when the program starts: what is not the linked
// object's own in code for shared objects. `ld --wrap=G` does not reach such calls (`loom<no-direct>` calls by name).

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/xxhash.h"
#include "loom.h"
#include "tell_path.h"
#include "tell_shape.h"

using namespace llvm;
using namespace covsched::loom;

static bool isPlainParameter(const AttributeSet &Of) {
  return none_of(ArrayRef({Attribute::InAlloca, Attribute::Preallocated, Attribute::SwiftError, Attribute::SwiftAsync,
                           Attribute::Nest}),
                 [&](Attribute::AttrKind Kind) { return Of.hasAttribute(Kind); });
}

static std::string entryName(const Function &F) {
  StringRef Name = GlobalValue::dropLLVMManglingEscape(F.getName());
  uint64_t Hash = xxHash64(covsched::shapeOf(*F.getFunctionType()));
  return (Name + ".in." + utohexstr(Hash & 0xffffffff, /*LowerCase=*/true, /*Width=*/8)).str();
}

/// The type of an entry that takes the caller's place first.
static FunctionType *withPlace(FunctionType *Type) {
  SmallVector<llvm::Type *, 8> Params = {PointerType::get(Type->getContext(), 0)};
  Params.append(Type->param_begin(), Type->param_end());
  return FunctionType::get(Type->getReturnType(), Params, false);
}

/// `Own`: those of the function or call as a whole.
static AttributeList withPlace(LLVMContext &Context, AttributeSet Own, const AttributeList &Old, unsigned Count) {
  SmallVector<AttributeSet, 8> Params = {AttributeSet::get(Context, AttrBuilder(Context).addAttribute(Attribute::Nest))};
  for (unsigned I = 0; I < Count; ++I)
    Params.push_back(Old.getParamAttrs(I));
  Own = Own.removeAttribute(Context, Attribute::AllocSize); // names parameters by their number
  return AttributeList::get(Context, Own, Old.getRetAttrs(), Params);
}

/// What a call must say about how arguments are passed.
static AttributeList ofCall(const Function &Callee) {
  SmallVector<AttributeSet, 8> Params;
  for (unsigned I = 0; I < Callee.arg_size(); ++I)
    Params.push_back(Callee.getAttributes().getParamAttrs(I));
  return AttributeList::get(Callee.getContext(), AttributeSet(), Callee.getAttributes().getRetAttrs(), Params);
}

static void finishWith(IRBuilder<> &B, CallInst *Call) {
  if (Call->getType()->isVoidTy())
    B.CreateRetVoid();
  else
    B.CreateRet(Call);
}

/// The same call, of another function, which takes the place first.
static void callAt(CallBase &Old, Function &To, Value *Place) {
  SmallVector<Value *, 8> Args = {Place};
  Args.append(Old.arg_begin(), Old.arg_end());
  SmallVector<OperandBundleDef, 1> Bundles;
  Old.getOperandBundlesAsDefs(Bundles);
  CallBase *New;
  if (auto *Invoke = dyn_cast<InvokeInst>(&Old)) {
    New = InvokeInst::Create(To.getFunctionType(), &To, Invoke->getNormalDest(), Invoke->getUnwindDest(), Args, Bundles, "",
                             &Old);
  } else {
    auto *Call = CallInst::Create(To.getFunctionType(), &To, Args, Bundles, "", &Old);
    Call->setTailCallKind(cast<CallInst>(Old).getTailCallKind());
    New = Call;
  }
  New->setCallingConv(Old.getCallingConv());
  New->setAttributes(withPlace(Old.getContext(), Old.getAttributes().getFnAttrs(), Old.getAttributes(), Old.arg_size()));
  New->copyMetadata(Old);
  New->takeName(&Old);
  Old.replaceAllUsesWith(New);
  Old.eraseFromParent();
}

// --- Callers ------------------------------------------------------------------------------------------------

bool covsched::loom::canCallDirectly(const CovLoom &Unit, const CallBase &Call) {
  auto *Callee = dyn_cast<Function>(Call.getCalledOperand());
  if (!Callee || !Callee->isDeclaration() || !Unit.isDirect() || Callee->isVarArg() || Call.getFunctionType() != Callee->getFunctionType() ||
      Call.getCallingConv() != Callee->getCallingConv() || Call.hasOperandBundles() || Call.doesNotReturn())
    return false;
  auto *Plain = dyn_cast<CallInst>(&Call);
  if (!isa<InvokeInst>(Call) && (!Plain || Plain->isMustTailCall()))
    return false;
  for (unsigned I = 0; I < Call.arg_size(); ++I)
    if (!isPlainParameter(Call.getAttributes().getParamAttrs(I)) ||
        !isPlainParameter(Callee->getAttributes().getParamAttrs(I)))
      return false;
  // What another linked object may define in its place is called by name.
  return Unit.InExecutable || Callee->isDSOLocal();
}

/// What is called if no unit of the linked object has instrumented `Callee`.
static Function *makeBridge(CovLoom &Unit, Function &Callee, const std::string &Name, uint32_t Cell) {
  FunctionType *Type = withPlace(Callee.getFunctionType());
  Function *F = Function::createWithDefaultAttr(Type, GlobalValue::WeakAnyLinkage, Callee.getAddressSpace(), Name, &Unit.M);
  F->setVisibility(GlobalValue::HiddenVisibility);
  F->setDSOLocal(true);
  F->setComdat(Unit.M.getOrInsertComdat(Name));
  F->setCallingConv(Callee.getCallingConv());
  F->setAttributes(withPlace(F->getContext(), F->getAttributes().getFnAttrs(), Callee.getAttributes(), Callee.arg_size()));
  if (Callee.doesNotThrow())
    F->setDoesNotThrow();
  F->addFnAttr(DoneAttribute);
  F->addFnAttr("covsched-instrumented");

  Writer Write(Unit, 0);
  IRBuilder<> B(BasicBlock::Create(F->getContext(), "", F));
  Value *Place = F->getArg(0), *Running = B.getInt64(Unit.Abi.running);
  Value *IsKnown = B.CreateICmpEQ(Write.cell(B, Cell), Running);
  Write.setAt(B, B.CreateSelect(IsKnown, Running, B.CreatePtrToInt(Place, B.getInt64Ty())));
  SmallVector<Value *, 8> Args;
  for (Argument &A : drop_begin(F->args()))
    Args.push_back(&A);
  CallInst *Call = B.CreateCall(Callee.getFunctionType(), &Callee, Args);
  Call->setCallingConv(Callee.getCallingConv());
  Call->setAttributes(ofCall(Callee));
  Write.setRunning(B);
  BasicBlock *Cold = BasicBlock::Create(F->getContext(), "pending", F);
  BasicBlock *Back = BasicBlock::Create(F->getContext(), "back", F);
  Write.unlikely(B, Write.isPending(B), Cold, Back);
  B.SetInsertPoint(Cold);
  Write.call(B, Unit.Reacquire, {Place});
  B.CreateBr(Back);
  B.SetInsertPoint(Back);
  finishWith(B, Call);
  return F;
}

void covsched::loom::setLocation(Instruction &At, uint32_t Location) {
  auto *Number = ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(At.getContext()), Location));
  At.setMetadata(covsched::LoomLocation, MDNode::get(At.getContext(), {Number}));
}

void covsched::loom::callDirectly(CovLoom &Unit) {
  DenseMap<Function *, Function *> Bridges;
  for (const DirectCall &Direct : Unit.DirectCalls) {
    auto *Callee = cast<Function>(Direct.Call->getCalledOperand());
    Function *&Bridge = Bridges[Callee];
    if (!Bridge) {
      std::string Name = entryName(*Callee);
      Bridge = Unit.M.getFunction(Name);
      if (!Bridge)
        Bridge = makeBridge(Unit, *Callee, Name, Direct.Cell);
    }
    IRBuilder<> B(Direct.Call);
    B.SetCurrentDebugLocation(DebugLoc());
    callAt(*Direct.Call, *Bridge, Writer(Unit, 0).location(B, Direct.Location));
  }
}

// --- Callees ------------------------------------------------------------------------------------------------

bool covsched::loom::canHaveEntry(const CovLoom &Unit, const Function &F) {
  // The linker may drop an inline function, and keep a copy from a unit that has no such entry.
  return Unit.isDirect() && !F.hasComdat() && (F.hasLocalLinkage() || (F.hasExternalLinkage() && F.isDSOLocal()));
}

/// F's code becomes that of another function; F itself is empty then.
static Function *moveCode(Function &F) {
  LLVMContext &Context = F.getContext();
  bool IsSeen = !F.hasLocalLinkage();
  FunctionType *Type = IsSeen ? withPlace(F.getFunctionType()) : F.getFunctionType();
  Function *In = Function::Create(Type, IsSeen ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage,
                                  F.getAddressSpace(), IsSeen ? entryName(F) : (F.getName() + ".in").str());
  F.getParent()->getFunctionList().insertAfter(F.getIterator(), In);
  In->copyAttributesFrom(&F);
  In->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  In->setVisibility(IsSeen ? GlobalValue::HiddenVisibility : GlobalValue::DefaultVisibility);
  In->setDSOLocal(true);
  if (IsSeen)
    In->setAttributes(withPlace(Context, F.getAttributes().getFnAttrs(), F.getAttributes(), F.arg_size()));
  In->addFnAttr(SymbolAttribute, GlobalValue::dropLLVMManglingEscape(F.getName()));

  SmallVector<std::pair<BlockAddress *, BasicBlock *>, 4> Addresses;
  for (BasicBlock &Block : F)
    if (BlockAddress *Address = Block.hasAddressTaken() ? BlockAddress::lookup(&Block) : nullptr)
      Addresses.push_back({Address, &Block});
  In->splice(In->begin(), &F);
  for (auto [Address, Block] : Addresses) {
    Address->replaceAllUsesWith(BlockAddress::get(In, Block));
    Address->destroyConstant();
  }
  for (auto [Old, New] : zip(F.args(), drop_begin(In->args(), IsSeen))) {
    New.takeName(&Old);
    Old.replaceAllUsesWith(&New);
  }

  In->copyMetadata(&F, 0);
  // What describes the code goes with it, what is about F's address stays.
  In->eraseMetadata(LLVMContext::MD_type);
  In->eraseMetadata(LLVMContext::MD_kcfi_type);
  In->setPrefixData(nullptr);
  In->setPrologueData(nullptr);
  F.setSubprogram(nullptr);
  F.eraseMetadata(LLVMContext::MD_prof);
  F.setPersonalityFn(nullptr);
  for (Attribute::AttrKind Kind : {Attribute::AlwaysInline, Attribute::InlineHint})
    F.removeFnAttr(Kind);
  return In;
}

/// Instrumented code calls it while its thread runs: it need not ask.
static void redirect(Function &F, Function &In, Value *Nowhere) {
  for (Use &U : make_early_inc_range(F.uses())) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    if (!Call || !Call->isCallee(&U) || Call->getFunctionType() != F.getFunctionType() || isa<CallBrInst>(Call) ||
        !Call->getFunction()->hasFnAttribute(DoneAttribute))
      continue;
    if (auto *Plain = dyn_cast<CallInst>(Call); Plain && Plain->isMustTailCall())
      continue;
    if (In.getFunctionType() == F.getFunctionType())
      Call->setCalledFunction(&In);
    else
      callAt(*Call, In, Nowhere);
  }
}

void covsched::loom::makeEntry(CovLoom &Unit, Function &F) {
  Function *Outside = makeOutside(Unit, F);
  Function *In = moveCode(F);
  Value *Nowhere = PoisonValue::get(PointerType::get(F.getContext(), 0));
  redirect(F, *In, Nowhere);

  Writer Write(Unit, 0);
  IRBuilder<> B(BasicBlock::Create(F.getContext(), "", &F));
  BasicBlock *FromOutside = BasicBlock::Create(F.getContext(), "outside", &F);
  BasicBlock *Inside = BasicBlock::Create(F.getContext(), "inside", &F);
  Write.unlikely(B, Write.isNotRunning(B), FromOutside, Inside);
  SmallVector<Value *, 8> Args;
  for (Argument &A : F.args())
    Args.push_back(&A);
  auto pass = [&](BasicBlock *Block, Function &To, CallInst::TailCallKind Kind) {
    B.SetInsertPoint(Block);
    SmallVector<Value *, 8> All;
    if (To.getFunctionType() != F.getFunctionType())
      All.push_back(Nowhere);
    All.append(Args);
    CallInst *Call = B.CreateCall(To.getFunctionType(), &To, All);
    Call->setTailCallKind(Kind);
    Call->setCallingConv(F.getCallingConv());
    Call->setAttributes(ofCall(To));
    finishWith(B, Call);
  };
  CallInst::TailCallKind InPlace = inPlaceOf(F);
  pass(FromOutside, *Outside, InPlace);
  // Not the same type, so that it need not be.
  pass(Inside, *In, InPlace == CallInst::TCK_MustTail ? CallInst::TCK_Tail : InPlace);
}

void covsched::loom::makeHandlerEntry(CovLoom &Unit, const Handler &Of) {
  Function &Body = *Of.Body;
  // What could not be instrumented may run while its thread is released.
  Body.replaceUsesWithIf(Of.Wrapper, [&](Use &U) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    return Call && Call->isCallee(&U) && !Call->getFunction()->hasFnAttribute(DoneAttribute);
  });
  if (!Of.HasEntry)
    return;
  LLVMContext &Context = Body.getContext();
  Function *In = Function::Create(withPlace(Body.getFunctionType()), GlobalValue::ExternalLinkage, Body.getAddressSpace(),
                                  entryName(*Of.Wrapper), &Unit.M);
  In->setVisibility(GlobalValue::HiddenVisibility);
  In->setDSOLocal(true);
  In->setCallingConv(Body.getCallingConv());
  In->setAttributes(withPlace(Context, Body.getAttributes().getFnAttrs(), Body.getAttributes(), Body.arg_size()));
  In->addFnAttr(SymbolAttribute, GlobalValue::dropLLVMManglingEscape(Of.Wrapper->getName()));
  IRBuilder<> B(BasicBlock::Create(Context, "", In));
  SmallVector<Value *, 8> Args;
  for (Argument &A : drop_begin(In->args()))
    Args.push_back(&A);
  CallInst *Call = B.CreateCall(Body.getFunctionType(), &Body, Args);
  // Not the same type, so that it need not be.
  Call->setTailCallKind(inPlaceOf(Body) == CallInst::TCK_MustTail ? CallInst::TCK_Tail : CallInst::TCK_NoTail);
  Call->setCallingConv(Body.getCallingConv());
  Call->setAttributes(ofCall(Body));
  finishWith(B, Call);
}
