// Clones: blocks of a template, copied and wired as told.
//
// Time is linear in what is copied: a register's new value is found by number, nodes that follow each other are put
// into one block at once, and debug info is copied once a clone. Slots that registers became in the template become
// registers again while blocks are filled: a slot's value goes with control as long as there is one way to come, and
// where ways meet it is a PHI, if it is read from there on. Most of these have one value and go at the end. (LLVM's
// promotion of memory does the same, and took three quarters of the time: it looks at all blocks for each slot.)

#include "clone_debug.h"
#include "clone_parts.h"
#include "llvm-c/Core.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"
#include "shared.h"
#include "template.h"
#include "trap.h"

using namespace llvm;
using covsched::CloneMark;
using covsched::DebugInfo;
using covsched::ItemMark;
using covsched::None;
using covsched::Piece;
using covsched::Step;
using covsched::str;

namespace {

/// More cases than this are not excluded one by one where a switch's default is all that is live.
constexpr unsigned MostCases = 16;

/// Slots' values at a place; null where nothing was stored.
using SlotValues = std::vector<Value *>;

/// The making of one clone.
class Cloner {
public:
  Cloner(CovTemplate &T, Function &Clone, const CovBody &Body, CovMade &Made)
      : T(T), Clone(Clone), Body(Body), Made(Made), Context(Clone.getContext()), Info(T, Clone), Now(T.Values.size()),
        Blocks(Body.node_count), Traps(Body.trap_count), Incoming(Body.node_count), Held(T.Slots.size()) {}

  void run() {
    countIncoming();
    makeFrame();
    if (Incoming[Body.entry] == 1)
      emit(Body.entry, Frame);
    else
      BranchInst::Create(blockOf(Body.entry, Frame), Frame);
    while (!Open.empty()) {
      OpenNode Next = Open.pop_back_val();
      Held = std::move(Next.Held);
      moveToEnd(Next.Block);
      emit(Next.Node, Next.Block);
    }
    for (BasicBlock *Trap : TrapBlocks)
      moveToEnd(Trap);
    finishFrame();
    covsched::cleanPhis(Phis);
  }

private:
  CovTemplate &T;
  Function &Clone;
  const CovBody &Body;
  CovMade &Made;
  LLVMContext &Context;
  DebugInfo Info;
  std::vector<Value *> Now;          // by number: what stands for a template's value
  std::vector<BasicBlock *> Blocks;  // by node
  std::vector<BasicBlock *> Traps;
  std::vector<uint32_t> Incoming;    // edges, by node
  struct OpenNode {
    uint32_t Node;
    BasicBlock *Block;
    SlotValues Held;
  };
  SmallVector<OpenNode, 32> Open;    // to be filled
  SlotValues Held;                   // at the end of the block that is being filled
  std::vector<PHINode *> Phis;       // all that were made
  SmallVector<BasicBlock *, 32> TrapBlocks;
  DenseMap<std::pair<const BasicBlock *, uint32_t>, BasicBlock *> TrapLandings;
  DenseMap<std::pair<CovEdge, uint8_t>, BasicBlock *> Escapes;
  BasicBlock *Frame = nullptr;
  AllocaInst *Flag = nullptr;        // given to callees

  static bool isTrap(CovEdge Edge) { return Edge & 1; }
  static uint32_t indexOf(CovEdge Edge) { return Edge >> 1; }

  const CovNode &node(uint32_t Node) const { return Body.nodes[Node]; }
  const Piece &pieceOf(uint32_t Node) const { return T.Pieces[Body.nodes[Node].piece]; }
  CovEdge edge(uint32_t Node, size_t Successor) const { return Body.edges[node(Node).first_edge + Successor]; }

  /// Blocks stand in the order in which they are filled, traps last.
  void moveToEnd(BasicBlock *Block) {
    if (Block != &Clone.back())
      Block->moveAfter(&Clone.back());
  }

