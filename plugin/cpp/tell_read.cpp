// Reading what loom's pass made of a function: a graph of what happens on its slow path.
//
// Nothing is marked as slow. The pass decides between its copies by tests of bytes, and which way they go is known
// for a thread on the slow path: see tell_path.h.

#include "llvm-c/Core.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "tell.h"
#include "tell_access.h"
#include "tell_path.h"
#include "tell_shape.h"
#include "shared.h"

using namespace llvm;
using covsched::globalBehind;
using covsched::text;

namespace {

/// Whether an instruction has a line of its own to give.
bool hasLine(const Instruction &I) {
  return I.getDebugLoc() && I.getDebugLoc()->getLine() != 0 && !isa<DbgInfoIntrinsic>(I) && !isa<PHINode>(I) &&
         !I.isLifetimeStartOrEnd() && !isa<AllocaInst>(I);
}

/// What is called by name, aliases that hold resolved; null if a pointer is called.
const GlobalValue *calleeOf(const CallBase &Call) {
  auto *Named = dyn_cast<GlobalValue>(Call.getCalledOperand()->stripPointerCasts());
  while (auto *Alias = dyn_cast_or_null<GlobalAlias>(Named)) {
    auto *Behind = dyn_cast<GlobalValue>(Alias->getAliasee()->stripPointerCasts());
    if (Alias->isInterposable() || !Behind)
      break;
    Named = Behind;
  }
  return Named;
}

/// The linkage name; of the body of a function whose symbol a wrapper has, that symbol.
StringRef nameOf(const GlobalValue &G) {
  auto *F = dyn_cast<Function>(&G);
  if (F && F->hasFnAttribute(covsched::LoomSymbol))
    return F->getFnAttribute(covsched::LoomSymbol).getValueAsString();
  return GlobalValue::dropLLVMManglingEscape(G.getName());
}

/// Where a thread is while a call runs.
struct Release {
  uint32_t Number = COV_TELL_NONE;
  bool IsCell = false;
};

class Reader {
public:
  Reader(Function &F, bool Lines, bool (*Forgets)(CovText))
      : F(F), Layout(F.getParent()->getDataLayout()), Accesses(F, Forgets), Lines(Lines),
        Blocks(covsched::blocksIf(F, covsched::LoomSlowAndWait)) {
    for (BasicBlock *Block : Blocks)
      Numbers.try_emplace(Block, Numbers.size());
    findReleases();
  }

  void visit(void (*Visit)(void *, const CovTellBlock *), void *Context) {
    for (BasicBlock *Block : Blocks) {
      Items.clear();
      Available.clear();
      Release At = ReleasedAt[Numbers.lookup(Block)];
      Line = nullptr;
      for (Instruction &I : *Block)
        addInst(I, At);
      SmallVector<uint32_t, 4> Next;
      for (BasicBlock *To : covsched::successorsIf(*Block, covsched::LoomSlowAndWait))
        Next.push_back(Numbers.lookup(To));
      for (CovTellItem &Item : Items)
        if (Item.kind == COV_TELL_SLOT)
          Item.available = Available.data() + Item.bytes;
      CovTellBlock Facts = {Items.data(), Items.size(), Next.data(), Next.size(), endOf(*Block)};
      Visit(Context, &Facts);
    }
  }

private:
  static CovTellEnd endOf(const BasicBlock &Block) {
    const Instruction *Last = Block.getTerminator();
    if (isa<ReturnInst>(Last))
      return COV_TELL_RETURNS;
    if (isa<InvokeInst>(Last))
      return COV_TELL_INVOKES;
    if (isa<ResumeInst>(Last))
      return COV_TELL_UNWINDS;
    if (succ_empty(&Block))
      return isa<UnreachableInst>(Last) ? COV_TELL_STOPS : COV_TELL_UNWINDS;
    return COV_TELL_GOES_ON;
  }

  /// What the pass says of an instruction: `loom::setLocation`.
  static uint32_t toldLocation(const Instruction &I) {
    MDNode *Told = I.getMetadata(covsched::LoomLocation);
    return Told ? mdconst::extract<ConstantInt>(Told->getOperand(0))->getZExtValue() : COV_TELL_NONE;
  }

