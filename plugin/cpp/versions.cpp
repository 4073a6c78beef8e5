// Two versions of a function: one for a recording, with its markers, and one for every other run, without.
// ```text
// F:           if (*active == only) [unlikely] return F.recorded(arguments)   ; musttail
//              the body without markers
// F.recorded:  the body with them
// ```
// The test stands at the entry, or behind branches from there: where nothing has happened yet that may not happen twice, and on the
// ways that come to a marker only. So a short way through F pays nothing.
//
// Tables with the addresses of labels (computed gotos) are copied with the function. In debug info F is inlined in F.recorded.

#include <optional>

#include "llvm-c/Core.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"
#include "loom.h"
#include "shared.h"

using namespace llvm;

/// With more tests than this, one at the entry is smaller.
static constexpr size_t MostTests = 4;

/// Tests around markers also need registers, so that they pay only where one in so many calls comes to a marker.
static constexpr uint64_t Seldom = 64;

namespace {

using Blocks = SmallVector<BasicBlock *, 4>;

/// Where a function is to be tested.
class Tests {
public:
  Tests(Function &F, ArrayRef<LLVMValueRef> Markers) : F(F) {
    SmallVector<BasicBlock *, 16> Work;
    for (LLVMValueRef Marker : Markers)
      Work.push_back(unwrap<Instruction>(Marker)->getParent());
    Marked.insert(Work.begin(), Work.end());
    while (!Work.empty()) {
      BasicBlock *Block = Work.pop_back_val();
      if (Leading.insert(Block).second)
        Work.append(pred_begin(Block), pred_end(Block));
    }
  }

  /// The blocks at whose start the test stands: on each way to a marker one.
  Blocks find() {
    Blocks Found;
    bool IsFree = false;
    sink(F.getEntryBlock(), Found, IsFree);
    return IsFree && Found.size() <= MostTests ? Found : Blocks{&F.getEntryBlock()};
  }

private:
  Function &F;
  SmallPtrSet<BasicBlock *, 16> Marked;
  SmallPtrSet<BasicBlock *, 16> Leading; // to a marker

  static bool mayHappenTwice(const Instruction &I) {
    if (isa<DbgInfoIntrinsic>(I) || I.isLifetimeStartOrEnd())
      return true;
    if (auto *Alloca = dyn_cast<AllocaInst>(&I))
      return Alloca->isStaticAlloca();
    if (I.isTerminator())
      return isa<BranchInst>(I) || isa<SwitchInst>(I);
    return !isa<CallBase>(I) && !I.isEHPad() && !I.mayHaveSideEffects();
  }