  /// Counts the edges between nodes that the entry reaches, and the one from the frame.
  void countIncoming() {
    std::vector<bool> Seen(Body.node_count);
    SmallVector<uint32_t, 64> Work = {Body.entry};
    Seen[Body.entry] = true;
    Incoming[Body.entry] = 1;
    auto follow = [&](CovEdge Edge) {
      if (Edge == COV_NO_EDGE || isTrap(Edge))
        return;
      uint32_t To = indexOf(Edge);
      ++Incoming[To];
      if (!Seen[To]) {
        Seen[To] = true;
        Work.push_back(To);
      }
    };
    while (!Work.empty()) {
      uint32_t Node = Work.pop_back_val();
      ++Made.nodes;
      for (size_t I = 0; I < pieceOf(Node).Next.size(); ++I)
        follow(edge(Node, I));
      follow(node(Node).not_done);
      follow(node(Node).otherwise);
    }
  }

  void makeFrame() {
    Frame = BasicBlock::Create(Context, "", &Clone);
    uint32_t Number = 0;
    for (Argument &A : Clone.args())
      if (Number < T.Copy->arg_size())
        Now[Number++] = &A;
    for (AllocaInst *Alloca : T.Fixed) {
      auto *Own = cast<AllocaInst>(Alloca->clone());
      Own->setName(Alloca->getName());
      Own->insertInto(Frame, Frame->end());
      Now[Number++] = Own;
    }
  }

  /// Variables of the source get their places.
  void finishFrame() {
    Instruction *First = &*Frame->begin();
    while (isa<AllocaInst>(First))
      First = First->getNextNode();
    for (DbgVariableIntrinsic *Declare : T.Declared) {
      auto *Own = cast<DbgVariableIntrinsic>(Declare->clone());
      Own->insertBefore(First);
      mapDebugOperands(*Own);
      if (Info.artificial())
        Own->setDebugLoc(DebugLoc(cast<DILocation>(Info.map(Declare->getDebugLoc().get()))));
    }
  }

  /// PHIs for what is read in a node or behind it.
  SlotValues makePhis(uint32_t Node, BasicBlock *Block) {
    SlotValues Values(T.Slots.size());
    for (unsigned Slot : pieceOf(Node).Live.set_bits()) {
      Phis.push_back(PHINode::Create(T.Slots[Slot]->getAllocatedType(), Incoming[Node], "", Block));
      Values[Slot] = Phis.back();
    }
    return Values;
  }

  /// The block of a node to which control now goes from a block.
  BasicBlock *blockOf(uint32_t Node, BasicBlock *From) {
    BasicBlock *&Block = Blocks[Node];
    bool IsMeeting = Incoming[Node] != 1;
    if (!Block) {
      Block = BasicBlock::Create(Context, "", &Clone);
      Open.push_back({Node, Block, IsMeeting ? makePhis(Node, Block) : Held});
    }
    if (IsMeeting) {
      auto Phi = Block->begin();
      for (unsigned Slot : pieceOf(Node).Live.set_bits()) {
        auto *Own = cast<PHINode>(&*Phi++);
        Own->addIncoming(Held[Slot] ? Held[Slot] : PoisonValue::get(Own->getType()), From);
      }
    }
    return Block;
  }

  /// Where an edge out of the schedule goes.
  BasicBlock *trapOf(uint32_t Trap) {
    BasicBlock *&Block = Traps[Body.only_assume ? 0 : Trap];
    if (Block)
      return Block;
    Block = BasicBlock::Create(Context, "not_covered", &Clone);
    TrapBlocks.push_back(Block);
    IRBuilder<> Builder(Block);
    if (Info.artificial())
      Builder.SetCurrentDebugLocation(Info.artificial());
    if (!Body.only_assume) {
      auto *Mark = Clone.getMetadata(CloneMark);
      auto *Thread = cast<ConstantAsMetadata>(Mark->getOperand(1))->getValue();
      auto *Hook = unwrap<Function>(Body.not_covered);
      covsched::callTrap(Builder, *Hook,
                         {Builder.getInt64(Body.traps[Trap].expected), textOf(Body.traps[Trap]), Thread});
    }
    Builder.CreateUnreachable();
    return Block;
  }

