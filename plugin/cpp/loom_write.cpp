// The unit of `loom`: what its code names, the small pieces of that code, and at the end its arrays and descriptor.

#include <mutex>

#include "llvm-c/Core.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "loom.h"
#include "shared.h"
#include "tell_path.h"

using namespace llvm;
using namespace covsched::loom;
using covsched::CacheLine;
using covsched::fillCacheLines;
using covsched::keepFromSanitizers;
using covsched::str;

static bool isForExecutable(const Module &M) {
  return M.getPICLevel() == PICLevel::NotPIC || M.getPIELevel() != PIELevel::Default;
}

static GlobalVariable *declareVariable(Module &M, CovText Name, Type *Type, bool IsThreadLocal) {
  if (GlobalValue *Known = M.getNamedValue(str(Name))) {
    auto *G = dyn_cast<GlobalVariable>(Known);
    return G && G->getValueType() == Type && G->isThreadLocal() == IsThreadLocal ? G : nullptr;
  }
  // The runtime is in the executable, so that code of the executable knows where its variables are, and other code
  // needs no call to find its thread-locals.
  bool InExecutable = isForExecutable(M);
  auto Model = InExecutable ? GlobalValue::LocalExecTLSModel : GlobalValue::InitialExecTLSModel;
  auto *G = new GlobalVariable(M, Type, false, GlobalValue::ExternalLinkage, nullptr, str(Name), nullptr,
                               IsThreadLocal ? Model : GlobalValue::NotThreadLocal);
  G->setDSOLocal(InExecutable);
  return G;
}

/// `keeps`: the hook keeps every register, where there is a convention for that.
static Function *declareHook(Module &M, CovText Name, unsigned Params, bool Keeps) {
  LLVMContext &Context = M.getContext();
  SmallVector<Type *, 2> Types(Params, PointerType::get(Context, 0));
  auto *Type = FunctionType::get(Type::getVoidTy(Context), Types, false);
  if (GlobalValue *Known = M.getNamedValue(str(Name))) {
    auto *F = dyn_cast<Function>(Known);
    return F && F->getFunctionType() == Type ? F : nullptr;
  }
  Function *F = Function::Create(Type, GlobalValue::ExternalLinkage, str(Name), M);
  F->setDoesNotThrow();
  F->addFnAttr(Attribute::NoMerge);
  if (Keeps) {
    F->addFnAttr(Attribute::Cold);
    if (Triple(M.getTargetTriple()).getArch() == Triple::x86_64)
      F->setCallingConv(CallingConv::PreserveAll);
  }
  return F;
}

static GlobalVariable *declareArray(Module &M, StringRef Name) {
  return new GlobalVariable(M, Type::getInt8Ty(M.getContext()), false, GlobalValue::ExternalLinkage, nullptr,
                            Name);
}

CovLoom::CovLoom(Module &M, const CovLoomAbi &Abi)
    : M(M), Abi(Abi), At(declareVariable(M, Abi.at, Type::getInt64Ty(M.getContext()), true)),
      Pending(declareVariable(M, Abi.pending, Type::getInt8Ty(M.getContext()), false)),
      Check(declareHook(M, Abi.check, 1, true)), Reacquire(declareHook(M, Abi.reacquire, 1, true)),
      Slot(declareHook(M, Abi.slot, 2, true)), Enter(declareHook(M, Abi.enter, 1, false)),
      HandlerEnter(declareHook(M, Abi.handler_enter, 1, false)), Leave(declareHook(M, Abi.leave, 1, false)),
      Functions(declareArray(M, "covsched.loom.functions")), Locations(declareArray(M, "covsched.loom.locations")),
      Slots(declareArray(M, "covsched.loom.slots")), Calls(declareArray(M, "covsched.loom.calls")),
      InExecutable(isForExecutable(M)) {}

Constant *CovLoom::at(GlobalVariable *Array, uint64_t Offset) {
  LLVMContext &Context = Array->getContext();
  if (Offset == 0)
    return Array;
  return ConstantExpr::getInBoundsGetElementPtr(Type::getInt8Ty(Context), Array,
                                                ConstantInt::get(Type::getInt64Ty(Context), Offset));
}

/// On a test of a function's byte, until it is made so: see testInOne.
static constexpr const char *BusyMark = "covsched.busy";

/// What is ours, not the program's: no sanitizer looks at it.
static void hide(Instruction &I) { I.setMetadata(LLVMContext::MD_nosanitize, MDNode::get(I.getContext(), {})); }