  /// `IsFree`: there is a way behind this block without a test. If there is none, the block itself is the place.
  void sink(BasicBlock &Block, Blocks &Found, bool &IsFree) {
    size_t Before = Found.size();
    bool IsFreeHere = false;
    if (!Marked.count(&Block) && all_of(Block, mayHappenTwice) &&
        all_of(successors(&Block), [&](BasicBlock *Next) { return !Leading.count(Next) || Next->getSinglePredecessor(); }))
      for (BasicBlock *Next : successors(&Block)) {
        if (Leading.count(Next))
          sink(*Next, Found, IsFreeHere);
        else
          IsFreeHere = true;
      }
    if (!IsFreeHere)
      Found.resize(Before), Found.push_back(&Block);
    IsFree |= IsFreeHere;
  }
};

using Tables = SmallSetVector<GlobalVariable *, 4>;

/// Whether only F's own code comes to the constant. The variables in which it stands are collected.
bool staysInside(const Function &F, Constant &C, Tables &Found) {
  for (User *Who : C.users()) {
    if (auto *I = dyn_cast<Instruction>(Who)) {
      if (I->getFunction() != &F)
        return false;
    } else if (auto *Table = dyn_cast<GlobalVariable>(Who)) {
      if (!Table->isConstant() || !Table->hasLocalLinkage() || Table->hasComdat())
        return false;
      if (Found.insert(Table) && !staysInside(F, *Table, Found))
        return false;
    } else if (!isa<Constant>(Who) || isa<GlobalValue>(Who) || !staysInside(F, *cast<Constant>(Who), Found)) {
      return false;
    }
  }
  return true;
}

/// The constants with addresses of F's labels, as computed gotos have them; nothing if somebody else sees such an address.
std::optional<Tables> labelTables(Function &F) {
  Tables Found;
  for (BasicBlock &Block : F)
    if (auto *Address = BlockAddress::lookup(&Block); Address && !staysInside(F, *Address, Found))
      return std::nullopt;
  return Found;
}

/// The same code under another name, without a description of its own in debug info.
Function *copyOf(Function &F) {
  bool IsShared = F.hasComdat();
  Function *New = Function::Create(F.getFunctionType(), GlobalValue::InternalLinkage, F.getAddressSpace(),
                                   F.getName() + ".recorded", F.getParent());
  ValueToValueMapTy Map;
  for (auto [Old, Own] : zip(F.args(), New->args())) {
    Own.setName(Old.getName());
    Map[&Old] = &Own;
  }
  Tables OfLabels = *labelTables(F);
  for (GlobalVariable *Table : OfLabels) {
    auto *Own = new GlobalVariable(*F.getParent(), Table->getValueType(), true, Table->getLinkage(), nullptr,
                                   Table->getName() + ".recorded");
    Own->copyAttributesFrom(Table);
    Map[Table] = Own;
  }
  DISubprogram *Program = F.getSubprogram();
  F.setSubprogram(nullptr);
  SmallVector<ReturnInst *, 4> Returns;
  CloneFunctionInto(New, &F, Map, CloneFunctionChangeType::LocalChangesOnly, Returns);
  F.setSubprogram(Program);
  for (GlobalVariable *Table : OfLabels)
    cast<GlobalVariable>(Map[Table])->setInitializer(MapValue(Table->getInitializer(), Map));
  New->setLinkage(GlobalValue::InternalLinkage);
  New->setVisibility(GlobalValue::DefaultVisibility);
  New->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  New->setDSOLocal(true);
  if (IsShared) {
    // A group of its own: whichever unit's copy of F the linker keeps, and wherever F is inlined, it finds this one.
    New->setLinkage(GlobalValue::LinkOnceODRLinkage);
    New->setVisibility(GlobalValue::HiddenVisibility);
    New->setComdat(F.getParent()->getOrInsertComdat(New->getName()));
  }
  New->setPrefixData(nullptr);
  New->setPrologueData(nullptr);
  // Nobody calls it by address.
  for (unsigned Kind : {LLVMContext::MD_type, LLVMContext::MD_kcfi_type, LLVMContext::MD_func_sanitize})
    New->eraseMetadata(Kind);
  if (Program)
    covsched::loom::describeAsInlined(*New, *Program);
  return New;
}

/// A block that returns what `To` returns for the function's own arguments.
BasicBlock *handOver(Function &F, Function &To) {
  LLVMContext &Context = F.getContext();
  IRBuilder<> B(BasicBlock::Create(Context, "recorded", &F));
  SmallVector<Value *, 8> Args;
  SmallVector<AttributeSet, 8> Params;
  for (Argument &A : F.args()) {
    Args.push_back(&A);
    Params.push_back(F.getAttributes().getParamAttrs(A.getArgNo()));
  }
  CallInst *Call = B.CreateCall(F.getFunctionType(), &To, Args);
  Call->setTailCallKind(CallInst::TCK_MustTail);
  Call->setCallingConv(F.getCallingConv());
  Call->setAttributes(AttributeList::get(Context, AttributeSet(), F.getAttributes().getRetAttrs(), Params));
  Call->addFnAttr(Attribute::NoInline);
  if (DISubprogram *Program = F.getSubprogram())
    Call->setDebugLoc(DILocation::get(Context, 0, 0, Program));
  if (F.getReturnType()->isVoidTy())
    B.CreateRetVoid();
  else
    B.CreateRet(Call);
  return B.GetInsertBlock();
}

void testAt(BasicBlock &Block, BasicBlock &Recorded, Value *Active, uint8_t Only) {
  bool IsEntry = Block.isEntryBlock();
  Instruction *At = IsEntry ? unwrap<Instruction>(cov_entry_point(wrap(static_cast<Value *>(Block.getParent()))))
                            : &*Block.getFirstInsertionPt();
  BasicBlock *Rest = Block.splitBasicBlock(At);
  Block.getTerminator()->eraseFromParent();
  IRBuilder<> B(&Block);
  B.SetCurrentDebugLocation(DebugLoc());
  LoadInst *Byte = B.CreateLoad(B.getInt8Ty(), Active);
  Byte->setMetadata(LLVMContext::MD_nosanitize, MDNode::get(B.getContext(), {}));
  B.CreateCondBr(B.CreateICmpEQ(Byte, B.getInt8(Only)), &Recorded, Rest,
                 MDBuilder(B.getContext()).createBranchWeights(1, 1 << 20));
}

/// Whether the function shares its group with something that has no name outside: that would be gone with the group.
bool sharesGroupWithLocals(const Function &F) {
  return any_of(F.getComdat()->getUsers(), [](const GlobalObject *Who) { return Who->hasLocalLinkage(); });
}

bool isTraced(const Function &F) {
  return any_of(ArrayRef({"instrument-function-entry-inlined", "instrument-function-exit-inlined", "function-instrument",
                          "fentry-call", "patchable-function", "patchable-function-entry"}),
                [&](const char *Name) { return F.hasFnAttribute(Name); });
}

/// Whether tests around the markers are run so much less often than the tests of versions.
bool isRare(Function &F, ArrayRef<LLVMValueRef> Markers) {
  DominatorTree Dominators(F);
  LoopInfo Loops(Dominators);
  BranchProbabilityInfo Branches(F, Loops);
  BlockFrequencyInfo Frequencies(F, Branches, Loops);
  BlockFrequency OfMarkers, OfTests; // sums that do not overflow
  for (LLVMValueRef Marker : Markers)
    OfMarkers += Frequencies.getBlockFreq(unwrap<Instruction>(Marker)->getParent());
  for (BasicBlock *Block : Tests(F, Markers).find())
    OfTests += Frequencies.getBlockFreq(Block);
  return OfMarkers.getFrequency() < OfTests.getFrequency() / Seldom;
}

StringRef versionOf(const Function &F) { return F.getFnAttribute(covsched::VersionAttribute).getValueAsString(); }

/// What a tested version hands over to; null if it is not seen any more.
Function *recordedOf(Function &F) {
  for (BasicBlock &Block : F)
    if (CallInst *Call = Block.getTerminatingMustTailCall())
      if (Function *To = Call->getCalledFunction(); To && versionOf(*To) == "recorded")
        return To;
  return nullptr;
}

/// What the recorded version took over from F, and what it did not.
void takePlace(Function &Recorded, Function &F) {
  Recorded.setLinkage(F.getLinkage());
  Recorded.setVisibility(F.getVisibility());
  Recorded.setDLLStorageClass(F.getDLLStorageClass());
  Recorded.setDSOLocal(F.isDSOLocal());
  Recorded.setComdat(F.getComdat());
  if (F.hasPrefixData())
    Recorded.setPrefixData(F.getPrefixData());
  if (F.hasPrologueData())
    Recorded.setPrologueData(F.getPrologueData());
  SmallVector<MDNode *, 2> Types;
  F.getMetadata(LLVMContext::MD_type, Types);
  for (MDNode *Type : Types)
    Recorded.addMetadata(LLVMContext::MD_type, *Type);
  for (unsigned Kind : {LLVMContext::MD_kcfi_type, LLVMContext::MD_func_sanitize})
    Recorded.setMetadata(Kind, F.getMetadata(Kind));
  // First the labels, whose addresses would go to the other function.
  F.deleteBody();
  F.replaceAllUsesWith(&Recorded);
  Recorded.takeName(&F);
  F.eraseFromParent();
}

}  // namespace