  /// One constant for each synchronization that is expected somewhere.
  Constant *textOf(const CovTrap &Trap) {
    return covsched::textConstant(T.M, "covsched.expected." + Twine::utohexstr(Trap.expected), str(Trap.text));
  }

  BasicBlock *targetOf(CovEdge Edge, BasicBlock *From) {
    return isTrap(Edge) ? trapOf(indexOf(Edge)) : blockOf(indexOf(Edge), From);
  }

  /// Lets exceptions that a call would let out of the function lead to a trap. Returns the block behind the call.
  BasicBlock *keepExceptions(const CovNode &Told, const Step &S, CallInst &Call) {
    BasicBlock *Block = Call.getParent();
    if (Told.escape == COV_NO_EDGE || Body.only_assume || Call.doesNotThrow() || Call.isInlineAsm())
      return Block;
    ++Made.guards;
    SmallVector<std::pair<unsigned, MDNode *>, 4> Attached;
    Call.getAllMetadataOtherThanDebugLoc(Attached);
    auto *End = new UnreachableInst(Context, Block);
    BasicBlock *Behind = changeToInvokeAndSplitBasicBlock(&Call, escapeOf(Told));
    End->eraseFromParent();
    auto *Invoke = cast<InvokeInst>(Block->getTerminator());
    for (auto [Kind, Node] : Attached)
      Invoke->setMetadata(Kind, Node);
    Now[S.Value] = Invoke;
    return Behind;
  }

  void landMore(const CovNode &Told, LandingPadInst &Pad) {
    if (Body.only_assume)
      return;
    if (Told.flags & (COV_LANDS_PASSING | COV_LANDS_ALL))
      Pad.setCleanup(true);
    if (Told.flags & COV_LANDS_ALL)
      Pad.addClause(ConstantPointerNull::get(PointerType::get(Context, 0)));
  }

  /// Where exceptions land that must not leave the function; if only some must not, the others go on.
  BasicBlock *escapeOf(const CovNode &Told) {
    uint8_t Asks = Told.flags & (COV_ESCAPE_IF_DONE | COV_ESCAPE_IF_NOT_DONE);
    uint8_t Kind = Asks | (Asks ? Told.flags & COV_OWN_FLAG : 0);
    BasicBlock *&Block = Escapes[{Told.escape, Kind}];
    if (Block)
      return Block;
    if (!Clone.hasPersonalityFn())
      Clone.setPersonalityFn(personality());
    Block = BasicBlock::Create(Context, "", &Clone);
    TrapBlocks.push_back(Block);
    IRBuilder<> Builder(Block);
    if (Info.artificial())
      Builder.SetCurrentDebugLocation(Info.artificial());
    auto *Type = StructType::get(Builder.getPtrTy(), Builder.getInt32Ty());
    LandingPadInst *Pad = Builder.CreateLandingPad(Type, 1);
    Pad->setCleanup(true);
    BasicBlock *Trap = trapOf(indexOf(Told.escape));
    if (!Asks) {
      // Also if nobody would catch it.
      Pad->addClause(ConstantPointerNull::get(Builder.getPtrTy()));
      Builder.CreateBr(Trap);
      return Block;
    }
    Value *Done = Builder.CreateICmpNE(Builder.CreateLoad(Builder.getInt8Ty(), flagOf(Told)), Builder.getInt8(0));
    BasicBlock *On = BasicBlock::Create(Context, "", &Clone);
    TrapBlocks.push_back(On);
    Builder.CreateCondBr(Done, Asks & COV_ESCAPE_IF_DONE ? Trap : On, Asks & COV_ESCAPE_IF_DONE ? On : Trap);
    Builder.SetInsertPoint(On);
    Builder.CreateResume(Pad);
    return Block;
  }