Value *Writer::load(IRBuilder<> &B, Type *Type, Value *From) const {
  LoadInst *Load = B.CreateLoad(Type, From, /*isVolatile=*/true);
  hide(*Load);
  return Load;
}

Value *Writer::hasOneOf(IRBuilder<> &B, uint8_t Bits) const {
  Value *Byte = load(B, B.getInt8Ty(), Unit.functionByte(Function));
  return B.CreateICmpNE(B.CreateAnd(Byte, B.getInt8(Bits)), B.getInt8(0));
}

Value *Writer::isBusy(IRBuilder<> &B) const {
  if (Unit.has(COV_LOOM_NO_FILTER_BYTE))
    return B.getTrue();
  auto *Test = cast<Instruction>(hasOneOf(B, Unit.Abi.slow | Unit.Abi.wait));
  Test->setMetadata(BusyMark, MDNode::get(B.getContext(), {}));
  return Test;
}

Value *Writer::isSlow(IRBuilder<> &B) const { return hasOneOf(B, Unit.Abi.slow); }

Value *Writer::mustReacquire(IRBuilder<> &B) const {
  return B.CreateICmpNE(load(B, B.getInt8Ty(), Unit.functionByte(Function)), B.getInt8(0));
}

Value *Writer::isNotJustSlow(IRBuilder<> &B) const {
  if (Unit.has(COV_LOOM_NO_FILTER_BYTE))
    return B.getTrue();
  return B.CreateICmpNE(load(B, B.getInt8Ty(), Unit.functionByte(Function)), B.getInt8(Unit.Abi.slow));
}

Value *Writer::isNotRunning(IRBuilder<> &B) const {
  // Only the thread itself writes it: a load like any other.
  LoadInst *At = B.CreateLoad(B.getInt64Ty(), Unit.At);
  hide(*At);
  return B.CreateICmpNE(At, B.getInt64(Unit.Abi.running));
}

/// Whether data is reached relative to rip.
static bool isSmallX86(const Module &M) {
  std::optional<CodeModel::Model> Model = M.getCodeModel();
  return Triple(M.getTargetTriple()).getArch() == Triple::x86_64 && (!Model || *Model == CodeModel::Small);
}

Value *Writer::location(IRBuilder<> &B, uint32_t Number) const {
  Constant *Address = Unit.location(Number);
  if (!isSmallX86(Unit.M))
    return Address;
  auto *Type = FunctionType::get(Address->getType(), {Address->getType()}, false);
  CallInst *Made = B.CreateCall(InlineAsm::get(Type, "leaq ${1:c}(%rip), $0", "=r,i", /*hasSideEffects=*/true), {Address});
  Made->setDoesNotThrow();
  Made->setDoesNotAccessMemory();
  return Made;
}

void Writer::setAt(IRBuilder<> &B, Value *To) const {
  if (To->getType()->isPointerTy())
    To = B.CreatePtrToInt(To, B.getInt64Ty());
  hide(*B.CreateStore(To, Unit.At, /*isVolatile=*/true));
}

Value *Writer::isPending(IRBuilder<> &B) const {
  if (Unit.has(COV_LOOM_NO_FILTER_BYTE))
    return B.getTrue();
  return B.CreateICmpNE(load(B, B.getInt8Ty(), Unit.Pending), B.getInt8(0));
}

Value *Writer::cell(IRBuilder<> &B, uint32_t Number) const {
  return load(B, B.getInt64Ty(), Unit.callCell(Number));
}

llvm::Function *Writer::outlined(const char *Name, unsigned Params, IRBuilder<> &Inside) const {
  SmallVector<Type *, 2> Types(Params, Inside.getPtrTy());
  auto *F = llvm::Function::createWithDefaultAttr(FunctionType::get(Inside.getVoidTy(), Types, false),
                                                  GlobalValue::InternalLinkage, 0, Name, &Unit.M);
  F->addFnAttr(Attribute::NoInline);
  F->setDoesNotThrow();
  F->addFnAttr(DoneAttribute);
  Inside.SetInsertPoint(BasicBlock::Create(Inside.getContext(), "", F));
  return F;
}

