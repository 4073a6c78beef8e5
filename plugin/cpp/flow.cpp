// A function's control flow, as LLVM sees it: blocks, loops, cycles that are no loops.

#include "bridge.h"
#include "cycles.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "shared.h"
#include "spin.h"

using namespace llvm;

namespace {

using Numbers = SmallVector<uint32_t, 8>;

/// Blocks by their place in the function.
class Numbering {
public:
  explicit Numbering(Function &F) {
    for (BasicBlock &Block : F)
      Map.try_emplace(&Block, Map.size());
  }
  uint32_t of(const BasicBlock *Block) const { return Map.lookup(Block); }
  template <typename Range> Numbers all(Range &&Blocks) const {
    Numbers Result;
    for (const BasicBlock *Block : Blocks)
      Result.push_back(of(Block));
    return Result;
  }

private:
  DenseMap<const BasicBlock *, uint32_t> Map;
};

CovEnd endOf(const BasicBlock &Block) {
  const Instruction *Last = Block.getTerminator();
  if (isa<ReturnInst>(Last))
    return COV_END_RETURNS;
  if (isa<ResumeInst>(Last))
    return COV_END_UNWINDS;
  if (auto *Cleanup = dyn_cast<CleanupReturnInst>(Last))
    return Cleanup->hasUnwindDest() ? COV_END_GOES_ON : COV_END_UNWINDS;
  return COV_END_GOES_ON;
}

/// Where the test that covsched-lower puts around a marker leads when the runtime wants all markers; null if the block does
/// not end in one.
BasicBlock *takenByGuard(const BasicBlock &Block) {
  auto *Branch = dyn_cast<BranchInst>(Block.getTerminator());
  auto *Test = Branch && Branch->isConditional() ? dyn_cast<ICmpInst>(Branch->getCondition()) : nullptr;
  auto *Load = Test ? dyn_cast<LoadInst>(Test->getOperand(0)) : nullptr;
  auto *Limit = Test ? dyn_cast<ConstantInt>(Test->getOperand(1)) : nullptr;
  auto *Byte = Load ? dyn_cast<GlobalVariable>(Load->getPointerOperand()) : nullptr;
  if (!Byte || !Limit || Byte->getName() != "covsched_active" || Limit->getBitWidth() != 8)
    return nullptr;
  return Branch->getSuccessor(ICmpInst::compare(APInt(8, 1), Limit->getValue(), Test->getPredicate()) ? 0 : 1);
}

void visitBlock(BasicBlock &Block, const Numbering &Places, const CovFlowVisitor &Visitor, void *Context) {
  SmallVector<LLVMValueRef, 8> Calls;
  for (Instruction &I : Block)
    if (isa<CallBase>(I) && (!isa<IntrinsicInst>(I) || cov_resumes(wrap(&I))))
      Calls.push_back(wrap(&I));
  BasicBlock *Taken = takenByGuard(Block);
  Numbers Next = Taken ? Numbers{Places.of(Taken)} : Places.all(successors(&Block));
  BasicBlock::iterator Start = Block.getFirstInsertionPt();
  CovBlock Facts = {Start == Block.end() ? nullptr : wrap(&*Start), Next.data(), Next.size(), Calls.data(),
                    Calls.size(), endOf(Block), Taken != nullptr};
  Visitor.block(Context, &Facts);
}

/// Where a loop starts in the source, if the function's own debug info says it.
MDNode *startOf(const Loop &L) {
  DebugLoc Start = L.getStartLoc();
  if (!Start)
    for (const Instruction &I : *L.getHeader())
      if (I.getDebugLoc() && !isa<DbgInfoIntrinsic>(I)) {
        Start = I.getDebugLoc();
        break;
      }
  DISubprogram *Program = L.getHeader()->getParent()->getSubprogram();
  if (!Start || !Program || Start->getInlinedAtScope()->getSubprogram() != Program)
    return nullptr;
  return Start.get();
}

/// Inner loops first, in the order of the program. Returns the loop's number.
uint32_t visitLoop(const Loop &L, uint32_t &Count, covsched::ExitFinder &Exits, const Numbering &Places,
                   const CovFlowVisitor &Visitor, void *Context) {
  SmallVector<uint32_t, 4> Inner;
  for (const Loop *Sub : L)
    Inner.push_back(visitLoop(*Sub, Count, Exits, Places, Visitor, Context));
  SmallVector<BasicBlock *, 4> Latches;
  L.getLoopLatches(Latches);
  Numbers Blocks = Places.all(L.blocks()), Back = Places.all(Latches);
  CovLoop Facts = {Places.of(L.getHeader()), Blocks.data(), Blocks.size(), Back.data(), Back.size(),
                   Inner.data(), Inner.size(), wrap(startOf(L)), Exits.waitsForMemory(L.getBlocks()),
                   Exits.mayGoOn(L.getBlocks())};
  Visitor.loop(Context, &Facts);
  return Count++;
}

void visitIrreducible(ArrayRef<BasicBlock *> All, covsched::ExitFinder &Exits, const Numbering &Places,
                      const CovFlowVisitor &Visitor, void *Context) {
  Numbers Blocks = Places.all(All);
  CovIrreducible Facts = {Blocks.data(), Blocks.size(), Exits.waitsForMemory(All), Exits.mayGoOn(All)};
  Visitor.irreducible(Context, &Facts);
}

}  // namespace