  /// C++'s if the program has any, else C's, which every program has.
  Constant *personality() {
    if (Function *Known = T.M.getFunction("__gxx_personality_v0"))
      return Known;
    auto *Type = FunctionType::get(Type::getInt32Ty(Context), true);
    return cast<Constant>(T.M.getOrInsertFunction("__gcc_personality_v0", Type).getCallee());
  }

  /// Where an exception lands that the schedule does not have.
  BasicBlock *trapLanding(const Piece &Landing, uint32_t Trap) {
    BasicBlock *&Block = TrapLandings[{Landing.Block, Trap}];
    if (!Block) {
      Block = BasicBlock::Create(Context, "", &Clone);
      TrapBlocks.push_back(Block);
      auto *Pad = cast<LandingPadInst>(Landing.Block->getLandingPadInst()->clone());
      Pad->insertInto(Block, Block->end());
      // What the original would let pass leaves the schedule as well, also if nobody would catch it.
      Pad->setCleanup(true);
      Pad->addClause(ConstantPointerNull::get(PointerType::get(Context, 0)));
      BranchInst *Jump = BranchInst::Create(trapOf(Trap), Block);
      if (Info.artificial())
        for (Instruction *I : {cast<Instruction>(Pad), cast<Instruction>(Jump)})
          I->setDebugLoc(DebugLoc(Info.artificial()));
    }
    return Block;
  }

  Metadata *mapLocation(Metadata *Location) {
    auto *Value = dyn_cast_or_null<ValueAsMetadata>(Location);
    if (!Value)
      return Location;
    if (isa<ConstantAsMetadata>(Value))
      return Value;
    auto Found = T.Values.find(Value->getValue());
    llvm::Value *Own = Found == T.Values.end() ? nullptr : Now[Found->second];
    return ValueAsMetadata::get(Own ? Own : PoisonValue::get(Value->getType()));
  }

  void mapDebugOperands(DbgInfoIntrinsic &I) {
    for (Use &U : I.operands()) {
      auto *Wrapped = dyn_cast<MetadataAsValue>(U.get());
      if (!Wrapped)
        continue;
      Metadata *Old = Wrapped->getMetadata(), *Own;
      if (auto *List = dyn_cast<DIArgList>(Old)) {
        SmallVector<ValueAsMetadata *, 4> Args;
        for (ValueAsMetadata *Arg : List->getArgs())
          Args.push_back(cast<ValueAsMetadata>(mapLocation(Arg)));
        Own = DIArgList::get(Context, Args);
      } else {
        Own = isa<ValueAsMetadata>(Old) ? mapLocation(Old) : Info.map(Old);
      }
      if (Own != Old)
        U.set(MetadataAsValue::get(Context, Own));
    }
  }

  /// Reads or writes a slot.
  void useSlot(const Step &S) {
    Value *&Current = Held[S.Slot];
    if (isa<StoreInst>(S.Inst)) {
      auto Found = T.Values.find(S.Inst->getOperand(0));
      Current = Found == T.Values.end() ? S.Inst->getOperand(0) : Now[Found->second];
    } else {
      // Debug info may ask for what the code does not need any more.
      Now[S.Value] = Current ? Current : PoisonValue::get(S.Inst->getType());
    }
  }

  Instruction *copy(const Step &S, BasicBlock *Block) {
    if (S.Slot != None) {
      useSlot(S);
      return nullptr;
    }
    Instruction *I = S.Inst->clone();
    for (uint32_t P = S.FirstOperand; P < S.FirstOperand + S.OperandCount; ++P)
      I->setOperand(T.Operands[P].Place, Now[T.Operands[P].Value]);
    if (S.Place != None)
      I->setDebugLoc(DebugLoc(cast<DILocation>(Info.at(S.Place))));
    if (S.Loop != None)
      I->setMetadata(LLVMContext::MD_loop, Info.at(S.Loop));
    I->insertInto(Block, Block->end());
    if (auto *Debug = dyn_cast<DbgInfoIntrinsic>(I))
      mapDebugOperands(*Debug);
    Now[S.Value] = I;
    return I;
  }

