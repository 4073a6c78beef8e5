// Telling the user.

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "shared.h"

using namespace llvm;
using covsched::str;
using covsched::text;

namespace {

/// A report that belongs to no function.
class ModuleReport : public DiagnosticInfo {
public:
  ModuleReport(const Twine &Message, DiagnosticSeverity Severity)
      : DiagnosticInfo(kind(), Severity), Message(Message) {}
  void print(DiagnosticPrinter &Printer) const override { Printer << Message; }

private:
  static int kind() {
    static const int Kind = getNextAvailablePluginDiagnosticKind();
    return Kind;
  }
  const Twine &Message;
};

}  // namespace

extern "C" {

void cov_diagnose(LLVMModuleRef module, LLVMValueRef at, CovSeverity severity, CovText message) {
  LLVMContext &Context = unwrap(module)->getContext();
  DiagnosticSeverity Severity = severity == COV_ERROR ? DS_Error : DS_Warning;
  StringRef Given = str(message);
  Twine Message(Given);
  if (!at) {
    Context.diagnose(ModuleReport(Message, Severity));
    return;
  }
  Value *Where = unwrap(at);
  auto *I = dyn_cast<Instruction>(Where);
  Function *F = I ? I->getFunction() : cast<Function>(Where);
  DiagnosticLocation Location;
  if (I && I->getDebugLoc())
    Location = DiagnosticLocation(I->getDebugLoc());
  else if (DISubprogram *Program = F->getSubprogram())
    Location = DiagnosticLocation(Program);
  Context.diagnose(DiagnosticInfoUnsupported(*F, Message, Location, Severity));
}

void cov_remark(LLVMValueRef function, LLVMMetadataRef place, CovRemark kind, CovText message) {
  constexpr const char *Pass = "sync-unroll";
  Function &F = *unwrap<Function>(function);
  DiagnosticLocation Where;
  if (auto *Location = cast_or_null<DILocation>(unwrap(place)))
    Where = DiagnosticLocation(DebugLoc(Location));
  else if (DISubprogram *Program = F.getSubprogram())
    Where = DiagnosticLocation(Program);
  OptimizationRemarkEmitter Emitter(&F);
  const BasicBlock *Region = &F.getEntryBlock();
  switch (kind) {
  case COV_DONE:
    Emitter.emit([&] { return OptimizationRemark(Pass, "Unrolled", Where, Region) << str(message); });
    break;
  case COV_MISSED:
    Emitter.emit([&] { return OptimizationRemarkMissed(Pass, "NotUnrolled", Where, Region) << str(message); });
    break;
  case COV_ANALYSIS:
    Emitter.emit([&] { return OptimizationRemarkAnalysis(Pass, "LeftAlone", Where, Region) << str(message); });
    break;
  }
}

void cov_demangle(CovText name, void (*take)(void *, CovText), void *context) {
  std::string Text = demangle(str(name).str());
  take(context, text(Text));
}

}  // extern "C"
