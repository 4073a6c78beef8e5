// Values after blocks were cloned: one definition became two, and control crosses between the copies.
//
// For each value: phis where both definitions meet and the value is still needed (pruned SSA, by iterated dominance
// frontiers), then every use takes the definition that dominates it. Control can run in each copy alone, from the entry
// on; so a use that one definition still dominates is reached by no other.
//
// Every place at which control crosses needs a phi for every value that is alive there, and the code generator takes very
// long over hundreds of phis for one value. Most of them would be for values that are made in one instruction (addresses of
// fields, comparisons): the slow copy makes those again where it uses them or goes back to the fast one, and only what they
// are made of crosses. Not if they are a variable's: slots take values from the fast copy only if those cross. The fast copy, too, makes
// the addresses of fields again: a phi for each would take a register, and they are part of the instructions that use them.

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/IteratedDominanceFrontier.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PredIteratorCache.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"
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

/// Whether an instruction gives the same value, at little cost, wherever its operands are there.
bool isMadeEasily(const Instruction &I) {
  return isa<BinaryOperator>(I) || isa<CmpInst>(I) || isa<CastInst>(I) || isa<GetElementPtrInst>(I) ||
         isa<SelectInst>(I) || isa<UnaryOperator>(I);
}

/// A field's address, which is part of the instruction that uses it.
bool isPartOfAddress(const Instruction &I) {
  auto *Address = dyn_cast<GetElementPtrInst>(&I);
  return Address && Address->hasAllConstantIndices();
}

bool isVariable(Instruction &I) {
  SmallVector<DbgVariableIntrinsic *, 4> Users;
  findDbgUsers(Users, &I);
  return !Users.empty();
}

class Repair {
public:
  Repair(Function &F, ArrayRef<BasicBlock *> Copies) : Dominators(F) {
    SmallPtrSet<BasicBlock *, 32> Slow(Copies.begin(), Copies.end());
    // Edges of the slow copy that were split since.
    for (BasicBlock &Block : F)
      if (!pred_empty(&Block) && all_of(predecessors(&Block), [&](BasicBlock *Before) { return Slow.count(Before); }))
        Slow.insert(&Block);
    for (BasicBlock &Block : F)
      if (Slow.count(&Block) && any_of(successors(&Block), [&](BasicBlock *Next) { return !Slow.count(Next); }))
        Returns.push_back(&Block);
  }

  /// Makes values again where the slow copy uses them. Users come before what they use.
  void remake(ArrayRef<std::pair<Instruction *, Instruction *>> Pairs) {
    DenseMap<const Instruction *, Instruction *> Others;
    for (auto [First, Second] : Pairs)
      if (isMadeEasily(*First) && !isVariable(*First) && !isVariable(*Second))
        Others[Second] = First;
    DenseMap<const Instruction *, unsigned> Waiting;
    auto eachOperand = [&](Instruction &I, auto Do) {
      for (Value *Operand : I.operands())
        if (auto *Made = dyn_cast<Instruction>(Operand); Made && Others.count(Made))
          Do(*Made);
    };
    for (auto [First, Second] : Pairs)
      if (Others.count(Second))
        eachOperand(*Second, [&](Instruction &Made) { ++Waiting[&Made]; });
    SmallVector<Instruction *, 64> Ready;
    for (auto [First, Second] : Pairs)
      if (Others.count(Second) && !Waiting.lookup(Second))
        Ready.push_back(Second);
    while (!Ready.empty()) {
      Instruction *Second = Ready.pop_back_val();
      if (!isWhole(*Second) || !isWhole(*Others[Second]))
        remake(*Others[Second], *Second);
      eachOperand(*Second, [&](Instruction &Made) {
        if (--Waiting[&Made] == 0)
          Ready.push_back(&Made);
      });
    }
  }

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
    if (!IsWhole)
      connect(*First, Uses, liveIn(Uses));
    debugValues(*First);
    debugValues(*Second);
  }

