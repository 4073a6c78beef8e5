// What follows from constants: instructions that are simpler, branches that go one way, code that control does not reach.
//
// Every access to memory that may execute stays, also one whose result nobody uses, and nothing is concluded from
// undefined values: a guard whose condition is undefined stays a guard. LLVM's passes do more on both counts, and
// removeUnreachableBlocks also takes away what follows an assume that is false.

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace {

class Folder {
public:
  Folder(Function &F, CovFolded &Done) : F(F), Done(Done) {}

  void run() {
    removeUnreachable();
    do
      simplify();
    while (foldTerminators());
    for (BasicBlock &Block : make_early_inc_range(F))
      Done.merged += MergeBlockIntoPredecessor(&Block);
  }

private:
  Function &F;
  CovFolded &Done;
  SmallSetVector<Instruction *, 64> Work;

  /// Nothing is lost with it: no access to memory, no call that may do something.
  static bool mayGo(Instruction &I) {
    if (isa<DbgInfoIntrinsic>(I) || !isInstructionTriviallyDead(&I))
      return false;
    return !I.mayReadOrWriteMemory() || isa<AssumeInst>(I);
  }

  void removeUnreachable() {
    size_t Before = F.size();
    EliminateUnreachableBlocks(F);
    Done.blocks_removed += Before - F.size();
  }

  void simplify() {
    DominatorTree Tree(F);
    const DataLayout &Layout = F.getParent()->getDataLayout();
    // Only PHIs need to know who comes before whom. To others it would say more, but not in constant time: all
    // dominators are asked, and clones are long.
    const SimplifyQuery Query = SimplifyQuery(Layout).getWithoutUndef();
    const SimplifyQuery PhiQuery = SimplifyQuery(Layout, nullptr, &Tree).getWithoutUndef();
    SmallVector<Instruction *, 0> InOrder;
    for (BasicBlock *Block : ReversePostOrderTraversal<Function *>(&F))
      for (Instruction &I : *Block)
        InOrder.push_back(&I);
    // The last is done next.
    Work.insert(InOrder.rbegin(), InOrder.rend());
    while (!Work.empty()) {
      Instruction &I = *Work.pop_back_val();
      simplifyOne(I, isa<PHINode>(I) ? PhiQuery : Query);
    }
  }

  void simplifyOne(Instruction &I, const SimplifyQuery &Query) {
    if (isa<DbgInfoIntrinsic>(I))
      return;
    if (!I.use_empty())
      if (Value *With = simplifyInstruction(&I, Query); With && With != &I && !isa<UndefValue>(With)) {
        for (User *Who : I.users())
          Work.insert(cast<Instruction>(Who));
        I.replaceAllUsesWith(With);
        ++Done.values;
      }
    if (!mayGo(I))
      return;
    salvageDebugInfo(I);
    for (Use &U : I.operands())
      if (auto *Operand = dyn_cast<Instruction>(U))
        Work.insert(Operand);
    // It is among its own users, if it is a PHI.
    Work.remove(&I);
    I.eraseFromParent();
  }

  /// Whether the terminator says where control goes.
  static bool isDecided(const Instruction &Last) {
    if (auto *Branch = dyn_cast<BranchInst>(&Last))
      return Branch->isConditional() && isa<ConstantInt>(Branch->getCondition());
    auto *Switch = dyn_cast<SwitchInst>(&Last);
    return Switch && isa<ConstantInt>(Switch->getCondition());
  }

  bool foldTerminators() {
    uint64_t Folded = 0;
    for (BasicBlock &Block : F)
      if (isDecided(*Block.getTerminator()))
        Folded += ConstantFoldTerminator(&Block);
    Done.branches += Folded;
    if (Folded)
      removeUnreachable();
    return Folded != 0;
  }
};

}  // namespace

extern "C" void cov_fold(LLVMValueRef function, CovFolded *done) {
  Function &F = *unwrap<Function>(function);
  *done = {};
  if (!F.isDeclaration() && !F.hasFnAttribute(Attribute::Naked) && !F.isPresplitCoroutine())
    Folder(F, *done).run();
}
