// A function that calls itself: F.again.
//
// On F's fast path its byte was tested when control came there, and after everything in which the thread may have paused since. A
// call of F from there need not test it again. F.again is a copy of F's fast path without the tests at the entry, and such calls go
// there:
// ```text
// F:       [ at != RUNNING -> F.outside ] ; byte -> F.slow ; ... call F.again ; byte -> F.slow ; ...
// F.again:                                                   ... call F.again ; byte -> F.slow ; ...
// ```
// Only calls that are followed by a test are changed: so each cycle still has one, and how many calls follow each other without one is
// bounded by the stack. A call in tail position may become a jump, and keeps the test at the entry.
//
// Limits: large functions, in which two instructions more at the entry are not seen, have no such copy, nor have those with computed gotos.

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

/// Of so many instructions two more are not seen.
static constexpr unsigned MostInstructions = 256;

/// Blocks with an address have it in one function only; a body with phis is reached from elsewhere too.
static bool canCopy(const Cloned &Of) {
  return Of.Body->phis().empty() && none_of(*Of.F, [](const BasicBlock &Block) { return Block.hasAddressTaken(); });
}

/// From the entry straight to the body.
static void forgetTests(BasicBlock &Entry, BasicBlock &Body) {
  auto *Test = cast<BranchInst>(Entry.getTerminator());
  auto *Unused = Test->isConditional() ? dyn_cast<Instruction>(Test->getCondition()) : nullptr;
  Test->eraseFromParent();
  BranchInst::Create(&Body, &Entry);
  // What is tested is volatile: it would be read all the same.
  while (Unused && Unused->use_empty() && Unused->getParent() == &Entry) {
    auto *Of = dyn_cast<Instruction>(Unused->getOperand(0));
    Unused->eraseFromParent();
    Unused = Of;
  }
  removeUnreachableBlocks(*Entry.getParent());
}

void covsched::loom::skipEntryTests(const Cloned &Of) {
  Function &F = *Of.F;
  if (Of.Itself.empty() || F.getInstructionCount() > MostInstructions || F.hasOptNone() || F.hasOptSize() || !canCopy(Of))
    return;
  Function *Again = Function::Create(F.getFunctionType(), GlobalValue::InternalLinkage, F.getAddressSpace(),
                                     F.getName() + ".again", F.getParent());
  ValueToValueMapTy Map;
  for (auto [Old, New] : zip(F.args(), Again->args()))
    Map[&Old] = &New;
  // Without its own description: a second function with the same one would not do, and what describes F is found by its name.
  DISubprogram *Program = F.getSubprogram();
  F.setSubprogram(nullptr);
  SmallVector<ReturnInst *, 4> Returns;
  CloneFunctionInto(Again, &F, Map, CloneFunctionChangeType::LocalChangesOnly, Returns);
  F.setSubprogram(Program);
  Again->setLinkage(GlobalValue::InternalLinkage);
  Again->setVisibility(GlobalValue::DefaultVisibility);
  Again->setDLLStorageClass(GlobalValue::DefaultStorageClass);
  Again->setDSOLocal(true);
  Again->setComdat(F.getComdat());
  Again->removeFnAttr(SymbolAttribute);
  Again->setCallingConv(F.getCallingConv());
  Again->setSection(F.getSection());
  Again->setAlignment(F.getAlign());
  Again->eraseMetadata(LLVMContext::MD_type); // nobody calls it by address
  Again->eraseMetadata(LLVMContext::MD_kcfi_type);
  if (Program)
    describeAsInlined(*Again, *Program);

  forgetTests(Again->getEntryBlock(), *cast<BasicBlock>(Map[Of.Body]));
  for (CallBase *Call : Of.Itself) {
    cast<CallBase>(Map[Call])->setCalledFunction(Again);
    Call->setCalledFunction(Again);
  }
}