private:
  DominatorTree Dominators;
  PredIteratorCache Predecessors;
  /// Where control goes from the slow copy to the fast one.
  SmallVector<BasicBlock *, 8> Returns;
  /// The value at the end of each block that sets it.
  DenseMap<BasicBlock *, Value *> Definitions;

  bool isWhole(const Instruction &I) const {
    return all_of(I.uses(), [&](const Use &U) { return blockOf(U) == I.getParent() || Dominators.dominates(&I, U); });
  }

  void remake(Instruction &First, Instruction &Second) {
    SmallVector<Use *, 16> Uses;
    for (Use &U : Second.uses())
      if (blockOf(U) != Second.getParent())
        Uses.push_back(&U);
    if (any_of(Uses, [](Use *U) { return blockOf(*U)->getFirstInsertionPt() == blockOf(*U)->end(); }))
      return;
    remakeAt(Second, Uses);
    if (isWhole(First))
      return;
    if (isPartOfAddress(First) && remakeWhereNotWhole(First))
      return;
    Uses.clear();
    for (Use &U : First.uses())
      if (blockOf(U) != First.getParent())
        Uses.push_back(&U);
    Definitions.clear();
    Definitions[First.getParent()] = &First;
    for (BasicBlock *Block : Returns)
      Definitions[Block] = &Second;
    SmallPtrSet<BasicBlock *, 32> LiveIn = liveIn(Uses);
    for (BasicBlock *Block : Returns) {
      if (none_of(successors(Block), [&](BasicBlock *Next) { return LiveIn.count(Next); }))
        Definitions.erase(Block);
      else if (Block != Second.getParent())
        Definitions[Block] = makeAgain(Second, Block->getTerminator());
    }
    connect(First, Uses, LiveIn);
  }

  /// In the fast copy, where it costs nothing.
  bool remakeWhereNotWhole(Instruction &First) {
    SmallVector<Use *, 16> Uses;
    for (Use &U : First.uses())
      if (blockOf(U) != First.getParent() && !Dominators.dominates(&First, U))
        Uses.push_back(&U);
    if (any_of(Uses, [](Use *U) { return blockOf(*U)->getFirstInsertionPt() == blockOf(*U)->end(); }))
      return false;
    remakeAt(First, Uses);
    return true;
  }

  /// Makes a value again in each block that uses it.
  void remakeAt(Instruction &I, ArrayRef<Use *> Uses) {
    DenseMap<BasicBlock *, Instruction *> Made;
    for (Use *U : Uses) {
      Instruction *&Here = Made[blockOf(*U)];
      if (!Here)
        Here = makeAgain(I, &*blockOf(*U)->getFirstInsertionPt());
      U->set(Here);
    }
  }

  static Instruction *makeAgain(Instruction &I, Instruction *Before) {
    Instruction *Made = I.clone();
    Made->insertBefore(Before);
    // It is no event of its line.
    Made->setDebugLoc(DebugLoc());
    return Made;
  }

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

  /// At the start of which blocks the value is needed.
  SmallPtrSet<BasicBlock *, 32> liveIn(ArrayRef<Use *> Uses) {
    SmallPtrSet<BasicBlock *, 32> LiveIn;
    SmallVector<BasicBlock *, 32> Work;
    for (Use *U : Uses)
      Work.push_back(blockOf(*U));
    while (!Work.empty()) {
      BasicBlock *Block = Work.pop_back_val();
      if (!LiveIn.insert(Block).second)
        continue;
      for (BasicBlock *Before : Predecessors.get(Block))
        if (!Definitions.count(Before))
          Work.push_back(Before);
    }
    return LiveIn;
  }

  /// Gives each use the definition that reaches it.
  void connect(Instruction &Model, ArrayRef<Use *> Uses, const SmallPtrSetImpl<BasicBlock *> &LiveIn) {
    SmallPtrSet<BasicBlock *, 8> Defining;
    for (auto [Block, Value] : Definitions)
      Defining.insert(Block);
    SmallPtrSet<BasicBlock *, 32> Needed(LiveIn.begin(), LiveIn.end());
    ForwardIDFCalculator Frontier(Dominators);
    Frontier.setDefiningBlocks(Defining);
    Frontier.setLiveInBlocks(Needed);
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
    for (Use *U : Uses)
      U->set(reaching(blockOf(*U), U->get()->getType()));
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

void covsched::loom::repairValues(Function &F, ArrayRef<BasicBlock *> Slow,
                                  ArrayRef<std::pair<Instruction *, Instruction *>> Pairs) {
  Repair All(F, Slow);
  All.remake(Pairs);
  for (auto [First, Second] : Pairs)
    All.value(First, Second);
}

void covsched::loom::forgetOnCrossing(const SmallPtrSetImpl<BasicBlock *> &NotSlow, ArrayRef<Instruction *> Values) {
  for (Instruction *I : Values) {
    SSAUpdater Update;
    Update.Initialize(I->getType(), I->getName());
    Update.AddAvailableValue(I->getParent(), I);
    for (BasicBlock *Block : NotSlow)
      if (any_of(successors(Block), [&](BasicBlock *Next) { return !NotSlow.count(Next); }))
        Update.AddAvailableValue(Block, Constant::getNullValue(I->getType()));
    for (Use &U : make_early_inc_range(I->uses()))
      if (blockOf(U) != I->getParent())
        Update.RewriteUse(U);
  }
}
