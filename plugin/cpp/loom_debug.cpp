// Debug info of functions that have another function's code: its slow path, or a second copy of its fast one. In their debug info that
// function is inlined, so that lines, scopes and variables stay as they are, and nothing is described twice.

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "loom.h"

using namespace llvm;
using namespace covsched::loom;

namespace {

class Inlined {
public:
  Inlined(Function &New, DISubprogram &Program) : New(New), Program(Program), Context(New.getContext()) {}

  void run() {
    DIBuilder Builder(*New.getParent(), false, Program.getUnit());
    DISubroutineType *Type = Builder.createSubroutineType(Builder.getOrCreateTypeArray({}));
    DISubprogram *Own = Builder.createFunction(
        Program.getFile(), New.getName(), New.getName(), Program.getFile(), Program.getLine(), Type, Program.getLine(),
        DINode::FlagArtificial,
        DISubprogram::SPFlagDefinition | DISubprogram::SPFlagLocalToUnit | DISubprogram::SPFlagOptimized);
    Builder.finalizeSubprogram(Own);
    New.setSubprogram(Own);
    Root = DILocation::getDistinct(Context, Program.getLine(), 0, Own, nullptr);
    for (Instruction &I : instructions(New)) {
      if (DILocation *At = I.getDebugLoc())
        I.setDebugLoc(inside(At));
      else if (auto *Call = dyn_cast<CallBase>(&I); Call && Call->getCalledFunction() && Call->getCalledFunction()->getSubprogram())
        I.setDebugLoc(DILocation::get(Context, 0, 0, Own));
      // Loops' own descriptions are by places, too.
      if (I.hasMetadata(LLVMContext::MD_loop))
        I.setMetadata(LLVMContext::MD_loop, nullptr);
    }
  }

private:
  Function &New;
  DISubprogram &Program;
  LLVMContext &Context;
  DenseMap<const DILocation *, DILocation *> Places;
  DILocation *Root = nullptr;

  /// A place that something is inlined at.
  DILocation *callPlace(const DILocation *Old) {
    if (!Old)
      return Root;
    if (DILocation *Known = Places.lookup(Old))
      return Known;
    DILocation *At = callPlace(Old->getInlinedAt());
    return Places[Old] = DILocation::getDistinct(Context, Old->getLine(), Old->getColumn(), Old->getScope(), At);
  }

  DILocation *inside(const DILocation *Old) {
    return DILocation::get(Context, Old->getLine(), Old->getColumn(), Old->getScope(), callPlace(Old->getInlinedAt()),
                           Old->isImplicitCode());
  }
};

}  // namespace

void covsched::loom::describeAsInlined(Function &New, DISubprogram &Program) { Inlined(New, Program).run(); }