extern "C" {

CovVersionObstacle cov_version_obstacle(LLVMValueRef function, const LLVMValueRef *markers, size_t count) {
  Function &F = *unwrap<Function>(function);
  Triple Target(F.getParent()->getTargetTriple());
  if (Target.getArch() != Triple::x86_64 && Target.getArch() != Triple::aarch64)
    return COV_VERSION_TARGET;
  if (F.hasFnAttribute(covsched::loom::DoneAttribute))
    return COV_VERSION_LOOM;
  if (F.isDeclarationForLinker())
    return COV_VERSION_ELSEWHERE;
  if (F.isVarArg())
    return COV_VERSION_VARIADIC;
  // AddressSanitizer makes frames in which no call can take the function's place.
  if (F.hasFnAttribute(Attribute::Naked) || F.isPresplitCoroutine() || F.hasGC() || isTraced(F) ||
      F.hasFnAttribute(Attribute::SanitizeAddress))
    return COV_VERSION_SPECIAL;
  for (const Argument &A : F.args())
    // What is passed in memory LLVM 16 would copy to the wrong place.
    if (A.hasByValAttr() || A.hasInAllocaAttr() || A.hasPreallocatedAttr() || A.hasSwiftErrorAttr() || A.hasNestAttr() ||
        A.hasAttribute(Attribute::SwiftAsync))
      return COV_VERSION_SPECIAL;
  if (F.hasOptNone())
    return COV_VERSION_OPTNONE;
  if (F.hasOptSize())
    return COV_VERSION_SIZE;
  bool IsSame = F.hasLinkOnceODRLinkage() || F.hasWeakODRLinkage();
  if (F.hasComdat() && (!IsSame || sharesGroupWithLocals(F)))
    return COV_VERSION_GROUP;
  if (!labelTables(F))
    return COV_VERSION_BLOCK_ADDRESS;
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I); Call && (Call->cannotDuplicate() || Call->isConvergent()))
      return COV_VERSION_NODUPLICATE;
  return isRare(F, ArrayRef(markers, count)) ? COV_VERSION_RARE : COV_VERSION_POSSIBLE;
}