extern "C" {

void cov_flow(LLVMValueRef function, const CovFlowVisitor *visitor, void *context) {
  Function &F = *unwrap<Function>(function);
  Numbering Places(F);
  for (BasicBlock &Block : F)
    visitBlock(Block, Places, *visitor, context);

  DominatorTree Dominators(F);
  LoopInfo Loops(Dominators);
  uint32_t Count = 0;
  auto IsThreadCall = [&](StringRef Name) { return visitor->is_thread_call(covsched::text(Name)); };
  covsched::ExitFinder Exits(IsThreadCall);
  // LoopInfo has its outermost loops in reverse.
  for (const Loop *L : reverse(Loops))
    visitLoop(*L, Count, Exits, Places, *visitor, context);

  for (ArrayRef<BasicBlock *> Cycle : covsched::irreducibleCycles(F))
    visitIrreducible(Cycle, Exits, Places, *visitor, context);
}

CovLocation cov_place_location(LLVMMetadataRef place) {
  auto *Place = cast<DILocation>(unwrap(place));
  return {covsched::text(Place->getFilename()), Place->getLine(), Place->getColumn()};
}

bool cov_constant_argument(LLVMValueRef call, size_t argument, uint64_t *value) {
  auto &Call = *unwrap<CallBase>(call);
  if (argument >= Call.arg_size())
    return false;
  auto *Constant = dyn_cast<ConstantInt>(Call.getArgOperand(argument));
  if (!Constant || Constant->getBitWidth() > 64)
    return false;
  *value = Constant->getZExtValue();
  return true;
}

CovResumes cov_resumes(LLVMValueRef call) {
  auto &Call = *unwrap<CallBase>(call);
  Intrinsic::ID Id = Call.getIntrinsicID();
  if (Id != Intrinsic::coro_resume && Id != Intrinsic::coro_destroy)
    return COV_NO_RESUME;
  return isa<InvokeInst>(Call) ? COV_RESUME_INVOKED : COV_RESUME_CALLED;
}

size_t cov_argument_count(LLVMValueRef call) { return unwrap<CallBase>(call)->arg_size(); }

uintptr_t cov_call_shape(LLVMValueRef call) {
  auto &Call = *unwrap<CallBase>(call);
  FunctionType *Type = Call.getFunctionType();
  return reinterpret_cast<uintptr_t>(Type->isVarArg() ? static_cast<void *>(&Call) : Type);
}

bool cov_call_may_reach(LLVMValueRef call, LLVMValueRef function) {
  auto &Call = *unwrap<CallBase>(call);
  FunctionType *Type = unwrap<Function>(function)->getFunctionType();
  if (!Call.getFunctionType()->isVarArg())
    return Type == Call.getFunctionType();
  // A pointer without a prototype, as old C has them, or to a variadic function: what is passed must fit.
  if (Type->getReturnType() != Call.getType() || Type->getNumParams() > Call.arg_size())
    return false;
  if (Type->getNumParams() < Call.arg_size() && !Type->isVarArg())
    return false;
  for (unsigned I = 0; I < Type->getNumParams(); ++I)
    if (Type->getParamType(I) != Call.getArgOperand(I)->getType())
      return false;
  return true;
}

/// Whether a use, possibly deep inside constants, makes the address a pointer that may be called.
static bool isTaken(const Value &V, bool (*starts)(CovText, size_t)) {
  for (const Use &U : V.uses()) {
    const User *Who = U.getUser();
    if (auto *Call = dyn_cast<CallBase>(Who)) {
      if (Call->isCallee(&U))
        continue;
      auto *Callee = dyn_cast<GlobalValue>(Call->getCalledOperand()->stripPointerCasts());
      if (Callee && Call->isArgOperand(&U) &&
          starts(covsched::text(GlobalValue::dropLLVMManglingEscape(Callee->getName())), Call->getArgOperandNo(&U)))
        continue;
      return true;
    }
    if (isa<Instruction>(Who))
      return true;
    if (auto *Variable = dyn_cast<GlobalVariable>(Who)) {
      // LLVM's own lists: constructors run before main, and nothing calls what is only kept.
      if (!Variable->getName().startswith("llvm."))
        return true;
      continue;
    }
    // A personality or prefix and a block's address are not called.
    if (isa<Function>(Who) || isa<BlockAddress>(Who))
      continue;
    if (auto *Alias = dyn_cast<GlobalAlias>(Who); Alias && Alias->isInterposable())
      return true;
    if (isa<GlobalIFunc>(Who))
      continue;
    if (isTaken(*Who, starts))
      return true;
  }
  return false;
}

bool cov_address_taken(LLVMValueRef function, bool (*starts)(CovText, size_t)) {
  return isTaken(*unwrap(function), starts);
}

}  // extern "C"