  void assume(IRBuilder<> &Builder, Value *Condition) {
    Builder.CreateAssumption(Condition);
    ++Made.assumes;
  }

  /// Says what holds if control goes from a terminator to this successor.
  void assumeTaken(BasicBlock *At, Instruction *Last, unsigned Successor) {
    IRBuilder<> Builder(At);
    Builder.SetCurrentDebugLocation(Last->getDebugLoc());
    if (auto *Branch = dyn_cast<BranchInst>(Last)) {
      Value *Condition = Branch->getCondition();
      assume(Builder, Successor == 0 ? Condition : Builder.CreateNot(Condition));
      return;
    }
    auto *Switch = cast<SwitchInst>(Last);
    if (Successor != 0) {
      auto Case = *SwitchInst::CaseIt::fromSuccessorIndex(Switch, Successor);
      assume(Builder, Builder.CreateICmpEQ(Switch->getCondition(), Case.getCaseValue()));
    } else if (Switch->getNumCases() <= MostCases) {
      for (auto Case : Switch->cases())
        assume(Builder, Builder.CreateICmpNE(Switch->getCondition(), Case.getCaseValue()));
    }
  }

  /// Copies a node and those that follow it alone into a block.
  void emit(uint32_t Node, BasicBlock *Block) {
    for (;;) {
      CovEdge Next = COV_NO_EDGE;
      Block = emitOne(Node, Block, Next);
      if (Next == COV_NO_EDGE)
        return;
      if (isTrap(Next) || Incoming[indexOf(Next)] != 1) {
        jump(targetOf(Next, Block), Block, Node);
        return;
      }
      Node = indexOf(Next);
    }
  }

  /// The debug location of the node's own jump.
  void jump(BasicBlock *To, BasicBlock *From, uint32_t Node) {
    BranchInst *Jump = BranchInst::Create(To, From);
    const Step &Last = pieceOf(Node).Steps.back();
    if (Last.Place != None)
      Jump->setDebugLoc(DebugLoc(cast<DILocation>(Info.at(Last.Place))));
    if (Last.Loop != None && isa<BranchInst>(Last.Inst))
      Jump->setMetadata(LLVMContext::MD_loop, Info.at(Last.Loop));
  }

  /// Copies a node. Returns the block where it goes on to `Next`, which stays as it is if there is a terminator.
  BasicBlock *emitOne(uint32_t Node, BasicBlock *Block, CovEdge &Next) {
    const CovNode &Told = node(Node);
    const Piece &P = pieceOf(Node);
    bool SetsFlag = Told.flags & COV_SETS_FLAG;
    for (const Step &S : ArrayRef<Step>(P.Steps).drop_back()) {
      if (SetsFlag && !isa<LandingPadInst>(S.Inst)) {
        setFlag(Block);
        SetsFlag = false;
      }
      Instruction *I = copy(S, Block);
      if (S.Inst == P.Call)
        Block = direct(Told, S, cast<CallBase>(I));
      if (auto *Call = I ? dyn_cast<CallInst>(Now[S.Value]) : nullptr)
        Block = keepExceptions(Told, S, *Call);
      else if (auto *Pad = dyn_cast_or_null<LandingPadInst>(I))
        landMore(Told, *Pad);
    }
    if (SetsFlag)
      setFlag(Block);

    const Step &Last = P.Steps.back();
    auto *Jump = dyn_cast<BranchInst>(Last.Inst);
    if (Jump && Jump->isUnconditional())
      return goOn(Node, Block, Next);
    Instruction *I = copy(Last, Block);
    if (auto *Invoke = dyn_cast<InvokeInst>(I)) {
      if (Last.Inst == P.Call) {
        Block = direct(Told, Last, Invoke);
        Invoke = cast<InvokeInst>(Block->getTerminator());
      }
      return wireInvoke(Node, *Invoke, Next);
    }
    return wire(Node, I, Block, Next);
  }