  /// The number of a location byte; COV_TELL_NONE if the value is none.
  uint32_t locationOf(const Value *V) const {
    uint64_t Offset;
    if (auto *Cast = dyn_cast<PtrToIntOperator>(V))
      V = Cast->getOperand(0);
    // Writer::location
    if (auto *Made = dyn_cast<CallInst>(V); Made && Made->isInlineAsm() && Made->arg_size() == 1)
      V = Made->getArgOperand(0);
    if (!V->getType()->isPointerTy())
      return COV_TELL_NONE;
    const GlobalVariable *Global = globalBehind(V, Layout, Offset);
    return Global && Global->getName().startswith(covsched::LoomLocations) ? Offset : COV_TELL_NONE;
  }

  /// Where a thread is released that stores this into its word: a location, or what is in a call cell at first.
  Release releasedBy(const Value *Stored) const {
    auto *Load = dyn_cast<LoadInst>(Stored);
    uint64_t Offset;
    const GlobalVariable *Cells = Load ? globalBehind(Load->getPointerOperand(), Layout, Offset) : nullptr;
    if (Cells && Cells->getName().startswith(covsched::LoomCalls))
      return {static_cast<uint32_t>(Offset / 8), true};
    return {locationOf(Stored), false};
  }

  /// Whether the instruction stores the thread's word; then `At` is where it is released.
  bool setsWord(const Instruction &I, Release &At) const {
    if (auto *Call = dyn_cast<CallInst>(&I)) {
      // The same as functions of their own.
      const GlobalValue *Callee = calleeOf(*Call);
      if (Callee && Callee->getName().startswith(covsched::LoomRelease)) {
        const Value *To = Call->getArgOperand(0);
        auto *Cast = dyn_cast<IntToPtrInst>(To);
        At = releasedBy(Cast ? Cast->getOperand(0) : To);
        return true;
      }
      if (Callee && Callee->getName().startswith(covsched::LoomRetake)) {
        At = Release();
        return true;
      }
      return false;
    }
    auto *Store = dyn_cast<StoreInst>(&I);
    uint64_t Offset;
    const GlobalVariable *Global = Store ? globalBehind(Store->getPointerOperand(), Layout, Offset) : nullptr;
    if (!Global || Global->getName() != covsched::LoomAt)
      return false;
    At = releasedBy(Store->getValueOperand());
    return true;
  }

  /// Where the thread is released at each block's start: a call may stand in another block than the release.
  void findReleases() {
    ReleasedAt.assign(Blocks.size(), Release());
    bool Changed = true;
    while (Changed) {
      Changed = false;
      for (BasicBlock *Block : Blocks) {
        Release At = ReleasedAt[Numbers.lookup(Block)];
        for (Instruction &I : *Block)
          setsWord(I, At);
        if (At.Number == COV_TELL_NONE)
          continue;
        for (BasicBlock *To : covsched::successorsIf(*Block, covsched::LoomSlowAndWait)) {
          Release &There = ReleasedAt[Numbers.lookup(To)];
          Changed |= There.Number == COV_TELL_NONE;
          if (There.Number == COV_TELL_NONE)
            There = At;
        }
      }
    }
  }

  void addLine(Instruction &I) {
    if (!Lines || !hasLine(I) || I.getDebugLoc().get() == Line)
      return;
    Line = I.getDebugLoc().get();
    CovTellItem Item = {};
    Item.kind = COV_TELL_LINE;
    Item.inst = wrap(&I);
    Item.place = wrap(Line);
    Item.number = COV_TELL_NONE;
    Items.push_back(Item);
  }