// A processor makes one operation of `test` and the jump behind it, but not where a constant is compared with what is at an address relative
// to rip; and a register for the byte, or for the constant, is one more operation. The stack pointer is a register that is always there, is
// never 0, and has the three lowest bits 0: a function's word has all others set while it is busy, and else none.
void covsched::loom::testInOne(CovLoom &Unit) {
  SmallVector<ICmpInst *, 32> Tests;
  for (Function &F : Unit.M)
    for (Instruction &I : instructions(F))
      if (I.getMetadata(BusyMark))
        Tests.push_back(cast<ICmpInst>(&I));
  bool HasOne = isSmallX86(Unit.M);
  for (ICmpInst *Test : Tests) {
    Test->setMetadata(BusyMark, nullptr);
    auto *Mask = dyn_cast<BinaryOperator>(Test->getOperand(0));
    auto *Load = Mask ? dyn_cast<LoadInst>(Mask->getOperand(0)) : nullptr;
    if (!HasOne || !Load || !Mask->hasOneUse() || !Load->hasOneUse())
      continue;
    IRBuilder<> B(Test);
    Value *Word = Load->getPointerOperand();
    auto *Type = FunctionType::get(B.getInt8Ty(), {Word->getType()}, false);
    auto *Asm = InlineAsm::get(Type, "testq %rsp, $1", "={@ccnz},*m,~{dirflag},~{fpsr},~{flags}", /*hasSideEffects=*/true);
    CallInst *IsBusy = B.CreateCall(Asm, {Word});
    IsBusy->addParamAttr(0, Attribute::get(B.getContext(), Attribute::ElementType, B.getInt64Ty()));
    IsBusy->setDoesNotThrow();
    IsBusy->setOnlyReadsMemory();
    IsBusy->setOnlyAccessesArgMemory();
    hide(*IsBusy);
    Test->replaceAllUsesWith(B.CreateICmpNE(IsBusy, B.getInt8(0)));
    for (Instruction *Dead : {static_cast<Instruction *>(Test), static_cast<Instruction *>(Mask), static_cast<Instruction *>(Load)})
      Dead->eraseFromParent();
  }
}

/// The rest of a function that calls the runtime if a condition holds.
static void finishTest(const Writer &Write, IRBuilder<> &B, Value *Condition, Function *Hook, Value *Location) {
  BasicBlock *Cold = BasicBlock::Create(B.getContext(), "", B.GetInsertBlock()->getParent());
  BasicBlock *Back = BasicBlock::Create(B.getContext(), "", B.GetInsertBlock()->getParent());
  Write.unlikely(B, Condition, Cold, Back);
  B.SetInsertPoint(Cold);
  Write.call(B, Hook, {Location});
  B.CreateBr(Back);
  B.SetInsertPoint(Back);
  B.CreateRetVoid();
}

void Writer::callTest(IRBuilder<> &B, uint32_t Location) const {
  if (!Unit.Test) {
    IRBuilder<> Inside(B.getContext());
    Unit.Test = outlined("covsched.loom.test", 2, Inside);
    Value *Busy = Inside.CreateICmpNE(load(Inside, B.getInt8Ty(), Unit.Test->getArg(0)), B.getInt8(0));
    finishTest(*this, Inside, Busy, Unit.Check, Unit.Test->getArg(1));
  }
  call(B, Unit.Test, {Unit.functionByte(Function), Unit.location(Location)});
}

void Writer::callRelease(IRBuilder<> &B, Value *To) const {
  if (!Unit.Release) {
    IRBuilder<> Inside(B.getContext());
    Unit.Release = outlined("covsched.loom.release", 1, Inside);
    setAt(Inside, Unit.Release->getArg(0));
    Inside.CreateRetVoid();
  }
  call(B, Unit.Release, {To->getType()->isPointerTy() ? To : B.CreateIntToPtr(To, B.getPtrTy())});
}

void Writer::callRetake(IRBuilder<> &B, uint32_t Location) const {
  if (!Unit.Retake) {
    IRBuilder<> Inside(B.getContext());
    Unit.Retake = outlined("covsched.loom.retake", 1, Inside);
    setRunning(Inside);
    Value *Pending = Inside.CreateICmpNE(load(Inside, B.getInt8Ty(), Unit.Pending), B.getInt8(0));
    finishTest(*this, Inside, Pending, Unit.Reacquire, Unit.Retake->getArg(0));
  }
  call(B, Unit.Retake, {Unit.location(Location)});
}

CallInst *Writer::call(IRBuilder<> &B, llvm::Function *Hook, ArrayRef<Value *> Args) const {
  CallInst *Call = B.CreateCall(Hook->getFunctionType(), Hook, Args);
  Call->setCallingConv(Hook->getCallingConv());
  Call->setDoesNotThrow();
  Call->addFnAttr(Attribute::NoMerge);
  return Call;
}

