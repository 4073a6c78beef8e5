// Accesses to memory that other threads may see.
//
// Left out: locals that nobody gets the address of, variables that each thread has its own of, constants, and virtual
// tables, which optimizers stop reading where they know the method.

#include "tell_access.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "tell_path.h"
#include "shared.h"

using namespace llvm;
using covsched::AccessFinder;

/// FNV-1a: LLVM's own hashes may differ from one run to the next.
static uint64_t mix(uint64_t Hash, uint64_t Word) {
  for (int I = 0; I < 8; ++I)
    Hash = (Hash ^ ((Word >> (8 * I)) & 0xff)) * 0x100000001b3ull;
  return Hash;
}

static uint64_t mix(StringRef Text) {
  uint64_t Hash = 0xcbf29ce484222325ull;
  for (char C : Text)
    Hash = (Hash ^ static_cast<uint8_t>(C)) * 0x100000001b3ull;
  return Hash;
}

uint64_t AccessFinder::calleeHash(StringRef Name) { return Name.empty() ? 0 : mix(mix("call"), mix(Name)); }

AccessFinder::AccessFinder(Function &F, bool (*Forgets)(CovText))
    : F(F), Layout(F.getParent()->getDataLayout()), Forgets(Forgets) {
  uint64_t Ordinal = 0;
  for (Instruction &I : instructions(F)) {
    Ordinals[&I] = Ordinal++;
    // After optimization a local that stays in memory may have lost its declaration; values tell its name then.
    if (auto *Variable = dyn_cast<DbgVariableIntrinsic>(&I); Variable && !Variable->hasArgList())
      if (Value *Where = Variable->getVariableLocationOp(0); Where && isa<AllocaInst>(Where))
        Names.try_emplace(Where, Variable->getVariable()->getName());
  }
}

StringRef AccessFinder::nameOf(const Value *Object) {
  if (auto *Global = dyn_cast<GlobalVariable>(Object)) {
    SmallVector<DIGlobalVariableExpression *, 1> Infos;
    Global->getDebugInfo(Infos);
    return Infos.empty() ? GlobalValue::dropLLVMManglingEscape(Global->getName())
                         : Infos[0]->getVariable()->getName();
  }
  return Names.lookup(Object);
}

namespace {

/// Whether somebody keeps an address. A library that fills a local structure does not.
struct Tracker : CaptureTracker {
  explicit Tracker(bool (*Forgets)(CovText)) : Forgets(Forgets) {}
  void tooManyUses() override { IsKept = true; }
  bool captured(const Use *U) override {
    auto *Call = dyn_cast<CallBase>(U->getUser());
    auto *Callee = Call ? dyn_cast<GlobalValue>(Call->getCalledOperand()->stripPointerCasts()) : nullptr;
    if (Callee && Call->isArgOperand(U) &&
        Forgets(covsched::text(GlobalValue::dropLLVMManglingEscape(Callee->getName()))))
      return false;
    IsKept = true;
    return true;
  }
  bool (*Forgets)(CovText);
  bool IsKept = false;
};

}  // namespace

bool AccessFinder::isGivenAway(const Value *Local) {
  auto [At, New] = GivenAway.try_emplace(Local, false);
  if (New) {
    Tracker Kept(Forgets);
    PointerMayBeCaptured(Local, &Kept);
    return GivenAway[Local] = Kept.IsKept;
  }
  return At->second;
}

uint64_t AccessFinder::hash(const Value *V, unsigned Depth) {
  if (Depth > 12)
    return 0;
  if (V->getType()->isPointerTy()) {
    APInt Offset(Layout.getIndexTypeSizeInBits(V->getType()), 0);
    const Value *Base = V->stripAndAccumulateConstantOffsets(Layout, Offset, /*AllowNonInbounds=*/true);
    if (Base != V) {
      uint64_t Of = hash(Base, Depth + 1);
      return Offset.isZero() || Of == 0 ? Of : mix(mix(mix("offset"), Of), Offset.getZExtValue());
    }
  }
  if (auto *Global = dyn_cast<GlobalValue>(V))
    return mix(mix("global"), mix(Global->getName()));
  if (auto *Number = dyn_cast<ConstantInt>(V))
    return Number->getBitWidth() <= 64 ? mix(mix("number"), Number->getSExtValue()) : 0;
  if (isa<ConstantPointerNull>(V))
    return mix("null");
  if (auto *Parameter = dyn_cast<Argument>(V))
    return mix(mix("parameter"), Parameter->getArgNo());
  auto *I = dyn_cast<Instruction>(V);
  if (!I)
    return 0;
  auto All = [&](uint64_t Hash) -> uint64_t {
    for (const Value *Operand : I->operands()) {
      uint64_t Of = hash(Operand, Depth + 1);
      if (Of == 0)
        return 0;
      Hash = mix(Hash, Of);
    }
    return Hash;
  };
  if (isa<CastInst>(I) || isa<FreezeInst>(I))
    return hash(I->getOperand(0), Depth + 1);
  if (isa<LoadInst>(I))
    return All(mix("load"));
  if (auto *Element = dyn_cast<GetElementPtrInst>(I)) {
    uint64_t Hash = mix("element");
    for (auto It = gep_type_begin(Element), End = gep_type_end(Element); It != End; ++It)
      Hash = mix(Hash, It.isStruct() ? 0 : Layout.getTypeAllocSize(It.getIndexedType()).getKnownMinValue());
    return All(Hash);
  }
  if (isa<BinaryOperator>(I))
    return All(mix(mix("binary"), I->getOpcode()));
  if (auto *Own = dyn_cast<IntrinsicInst>(I); Own && Own->getIntrinsicID() == Intrinsic::threadlocal_address)
    return hash(Own->getArgOperand(0), Depth + 1);
  if (StringRef Name = Names.lookup(I); !Name.empty())
    return mix(mix("local"), mix(Name));
  // Some value, the same for everything that uses it.
  return mix(mix(mix("value"), I->getOpcode()), Ordinals.lookup(I));
}