  void addInst(Instruction &I, Release &At) {
    if (setsWord(I, At))
      return;
    auto *Call = dyn_cast<CallBase>(&I);
    const GlobalValue *Callee = Call ? calleeOf(*Call) : nullptr;
    StringRef Name = Callee ? nameOf(*Callee) : StringRef();
    if (Name.startswith("covsched_loom_") || Name.startswith(covsched::LoomTest)) {
      addOwn(*Call, Name);
      return;
    }
    if (isa<LandingPadInst>(I)) {
      CovTellItem Item = {};
      Item.kind = COV_TELL_LANDING;
      Item.inst = wrap(&I);
      Item.number = toldLocation(I);
      Items.push_back(Item);
    }
    addLine(I);
    if (!Call || isa<IntrinsicInst>(Call)) {
      Accesses.add(I, Items);
      return;
    }
    if (auto *Known = dyn_cast_or_null<Function>(Callee); Known && Known->isIntrinsic())
      return;
    // What is not released there and calls nothing.
    if (Call->isInlineAsm() && At.Number == COV_TELL_NONE)
      return;
    Release Here = At;
    if (uint32_t Known = toldLocation(I); Known != COV_TELL_NONE)
      Here = {Known, false};
    CovTellItem Item = {};
    Item.kind = COV_TELL_CALL;
    Item.access = COV_TELL_CALLS;
    Item.inst = wrap(&I);
    Item.place = wrap(I.getDebugLoc().get());
    Item.number = Here.Number;
    Item.callee = text(Name);
    Item.address = covsched::AccessFinder::calleeHash(Name);
    bool MayUnwind = !Call->doesNotThrow() && !F.doesNotThrow() && !isa<InvokeInst>(Call);
    Item.flags = (Call->doesNotReturn() ? COV_TELL_ENDS : 0) | (MayUnwind ? COV_TELL_MAY_UNWIND : 0) |
                 (Call->isInlineAsm() ? COV_TELL_ASM : 0) | (Here.IsCell ? COV_TELL_CELL : 0) |
                 (Call->hasFnAttr(Attribute::ReturnsTwice) ? COV_TELL_TWICE : 0) |
                 (Call->getMetadata(covsched::LoomLast) ? COV_TELL_LAST : 0);
    Items.push_back(Item);
  }

  /// Calls of loom's own runtime.
  void addOwn(CallBase &Call, StringRef Name) {
    CovTellItem Item = {};
    Item.inst = wrap(&Call);
    Item.place = wrap(Call.getDebugLoc().get());
    bool IsTest = Name.startswith(covsched::LoomTest);
    if (Name == covsched::LoomCheck || IsTest) {
      Item.kind = COV_TELL_CHECK;
      Item.number = locationOf(Call.getArgOperand(IsTest ? 1 : 0));
      Items.push_back(Item);
    } else if (Name == covsched::LoomSlot) {
      uint64_t Offset;
      const GlobalVariable *Slots = globalBehind(Call.getArgOperand(0), Layout, Offset);
      if (!Slots || !Slots->getName().startswith(covsched::LoomSlots))
        return;
      Item.kind = COV_TELL_SLOT;
      Item.number = Offset / 8;
      if (MDNode *From = Call.getMetadata(covsched::LoomFrom))
        Item.from = wrap(From->getOperand(0).get());
      // Until all are known the list may move: `bytes` is where it begins.
      Item.bytes = Available.size();
      if (MDNode *Numbers = Call.getMetadata(covsched::LoomAvailable))
        for (const MDOperand &Number : Numbers->operands())
          Available.push_back(mdconst::extract<ConstantInt>(Number)->getZExtValue());
      Item.available_count = Available.size() - Item.bytes;
      Items.push_back(Item);
    }
  }

  Function &F;
  const DataLayout &Layout;
  covsched::AccessFinder Accesses;
  bool Lines;
  std::vector<BasicBlock *> Blocks;
  DenseMap<const BasicBlock *, uint32_t> Numbers;
  std::vector<Release> ReleasedAt;
  SmallVector<CovTellItem, 32> Items;
  std::vector<uint32_t> Available;
  const DILocation *Line = nullptr;
};

/// A type as text, the same in every unit: structures by what is in them.
void printType(const Type *Kind, raw_ostream &Out) {
  if (auto *Struct = dyn_cast<StructType>(Kind); Struct && !Struct->isOpaque()) {
    Out << '{';
    for (const Type *Element : Struct->elements()) {
      printType(Element, Out);
      Out << ',';
    }
    Out << '}';
  } else if (auto *Array = dyn_cast<ArrayType>(Kind)) {
    Out << '[' << Array->getNumElements() << 'x';
    printType(Array->getElementType(), Out);
    Out << ']';
  } else {
    Kind->print(Out, false, true);
  }
}

std::string shapeOf(const Type *Result, ArrayRef<Type *> Parameters, bool Variadic) {
  std::string Text;
  raw_string_ostream Out(Text);
  printType(Result, Out);
  Out << '(';
  for (const Type *Parameter : Parameters) {
    printType(Parameter, Out);
    Out << ',';
  }
  Out << (Variadic ? "...)" : ")");
  return Text;
}

}  // namespace

std::string covsched::shapeOf(const FunctionType &Type) {
  return ::shapeOf(Type.getReturnType(), Type.params(), Type.isVarArg());
}