BranchInst *Writer::unlikely(IRBuilder<> &B, Value *Condition, BasicBlock *Then, BasicBlock *Otherwise) const {
  return B.CreateCondBr(Condition, Then, Otherwise, MDBuilder(B.getContext()).createBranchWeights(1, 1 << 20));
}

/// Puts an array in the place of its declaration.
static GlobalVariable *define(Module &M, GlobalVariable *Declared, StringRef Name, Constant *Init, bool IsConstant) {
  auto *G = new GlobalVariable(M, Init->getType(), IsConstant, GlobalValue::InternalLinkage, Init, Name);
  G->setAlignment(Align(8));
  keepFromSanitizers(*G);
  if (Declared) {
    Declared->replaceAllUsesWith(G);
    G->takeName(Declared);
    Declared->eraseFromParent();
  }
  return G;
}

/// An array that fast paths read.
static GlobalVariable *defineAlone(Module &M, GlobalVariable *Declared, StringRef Name, Constant *Array) {
  GlobalVariable *G = define(M, Declared, Name, fillCacheLines(*Array, M.getDataLayout()), false);
  G->setAlignment(Align(CacheLine));
  return G;
}

static GlobalVariable *defineHashes(Module &M, StringRef Name, const uint64_t *Hashes, size_t Count) {
  ArrayRef<uint64_t> All(Hashes, Count);
  return define(M, nullptr, Name, ConstantDataArray::get(M.getContext(), All), true);
}

/// A function without parameters, one a linked object, that gives all its descriptors to the runtime. Null if it is there.
static Function *makeGiver(Module &M, const CovLoomUnit &Facts, StringRef Name, StringRef Symbol) {
  if (M.getFunction(Name))
    return nullptr;
  LLVMContext &Context = M.getContext();
  auto bound = [&](StringRef Prefix) -> GlobalVariable * {
    std::string Bound = (Prefix + str(Facts.section)).str();
    if (GlobalVariable *Known = M.getGlobalVariable(Bound))
      return Known;
    // Weak, since a linker that drops the section defines none.
    auto *G = new GlobalVariable(M, Type::getInt8Ty(Context), false, GlobalValue::ExternalWeakLinkage, nullptr, Bound);
    G->setVisibility(GlobalValue::HiddenVisibility);
    return G;
  };
  Type *Pointer = PointerType::get(Context, 0);
  FunctionCallee Hook =
      M.getOrInsertFunction(Symbol, FunctionType::get(Type::getVoidTy(Context), {Pointer, Pointer}, false));
  Function *F = Function::createWithDefaultAttr(FunctionType::get(Type::getVoidTy(Context), false),
                                                GlobalValue::LinkOnceODRLinkage, 0, Name, &M);
  F->setVisibility(GlobalValue::HiddenVisibility);
  F->setDSOLocal(true);
  F->setComdat(M.getOrInsertComdat(Name));
  F->setUWTableKind(UWTableKind::Default);
  F->addFnAttr(covsched::InstrumentedAttribute);
  F->addFnAttr(DoneAttribute);
  IRBuilder<> Builder(BasicBlock::Create(Context, "", F));
  Builder.CreateCall(Hook, {bound("__start_"), bound("__stop_")});
  Builder.CreateRetVoid();
  return F;
}

/// Before every constructor of the program's own, and after every destructor. The key makes the entry one a linked object, too.
static void addConstructor(Module &M, const CovLoomUnit &Facts) {
  if (Function *F = makeGiver(M, Facts, "covsched.loom.register", str(Facts.register_hook)))
    appendToGlobalCtors(M, F, 0, F);
  if (Function *F = makeGiver(M, Facts, "covsched.loom.unregister", str(Facts.unregister_hook)))
    appendToGlobalDtors(M, F, 0, F);
}

/// Options of the code generator's own, which it else follows only where there is a profile. A command line that has one wins; without them
/// code is only slower.
///
/// - Control comes back from a slow path into a loop of the fast one: where it crosses is a part of that loop, though hardly ever executed,
///   and would be put between the blocks that are.
/// - With a check in it, a loop's last block is two. It would no longer be put before the first, so that each iteration jumps once more
///   than native's (compressor's `produce`).
static void layOutLoopsByFrequency() {
  static std::once_flag Once; // LTO compiles in several threads
  std::call_once(Once, [] {
    StringMap<cl::Option *> &Options = cl::getRegisteredOptions();
    for (StringRef Name : {"force-loop-cold-block", "force-precise-rotation-cost"}) {
      auto Found = Options.find(Name);
      if (Found != Options.end() && Found->second->getNumOccurrences() == 0)
        Found->second->addOccurrence(0, Name, "true");
    }
  });
}

