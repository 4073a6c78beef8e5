// Values after blocks were cloned: one definition became two, and control crosses between the copies.
//
// For each value: phis where both definitions meet and the value is still needed (pruned SSA, by iterated dominance
// frontiers), then every use takes the definition that dominates it. Control can run in each copy alone, from the entry
// on; so a use that one definition still dominates is reached by no other.

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/IteratedDominanceFrontier.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PredIteratorCache.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

namespace {

/// Where a use wants the value: a phi at the end of the block that it comes from.
BasicBlock *blockOf(const Use &U) {
  auto *I = cast<Instruction>(U.getUser());
  if (auto *Phi = dyn_cast<PHINode>(I))
    return Phi->getIncomingBlock(U);
  return I->getParent();
}

class Repair {
public:
  explicit Repair(Function &F) : Dominators(F) {}

  void value(Instruction *First, Instruction *Second) {
    SmallVector<Use *, 16> Uses;
    bool IsWhole = true;
    for (Instruction *I : {First, Second})
      for (Use &U : I->uses())
        if (blockOf(U) != I->getParent()) {
          Uses.push_back(&U);
          IsWhole &= Dominators.dominates(I, U);
        }
    Definitions.clear();
    Definitions[First->getParent()] = First;
    Definitions[Second->getParent()] = Second;
    if (!IsWhole) {
      placePhis(*First, Uses);
      for (Use *U : Uses)
        U->set(reaching(blockOf(*U), U->get()->getType()));
    }
    debugValues(*First);
    debugValues(*Second);
  }

private:
  DominatorTree Dominators;
  PredIteratorCache Predecessors;
  /// The value at the end of each block that sets it.
  DenseMap<BasicBlock *, Value *> Definitions;

  Value *find(BasicBlock *Block) {
    for (DomTreeNode *Node = Dominators.getNode(Block); Node; Node = Node->getIDom())
      if (Value *Found = Definitions.lookup(Node->getBlock()))
        return Found;
    return nullptr;
  }

  Value *reaching(BasicBlock *Block, Type *Type) {
    Value *Found = find(Block);
    return Found ? Found : PoisonValue::get(Type);
  }

  void placePhis(Instruction &Model, ArrayRef<Use *> Uses) {
    SmallPtrSet<BasicBlock *, 2> Defining;
    for (auto [Block, Value] : Definitions)
      Defining.insert(Block);
    SmallPtrSet<BasicBlock *, 32> LiveIn;
    SmallVector<BasicBlock *, 32> Work;
    for (Use *U : Uses)
      Work.push_back(blockOf(*U));
    while (!Work.empty()) {
      BasicBlock *Block = Work.pop_back_val();
      if (!LiveIn.insert(Block).second)
        continue;
      for (BasicBlock *Before : Predecessors.get(Block))
        if (!Defining.count(Before))
          Work.push_back(Before);
    }
    ForwardIDFCalculator Frontier(Dominators);
    Frontier.setDefiningBlocks(Defining);
    Frontier.setLiveInBlocks(LiveIn);
    SmallVector<BasicBlock *, 16> Meets;
    Frontier.calculate(Meets);
    SmallVector<PHINode *, 16> Phis;
    for (BasicBlock *Block : Meets) {
      auto *Phi = PHINode::Create(Model.getType(), 2, Model.getName(), &Block->front());
      Definitions[Block] = Phi;
      Phis.push_back(Phi);
    }
    for (PHINode *Phi : Phis)
      for (BasicBlock *Before : Predecessors.get(Phi->getParent()))
        Phi->addIncoming(reaching(Before, Phi->getType()), Before);
  }

  /// Debug info gets the value that reaches it, if there is one, and no other one's.
  void debugValues(Instruction &I) {
    SmallVector<DbgVariableIntrinsic *, 4> Users;
    findDbgUsers(Users, &I);
    for (DbgVariableIntrinsic *User : Users) {
      if (User->getParent() == I.getParent() || Dominators.dominates(&I, User))
        continue;
      Value *Found = find(User->getParent());
      if (Found && Found != &I)
        User->replaceVariableLocationOp(&I, Found);
      else if (!Found)
        User->setKillLocation();
    }
  }
};

}  // namespace

void covsched::loom::repairValues(Function &F, ArrayRef<std::pair<Instruction *, Instruction *>> Pairs) {
  Repair All(F);
  for (auto [First, Second] : Pairs)
    All.value(First, Second);
}