  /// Behind the piece's only successor, or what the flag says.
  BasicBlock *goOn(uint32_t Node, BasicBlock *Block, CovEdge &Next) {
    const CovNode &Told = node(Node);
    if (Told.not_done == COV_NO_EDGE) {
      Next = edge(Node, 0);
      return Block;
    }
    IRBuilder<> Builder(Block);
    if (uint32_t Place = pieceOf(Node).Steps.back().Place; Place != None)
      Builder.SetCurrentDebugLocation(DebugLoc(cast<DILocation>(Info.at(Place))));
    Value *Done = Builder.CreateICmpNE(Builder.CreateLoad(Builder.getInt8Ty(), flagOf(Told)), Builder.getInt8(0));
    BasicBlock *Yes = targetOf(edge(Node, 0), Block), *No = targetOf(Told.not_done, Block);
    Builder.CreateCondBr(Done, Yes, No);
    return Block;
  }

  BasicBlock *wireInvoke(uint32_t Node, InvokeInst &Invoke, CovEdge &Next) {
    const Piece &P = pieceOf(Node);
    CovEdge Unwind = edge(Node, 1);
    Made.guards += isTrap(edge(Node, 0)) || isTrap(Unwind);
    Invoke.setUnwindDest(isTrap(Unwind) ? trapLanding(T.Pieces[P.Next[1]], indexOf(Unwind))
                                        : blockOf(indexOf(Unwind), Invoke.getParent()));
    BasicBlock *Tail = BasicBlock::Create(Context, "", &Clone);
    Invoke.setNormalDest(Tail);
    for (const Step &S : P.TailSteps)
      copy(S, Tail);
    return goOn(Node, Tail, Next);
  }

  /// Wires a copied terminator, or takes it away if its condition is only assumed.
  BasicBlock *wire(uint32_t Node, Instruction *Last, BasicBlock *Block, CovEdge &Next) {
    unsigned Live = 0, Taken = 0, Count = Last->getNumSuccessors();
    for (unsigned I = 0; I < Count; ++I)
      if (!isTrap(edge(Node, I))) {
        ++Live;
        Taken = I;
      }
    Made.guards += Live < Count;
    bool OneSided = Live == 1 && Count > 1;
    if (OneSided && Body.only_assume) {
      Next = edge(Node, Taken);
      Last->removeFromParent();
      assumeTaken(Block, Last, Taken);
      Last->deleteValue();
      return Block;
    }
    for (unsigned I = 0; I < Count; ++I) {
      CovEdge Edge = edge(Node, I);
      // The facts stand behind the guard, so that what follows from them never changes it.
      bool Says = OneSided && !isTrap(Edge);
      if (Says && Incoming[indexOf(Edge)] != 1) {
        BasicBlock *At = BasicBlock::Create(Context, "", &Clone);
        assumeTaken(At, Last, I);
        jump(targetOf(Edge, At), At, Node);
        Last->setSuccessor(I, At);
        continue;
      }
      BasicBlock *To = targetOf(Edge, Block);
      if (Says)
        assumeTaken(To, Last, I);
      Last->setSuccessor(I, To);
    }
    return Block;
  }

  AllocaInst *flag() {
    if (!Flag)
      Flag = new AllocaInst(Type::getInt8Ty(Context), T.M.getDataLayout().getAllocaAddrSpace(), "flag",
                            &Frame->front());
    return Flag;
  }

  Argument *ownFlag() { return Clone.getArg(Clone.getFunctionType()->getNumParams() - 1); }

  Value *flagOf(const CovNode &Told) {
    if (Told.flags & COV_OWN_FLAG)
      return ownFlag();
    return flag();
  }

  void setFlag(BasicBlock *Block) {
    new StoreInst(ConstantInt::get(Type::getInt8Ty(Context), 1), ownFlag(), Block);
  }