extern "C" {

CovLoom *cov_loom_new(LLVMModuleRef module, const CovLoomAbi *abi) {
  auto *Unit = new CovLoom(*unwrap(module), *abi);
  if (Unit->At && Unit->Pending && Unit->Check && Unit->Reacquire && Unit->Slot && Unit->Enter && Unit->HandlerEnter &&
      Unit->Leave)
    return Unit;
  cov_loom_drop(Unit);
  return nullptr;
}

void cov_loom_drop(CovLoom *unit) {
  for (GlobalVariable *Array : {unit->Functions, unit->Locations, unit->Slots, unit->Calls})
    if (Array && Array->isDeclaration() && Array->use_empty())
      Array->eraseFromParent();
  delete unit;
}

void cov_loom_finish(CovLoom *unit, const CovLoomUnit *facts) {
  Module &M = unit->M;
  LLVMContext &Context = M.getContext();
  Type *Byte = Type::getInt8Ty(Context), *Half = Type::getInt32Ty(Context), *Word = Type::getInt64Ty(Context);
  auto zeros = [](Type *Element, uint64_t Count) {
    return ConstantAggregateZero::get(ArrayType::get(Element, Count));
  };
  for (CallInst *Slot : unit->SlotCalls)
    for (const char *Kind : {"covsched.from", "covsched.available"})
      Slot->setMetadata(Kind, nullptr);
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      for (const char *Kind : {covsched::LoomLocation, covsched::LoomLast})
        I.setMetadata(Kind, nullptr);
  // Everything that describes the slow paths is in place.
  callDirectly(*unit);
  for (const Cloned &C : unit->Cloned)
    if (splitSlowPath(*C.F))
      skipEntryTests(C);
  for (Function *F : unit->Entered)
    makeEntry(*unit, *F);
  for (const Handler &Of : unit->Handlers)
    makeHandlerEntry(*unit, Of);
  testInOne(*unit);
  if (!unit->Cloned.empty())
    layOutLoopsByFrequency();
  uint32_t Locations = facts->locations + unit->SlotCount;
  unit->Locations = define(M, unit->Locations, "covsched.loom.locations", zeros(Byte, Locations), false);
  unit->Functions = defineAlone(M, unit->Functions, "covsched.loom.functions", zeros(Word, facts->functions));
  unit->Slots = define(M, unit->Slots, "covsched.loom.slots", zeros(Word, unit->SlotCount), false);
  SmallVector<Constant *, 16> Cells;
  for (size_t I = 0; I < facts->cell_count; ++I)
    Cells.push_back(unit->location(facts->cell_locations[I]));
  Constant *AllCells = ConstantArray::get(ArrayType::get(PointerType::get(Context, 0), Cells.size()), Cells);
  unit->Calls = defineAlone(M, unit->Calls, "covsched.loom.calls", AllCells);
  GlobalVariable *Callees = defineHashes(M, "covsched.loom.callees", facts->callees, facts->cell_count);
  GlobalVariable *Defined = defineHashes(M, "covsched.loom.defined", facts->defined, facts->defined_count);

  auto half = [&](uint64_t Value) -> Constant * { return ConstantInt::get(Half, Value); };
  constexpr uint32_t Size = 8 + 8 + 6 * 8 + 6 * 4;
  Constant *Record = ConstantStruct::getAnon({half(facts->version),
                                              half(Size),
                                              ConstantInt::get(Word, facts->hash),
                                              unit->Functions,
                                              unit->Locations,
                                              unit->Slots,
                                              unit->Calls,
                                              Callees,
                                              Defined,
                                              half(facts->functions),
                                              half(Locations),
                                              half(unit->SlotCount),
                                              half(facts->locations),
                                              half(facts->cell_count),
                                              half(facts->defined_count)});
  // Not constant: the loader writes its addresses.
  GlobalVariable *Unit = define(M, nullptr, "covsched.loom.unit", Record, false);
  Unit->setSection(str(facts->section));
  appendToUsed(M, {Unit});
  addConstructor(M, *facts);
}

}  // extern "C"
