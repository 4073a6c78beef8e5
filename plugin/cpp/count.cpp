// Counting instructions: each block adds how many it has.

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/EHPersonalities.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "shared.h"

using namespace llvm;
using covsched::str;

/// The function attribute of functions that count. Functions carry it, not modules: LTO merges modules.
static constexpr const char *CountedAttribute = "covsched-counted";

/// What would be an instruction of the machine, more or less.
static uint64_t countIn(const BasicBlock &Block) {
  uint64_t Count = 0;
  for (const Instruction &I : Block)
    Count += !isa<PHINode>(I) && !isa<AllocaInst>(I) && !I.isDebugOrPseudoInst() && !I.isLifetimeStartOrEnd();
  return Count;
}

/// The block before this one, if each runs if and only if the other does.
static BasicBlock *straightBefore(BasicBlock &Block) {
  BasicBlock *Before = Block.getSinglePredecessor();
  return Before && Before->getSingleSuccessor() == &Block ? Before : nullptr;
}

extern "C" {

LLVMValueRef cov_thread_counter(LLVMModuleRef module, CovText name) {
  Module &M = *unwrap(module);
  Type *Word = Type::getInt64Ty(M.getContext());
  if (GlobalValue *Known = M.getNamedValue(str(name))) {
    auto *G = dyn_cast<GlobalVariable>(Known);
    return G && G->getValueType() == Word && G->isThreadLocal() ? wrap(G) : nullptr;
  }
  // The runtime is in the executable, or in what is loaded with it: no call is needed to find the variable.
  return wrap(new GlobalVariable(M, Word, false, GlobalValue::ExternalLinkage, nullptr, str(name), nullptr,
                                 GlobalValue::InitialExecTLSModel));
}

bool cov_count_instructions(LLVMValueRef function, LLVMValueRef counter) {
  Function &F = *unwrap<Function>(function);
  bool Funclets = F.hasPersonalityFn() && isScopedEHPersonality(classifyEHPersonality(F.getPersonalityFn()));
  if (F.isDeclaration() || F.hasFnAttribute(CountedAttribute) || F.hasFnAttribute(Attribute::Naked) || Funclets)
    return false;
  // Straight runs of blocks add once, in their first one. In a cycle of such blocks, which nothing enters, each adds.
  DenseMap<BasicBlock *, uint64_t> Counts;
  for (BasicBlock &Block : F) {
    BasicBlock *First = &Block;
    while (BasicBlock *Before = straightBefore(*First)) {
      First = Before;
      if (First == &Block)
        break;
    }
    Counts[First] += countIn(Block);
  }
  MDNode *Own = MDNode::get(F.getContext(), {});
  for (BasicBlock &Block : F) {
    auto Found = Counts.find(&Block);
    if (Found == Counts.end())
      continue;
    auto At = Block.getFirstInsertionPt();
    while (At != Block.end() && isa<AllocaInst>(*At))
      ++At;
    if (At == Block.end())
      continue;
    IRBuilder<> Builder(&Block, At);
    Builder.SetCurrentDebugLocation(DebugLoc());
    Value *Counter = unwrap(counter);
    LoadInst *Old = Builder.CreateAlignedLoad(Builder.getInt64Ty(), Counter, Align(8));
    Value *Sum = Builder.CreateAdd(Old, Builder.getInt64(Found->second));
    StoreInst *New = Builder.CreateAlignedStore(Sum, Counter, Align(8));
    // The counter is ours, not the program's: no sanitizer looks at it.
    Old->setMetadata(LLVMContext::MD_nosanitize, Own);
    New->setMetadata(LLVMContext::MD_nosanitize, Own);
  }
  // It writes memory now. Calls that say otherwise may lose what the callee counted, and nothing else.
  F.removeFnAttr(Attribute::Memory);
  F.addFnAttr(CountedAttribute);
  return true;
}

}  // extern "C"