static bool isOwnOfThread(const Value *Object) {
  if (auto *Own = dyn_cast<IntrinsicInst>(Object))
    return Own->getIntrinsicID() == Intrinsic::threadlocal_address;
  auto *Global = dyn_cast<GlobalVariable>(Object);
  return Global && Global->isThreadLocal();
}

static bool isVirtualTableRead(const Value *V) {
  auto *I = dyn_cast<Instruction>(V);
  MDNode *Tag = I ? I->getMetadata(LLVMContext::MD_tbaa) : nullptr;
  return Tag && Tag->isTBAAVtableAccess();
}

void AccessFinder::addOne(Instruction &I, const Value *Pointer, CovTellAccess Kind, uint64_t Bytes, bool Vector,
                          SmallVectorImpl<CovTellItem> &Items) {
  const Value *Object = getUnderlyingObject(Pointer, 0);
  if (isOwnOfThread(Object) || isVirtualTableRead(Object))
    return;
  bool IsLocal = isa<AllocaInst>(Object);
  if (auto *Parameter = dyn_cast<Argument>(Object))
    IsLocal = Parameter->hasByValAttr();
  if (IsLocal && !isGivenAway(Object))
    return;
  if (auto *Made = dyn_cast<Instruction>(Object); Made && Made->hasMetadata(covsched::LoomFrame))
    return;
  if (auto *Global = dyn_cast<GlobalVariable>(Object)) {
    StringRef Name = Global->getName();
    bool IsOurs = Name.startswith("covsched.loom.") || Name.startswith("covsched_");
    if (Global->isConstant() || IsOurs)
      return;
  }
  CovTellItem Item = {};
  Item.kind = COV_TELL_ACCESS;
  Item.inst = wrap(&I);
  Item.place = wrap(I.getDebugLoc().get());
  Item.object = covsched::text(nameOf(Object));
  Item.address = hash(Pointer);
  Item.number = COV_TELL_NONE;
  Item.bytes = Bytes > UINT32_MAX ? 0 : Bytes;
  Item.access = Kind;
  Item.flags = (IsLocal ? COV_TELL_LOCAL : 0) | (Vector ? COV_TELL_VECTOR : 0);
  Items.push_back(Item);
}

void AccessFinder::add(Instruction &I, SmallVectorImpl<CovTellItem> &Items) {
  auto SizeOf = [&](Type *Kind) -> uint64_t {
    TypeSize Size = Layout.getTypeStoreSize(Kind);
    return Size.isScalable() ? 0 : Size.getFixedValue();
  };
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    if (!isVirtualTableRead(Load) && !Load->hasMetadata(LLVMContext::MD_invariant_load))
      addOne(I, Load->getPointerOperand(), COV_TELL_READS, SizeOf(Load->getType()), Load->getType()->isVectorTy(), Items);
  } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
    Type *Kind = Store->getValueOperand()->getType();
    if (!isVirtualTableRead(Store))
      addOne(I, Store->getPointerOperand(), COV_TELL_WRITES, SizeOf(Kind), Kind->isVectorTy(), Items);
  } else if (auto *Update = dyn_cast<AtomicRMWInst>(&I)) {
    addOne(I, Update->getPointerOperand(), COV_TELL_UPDATES, SizeOf(Update->getType()), false, Items);
  } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
    uint64_t Size = SizeOf(Exchange->getNewValOperand()->getType());
    addOne(I, Exchange->getPointerOperand(), COV_TELL_UPDATES, Size, false, Items);
  } else if (auto *Memory = dyn_cast<AnyMemIntrinsic>(&I)) {
    auto *Length = dyn_cast<ConstantInt>(Memory->getLength());
    uint64_t Size = Length ? Length->getLimitedValue() : 0;
    if (auto *Copy = dyn_cast<AnyMemTransferInst>(&I))
      addOne(I, Copy->getSource(), COV_TELL_READS, Size, true, Items);
    addOne(I, Memory->getDest(), COV_TELL_WRITES, Size, true, Items);
  } else if (auto *Masked = dyn_cast<IntrinsicInst>(&I)) {
    switch (Masked->getIntrinsicID()) {
    case Intrinsic::masked_load:
      addOne(I, Masked->getArgOperand(0), COV_TELL_READS, SizeOf(Masked->getType()), true, Items);
      break;
    case Intrinsic::masked_store:
      addOne(I, Masked->getArgOperand(1), COV_TELL_WRITES, SizeOf(Masked->getArgOperand(0)->getType()), true, Items);
      break;
    case Intrinsic::masked_gather:
    case Intrinsic::masked_scatter: {
      // Many pointers: none of them tells what it is.
      CovTellItem Item = {};
      Item.kind = COV_TELL_ACCESS;
      Item.inst = wrap(&I);
      Item.place = wrap(I.getDebugLoc().get());
      Item.number = COV_TELL_NONE;
      Item.access = Masked->getIntrinsicID() == Intrinsic::masked_gather ? COV_TELL_READS : COV_TELL_WRITES;
      Item.flags = COV_TELL_VECTOR;
      Items.push_back(Item);
      break;
    }
    default:
      break;
    }
  }
}
