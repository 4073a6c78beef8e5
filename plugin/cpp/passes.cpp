// Registration: LLVM's side of the passes. What they do is in Rust, behind CovPassCallbacks.

#include <memory>
#include <utility>

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace covsched {

/// One pass in a pipeline. Pass managers move passes about, so the parameters are shared.
template <typename Self, CovPass Kind>
struct RustPass : PassInfoMixin<Self> {
  RustPass(const CovPassCallbacks &Callbacks, void *Parameters)
      : Callbacks(Callbacks), Parameters(Parameters, Callbacks.drop) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    return Callbacks.run(Kind, Parameters.get(), wrap(&M)) ? PreservedAnalyses::none()
                                                           : PreservedAnalyses::all();
  }

  /// A bisecting user wants to find a miscompiled optimization, not a program without its sites.
  static bool isRequired() { return true; }

  CovPassCallbacks Callbacks;
  std::shared_ptr<void> Parameters;
};

struct InstrumentPass : RustPass<InstrumentPass, COV_INSTRUMENT> {
  using RustPass::RustPass;
};
struct LowerPass : RustPass<LowerPass, COV_LOWER> {
  using RustPass::RustPass;
};
struct PrintSitesPass : RustPass<PrintSitesPass, COV_PRINT_SITES> {
  using RustPass::RustPass;
};

}  // namespace covsched

extern "C" void cov_register_passes(void *pass_builder, const CovPassCallbacks *callbacks) {
  PassBuilder &Builder = *static_cast<PassBuilder *>(pass_builder);
  CovPassCallbacks Callbacks = *callbacks;

  // So that -print-after=covsched-instrument and the like know them.
  if (PassInstrumentationCallbacks *PIC = Builder.getPassInstrumentationCallbacks()) {
    PIC->addClassToPassName(covsched::InstrumentPass::name(), "covsched-instrument");
    PIC->addClassToPassName(covsched::LowerPass::name(), "covsched-lower");
    PIC->addClassToPassName(covsched::PrintSitesPass::name(), "print<covsched-sites>");
  }

  Builder.registerPipelineParsingCallback(
      [Callbacks](StringRef Name, ModulePassManager &MPM, ArrayRef<PassBuilder::PipelineElement>) {
        void *Parameters = nullptr;
        switch (Callbacks.parse({Name.data(), Name.size()}, &Parameters)) {
        case COV_INSTRUMENT:
          MPM.addPass(covsched::InstrumentPass(Callbacks, Parameters));
          return true;
        case COV_LOWER:
          MPM.addPass(covsched::LowerPass(Callbacks, Parameters));
          return true;
        case COV_PRINT_SITES:
          MPM.addPass(covsched::PrintSitesPass(Callbacks, Parameters));
          return true;
        case COV_NO_PASS:
          break;
        }
        return false;
      });

  auto Instrument = [Callbacks](ModulePassManager &MPM, OptimizationLevel) {
    MPM.addPass(covsched::InstrumentPass(Callbacks, Callbacks.from_environment(COV_INSTRUMENT)));
  };
  auto Lower = [Callbacks](ModulePassManager &MPM, OptimizationLevel) {
    MPM.addPass(covsched::LowerPass(Callbacks, Callbacks.from_environment(COV_LOWER)));
  };
  Builder.registerPipelineStartEPCallback(Instrument);
  Builder.registerOptimizerLastEPCallback(Lower);
  Builder.registerFullLinkTimeOptimizationEarlyEPCallback(Instrument);
  Builder.registerFullLinkTimeOptimizationLastEPCallback(Lower);
}