bool cov_is_only_called(LLVMValueRef function) {
  Function &F = *unwrap<Function>(function);
  return F.hasLocalLinkage() && all_of(F.uses(), [&](const Use &U) {
           auto *Call = dyn_cast<CallBase>(U.getUser());
           return Call && Call->isCallee(&U) && Call->getFunctionType() == F.getFunctionType();
         });
}

bool cov_binds_here(LLVMValueRef function) {
  Function &F = *unwrap<Function>(function);
  return F.hasLocalLinkage() || (F.isDSOLocal() && !F.isInterposable());
}

LLVMValueRef cov_make_versions(LLVMValueRef function, const LLVMValueRef *markers, size_t count,
                               LLVMValueRef active, uint8_t only) {
  Function &F = *unwrap<Function>(function);
  ArrayRef Markers(markers, count);
  Function *Recorded = copyOf(F);
  Recorded->addFnAttr(covsched::VersionAttribute, "recorded");
  F.addFnAttr(covsched::VersionAttribute, active ? "tested" : "plain");
  if (active) {
    cov_gather_allocas(function);
    Blocks Places = Tests(F, Markers).find();
    BasicBlock *Over = handOver(F, *Recorded);
    for (BasicBlock *Block : Places)
      testAt(*Block, *Over, unwrap(active), only);
  }
  for (LLVMValueRef Marker : Markers) {
    auto *Call = unwrap<CallInst>(Marker);
    if (!Call->use_empty())
      Call->replaceAllUsesWith(Constant::getNullValue(Call->getType()));
    Call->eraseFromParent();
  }
  return wrap(Recorded);
}

bool cov_join_versions(LLVMModuleRef module) {
  SmallVector<Function *, 16> Plain, Recorded;
  SmallVector<std::pair<Function *, Function *>, 16> Tested;
  for (Function &F : *unwrap(module)) {
    if (versionOf(F) == "plain")
      Plain.push_back(&F);
    else if (versionOf(F) == "recorded")
      Recorded.push_back(&F);
    else if (versionOf(F) == "tested")
      if (Function *To = recordedOf(F))
        Tested.push_back({&F, To});
  }
  for (auto [F, To] : Tested)
    takePlace(*To, *F);
  for (Function *F : Plain)
    F->deleteBody();
  for (Function *F : Plain)
    if (F->use_empty())
      F->eraseFromParent();
  for (Function *F : Recorded) {
    F->removeFnAttr(covsched::VersionAttribute);
    StringRef Name = F->getName();
    if (Name.consume_back(".recorded") && !unwrap(module)->getNamedValue(Name))
      F->setName(Name.str());
  }
  return !Recorded.empty();
}

bool cov_redirect(LLVMValueRef call, LLVMValueRef from, LLVMValueRef to) {
  auto *Call = unwrap<CallBase>(call);
  if (Call->getCalledOperand() != unwrap(from) || Call->getFunctionType() != unwrap<Function>(from)->getFunctionType())
    return false;
  Call->setCalledFunction(unwrap<Function>(to));
  return true;
}

}  // extern "C"