  /// Makes a copied call do what the node says. Returns the block in which it then stands.
  BasicBlock *direct(const CovNode &Told, const Step &S, CallBase *Call) {
    BasicBlock *Block = Call->getParent();
    // First of all: what takes the call's place below has its metadata.
    if (Told.item != COV_NO_ITEM) {
      auto *Number = ConstantInt::get(Type::getInt32Ty(Context), Told.item);
      Call->setMetadata(ItemMark, MDNode::get(Context, ConstantAsMetadata::get(Number)));
    }
    if (Told.start)
      Block = startThread(Told, *Call);
    if (Told.only_if) {
      IRBuilder<> Builder(Call);
      Value *Same = Builder.CreateICmpEQ(Call->getCalledOperand(), unwrap(Told.only_if));
      Block = check(*Call, Same, Told.otherwise);
    }
    if (!Told.callee)
      return Block;
    covsched::callClone(*Call, *unwrap<Function>(Told.callee));
    if (Told.flags & COV_GIVES_FLAG)
      Now[S.Value] = giveFlag(Told, *Call, *unwrap<Function>(Told.callee));
    return Block;
  }

  /// Behind a check that the thread's function is the one that the schedule has there, which its clone then is.
  BasicBlock *startThread(const CovNode &Told, CallBase &Call) {
    Value *Start = unwrap(Told.start), *Original = unwrap(Told.start_original);
    Value *Argument = Call.getArgOperand(Told.start_index);
    IRBuilder<> Builder(&Call);
    if (!(Told.flags & COV_STARTS_OBJECT)) {
      BasicBlock *Block = Call.getParent();
      if (Argument->stripPointerCasts() != Original)
        Block = check(Call, Builder.CreateICmpEQ(Argument, Original), Told.start_otherwise);
      Call.setArgOperand(Told.start_index, Start);
      return Block;
    }
    auto point = [&](Value *Table) {
      return Builder.CreateConstInBoundsGEP1_64(Builder.getInt8Ty(), Table, Told.start_offset);
    };
    Value *Object = Builder.CreateLoad(Builder.getPtrTy(), Argument);
    Value *Same = Builder.CreateICmpEQ(Builder.CreateLoad(Builder.getPtrTy(), Object), point(Original));
    BasicBlock *Block = check(Call, Same, Told.start_otherwise);
    Builder.SetInsertPoint(&Call);
    Builder.CreateStore(point(Start), Object);
    return Block;
  }

  /// Goes elsewhere before a call if something does not hold. Returns the block in which the call then stands.
  BasicBlock *check(CallBase &Call, Value *Holds, CovEdge Otherwise) {
    BasicBlock *Block = Call.getParent();
    IRBuilder<> Builder(&Call);
    BasicBlock *Behind = Block;
    ++Made.guards;
    if (!Body.only_assume || !isTrap(Otherwise)) {
      Behind = BasicBlock::Create(Context, "", &Clone);
      Builder.CreateCondBr(Holds, Behind, targetOf(Otherwise, Block));
      Call.removeFromParent();
      Call.insertInto(Behind, Behind->end());
      Builder.SetInsertPoint(&Call);
    }
    assume(Builder, Holds);
    return Behind;
  }

  /// Puts a call in its place that has the flag behind the function's own parameters.
  CallBase *giveFlag(const CovNode &Told, CallBase &Call, Function &Callee) {
    Value *Flag = flagOf(Told);
    // Its own is not set yet: nothing was done before.
    if (!(Told.flags & COV_OWN_FLAG))
      new StoreInst(ConstantInt::get(Type::getInt8Ty(Context), 0), Flag, &Call);
    return covsched::withArgument(Call, Callee, *Flag);
  }
};

}  // namespace

extern "C" void cov_clone_make(CovTemplate *copy, LLVMValueRef clone, const CovBody *body, CovMade *made) {
  *made = {};
  Cloner(*copy, *unwrap<Function>(clone), *body, *made).run();
}
