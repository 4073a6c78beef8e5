// A module's code as words: functions, blocks and loops.

#include "code.h"

#include "bridge.h"
#include "code_loop.h"
#include "cycles.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/TargetParser/Triple.h"
#include "template.h"

using namespace llvm;

namespace covsched {

/// Whether a use, possibly deep inside constants, is something else than a call by name.
static bool isAddressTaken(const Value &V, SmallPtrSetImpl<const Value *> &Seen) {
  for (const Use &U : V.uses()) {
    const User *Who = U.getUser();
    if (auto *Call = dyn_cast<CallBase>(Who); Call && Call->isCallee(&U))
      continue;
    if (isa<BlockAddress>(Who))
      continue;
    if (auto *Variable = dyn_cast<GlobalVariable>(Who))
      if (Variable->getName() == "llvm.used" || Variable->getName() == "llvm.compiler.used")
        continue;
    auto *Alias = dyn_cast<GlobalAlias>(Who);
    if (Alias ? !Alias->hasLocalLinkage() : !isa<Constant>(Who) || isa<GlobalValue>(Who))
      return true;
    if (Seen.insert(Who).second && isAddressTaken(*Who, Seen))
      return true;
  }
  return false;
}

CodeWriter::CodeWriter(Module &M)
    : M(M), DL(M.getDataLayout()), WidePointers(DL.getPointerSizeInBits(0) == 64),
      Library(Triple(M.getTargetTriple())) {
  for (const Function &F : M)
    Functions.try_emplace(&F, Functions.size());
  for (const GlobalVariable &G : M.globals())
    Variables.try_emplace(&G, Variables.size());
}

void CodeWriter::text(StringRef Text) {
  put(reinterpret_cast<uintptr_t>(Text.data()));
  put(Text.size());
}

void CodeWriter::function(const Function &F) {
  put(reinterpret_cast<uintptr_t>(&F));
  text(GlobalValue::dropLLVMManglingEscape(F.getName()));
  SmallPtrSet<const Value *, 8> Seen;
  uint64_t Flags = flag(F.isVarArg(), CODE_VARIADIC) | flag(F.isIntrinsic(), CODE_INTRINSIC) |
                   flag(F.hasLocalLinkage(), CODE_INTERNAL) | flag(isAddressTaken(F, Seen), CODE_ADDRESS_TAKEN) |
                   flag(F.isInterposable(), CODE_INTERPOSABLE);
  MDNode *Mark = F.getMetadata(CloneMark);
  auto *Original = Mark && Mark->getNumOperands() == 3 ? dyn_cast<MDString>(Mark->getOperand(0)) : nullptr;
  auto *Thread = Original ? mdconst::dyn_extract<ConstantInt>(Mark->getOperand(1)) : nullptr;
  auto *Frame = Thread ? mdconst::dyn_extract<ConstantInt>(Mark->getOperand(2)) : nullptr;
  put(Flags | flag(Frame, CODE_CLONE));
  if (Frame) {
    text(GlobalValue::dropLLVMManglingEscape(Original->getString()));
    put(static_cast<uint64_t>(Thread->getSExtValue()));
    put(static_cast<uint64_t>(Frame->getSExtValue()));
  }
}

ArrayRef<uint64_t> CodeWriter::finish() {
  opaques();
  return Words;
}

ArrayRef<uint64_t> CodeWriter::module() {
  Words.clear();
  put(M.size());
  for (const Function &F : M)
    function(F);
  put(M.global_size());
  for (const GlobalVariable &G : M.globals())
    variable(G);
  return finish();
}

void CodeWriter::number(Function &F) {
  Values.clear();
  Blocks.clear();
  for (const Argument &A : F.args())
    Values.try_emplace(&A, Values.size());
  for (const BasicBlock &Block : F) {
    Blocks.try_emplace(&Block, Blocks.size());
    for (const Instruction &I : Block)
      if (!I.isDebugOrPseudoInst() && !I.getType()->isVoidTy())
        Values.try_emplace(&I, Values.size());
  }
}

ArrayRef<uint64_t> CodeWriter::body(Function &F) {
  Words.clear();
  number(F);
  put(Functions.lookup(&F));
  put(F.arg_size());
  for (const Argument &A : F.args()) {
    put(reinterpret_cast<uintptr_t>(&A));
    put(typeOf(A.getType()));
  }

  DominatorTree Dominators(F);
  LoopInfo Loops(Dominators);
  SmallVector<Loop *, 4> InOrder = Loops.getLoopsInPreorder();
  DenseMap<const Loop *, uint64_t> LoopNumbers;
  for (const Loop *L : InOrder)
    LoopNumbers.try_emplace(L, LoopNumbers.size() + 1);
  DenseSet<const BasicBlock *> Irreducible;
  for (const auto &Cycle : irreducibleCycles(F))
    Irreducible.insert(Cycle.begin(), Cycle.end());

  put(F.size());
  for (const BasicBlock &Block : F) {
    const DomTreeNode *Node = Dominators.getNode(&Block);
    const DomTreeNode *Above = Node ? Node->getIDom() : nullptr;
    put(flag(Node, CODE_REACHABLE) | flag(Irreducible.contains(&Block), CODE_IRREDUCIBLE));
    put(Above ? uint64_t(Blocks.lookup(Above->getBlock())) + 1 : 0);
    put(LoopNumbers.lookup(Loops.getLoopFor(&Block)));
    put(succ_size(&Block));
    for (const BasicBlock *Next : successors(&Block))
      put(Blocks.lookup(Next));
    size_t Count = Words.size();
    put(0);
    for (const Instruction &I : Block)
      if (!I.isDebugOrPseudoInst()) {
        instruction(I);
        ++Words[Count];
      }
  }

  put(InOrder.size());
  if (!InOrder.empty()) {
    LoopFacts Facts(*this, F, Dominators, Loops);
    for (Loop *L : InOrder) {
      put(Blocks.lookup(L->getHeader()));
      put(LoopNumbers.lookup(L->getParentLoop()));
      put(L->getNumBlocks());
      for (const BasicBlock *Block : L->blocks())
        put(Blocks.lookup(Block));
      Facts.write(*L);
    }
  }
  return finish();
}

}  // namespace covsched

struct CovCode {
  explicit CovCode(Module &M) : Writer(M), Next(M.begin()), End(M.end()) {}
  covsched::CodeWriter Writer;
  Module::iterator Next, End;
  bool HasBegun = false;
};

extern "C" {

CovCode *cov_code_new(LLVMModuleRef module) { return new CovCode(*unwrap(module)); }

void cov_code_drop(CovCode *code) { delete code; }

const uint64_t *cov_code_next(CovCode *code, size_t *count) {
  ArrayRef<uint64_t> Record;
  if (!code->HasBegun) {
    code->HasBegun = true;
    Record = code->Writer.module();
  } else {
    while (code->Next != code->End && code->Next->isDeclaration())
      ++code->Next;
    if (code->Next == code->End)
      return nullptr;
    Record = code->Writer.body(*code->Next++);
  }
  *count = Record.size();
  return Record.data();
}

}  // extern "C"