extern "C" {

void cov_tell_read(LLVMValueRef function, bool lines, bool (*forgets)(CovText),
                   void (*visit)(void *, const CovTellBlock *), void *context) {
  Reader(*unwrap<Function>(function), lines, forgets).visit(visit, context);
}

void cov_tell_definition(LLVMValueRef function, void (*visit)(void *, const CovTellLine *), void *context) {
  Function &F = *unwrap<Function>(function);
  DISubprogram *Program = F.getSubprogram();
  if (!Program)
    return;
  StringRef File = Program->getFilename();
  StringRef Directory = sys::path::is_absolute(File) ? StringRef() : Program->getDirectory();
  CovTellLine Line = {nullptr, text(nameOf(F)), text(Directory), text(File), Program->getLine()};
  visit(context, &Line);
}

void cov_tell_chain(LLVMMetadataRef place, void (*visit)(void *, const CovTellLine *), void *context) {
  for (auto *At = cast<DILocation>(unwrap(place)); At; At = At->getInlinedAt()) {
    DISubprogram *Program = At->getScope()->getSubprogram();
    StringRef Name = Program ? Program->getLinkageName() : StringRef();
    if (Program && Name.empty())
      Name = Program->getName();
    StringRef File = At->getFilename();
    StringRef Directory = sys::path::is_absolute(File) ? StringRef() : At->getDirectory();
    CovTellLine Line = {wrap(At->getInlinedAt()), text(GlobalValue::dropLLVMManglingEscape(Name)), text(Directory),
                        text(File), At->getLine()};
    visit(context, &Line);
  }
}

void cov_tell_shapes(LLVMValueRef call_or_function, void (*take)(void *, CovText), void *context) {
  auto Give = [&](std::string Text) { take(context, text(Text)); };
  if (auto *F = dyn_cast<Function>(unwrap(call_or_function))) {
    Give(covsched::shapeOf(*F->getFunctionType()));
    return;
  }
  auto &Call = *unwrap<CallBase>(call_or_function);
  FunctionType *Kind = Call.getFunctionType();
  if (!Kind->isVarArg()) {
    Give(shapeOf(Kind->getReturnType(), Kind->params(), false));
    return;
  }
  // What cov_call_may_reach accepts: all arguments fit, or the first ones and the rest is variadic.
  SmallVector<Type *, 8> Passed;
  for (const Value *Argument : Call.args())
    Passed.push_back(Argument->getType());
  Give(shapeOf(Call.getType(), Passed, false));
  for (size_t Fixed = 0; Fixed <= Passed.size(); ++Fixed)
    Give(shapeOf(Call.getType(), ArrayRef<Type *>(Passed).take_front(Fixed), true));
}

bool cov_tell_functions_behind(LLVMValueRef call, size_t argument, void (*take)(void *, CovText), void *context) {
  auto &Call = *unwrap<CallBase>(call);
  if (argument >= Call.arg_size())
    return false;
  bool All = true;
  SmallVector<Value *, 4> Work = {Call.getArgOperand(argument)};
  SmallPtrSet<Value *, 8> Seen;
  while (!Work.empty()) {
    Value *V = Work.pop_back_val()->stripPointerCastsAndAliases();
    if (!Seen.insert(V).second)
      continue;
    if (auto *F = dyn_cast<Function>(V))
      take(context, text(nameOf(*F)));
    else if (auto *Select = dyn_cast<SelectInst>(V))
      Work.append({Select->getTrueValue(), Select->getFalseValue()});
    else if (auto *Phi = dyn_cast<PHINode>(V))
      Work.append(Phi->incoming_values().begin(), Phi->incoming_values().end());
    else if (!isa<ConstantPointerNull>(V) && !isa<UndefValue>(V))
      All = false;
  }
  return All;
}

uint32_t cov_tell_number(LLVMValueRef function) {
  Function &F = *unwrap<Function>(function);
  const DataLayout &Layout = F.getParent()->getDataLayout();
  for (const Instruction &I : instructions(F))
    if (auto *Load = dyn_cast<LoadInst>(&I)) {
      uint64_t Offset;
      const GlobalVariable *Global = globalBehind(Load->getPointerOperand(), Layout, Offset);
      if (Global && Global->getName().startswith(covsched::LoomFunctions))
        return Offset / 8;
    }
  return COV_TELL_NONE;
}

}  // extern "C"
