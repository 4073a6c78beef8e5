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

#define COV_PASSES(PASS)                                          \
  PASS(InstrumentPass, COV_INSTRUMENT, "covsched-instrument")     \
  PASS(LowerPass, COV_LOWER, "covsched-lower")                    \
  PASS(PrintSitesPass, COV_PRINT_SITES, "print<covsched-sites>")  \
  PASS(EpochMarkersPass, COV_EPOCH_MARKERS, "epoch-markers")      \
  PASS(SyncUnrollPass, COV_SYNC_UNROLL, "sync-unroll")            \
  PASS(PrintEpochsPass, COV_PRINT_EPOCHS, "print<covsched-epochs>") \
  PASS(VerifyEpochsPass, COV_VERIFY_EPOCHS, "verify<covsched-epochs>") \
  PASS(SpecializePass, COV_SPECIALIZE, "schedspec") \
  PASS(PrintPointsToPass, COV_PRINT_POINTS_TO, "print<covsched-points-to>") \
  PASS(LoomPass, COV_LOOM, "loom") \
  PASS(PrintLoomPass, COV_PRINT_LOOM, "print<covsched-loom>")

// LLVM asks a pass's type for its name, so each has a type of its own.
#define COV_PASS_TYPE(Type, Kind, Name)   \
  struct Type : RustPass<Type, Kind> {    \
    using RustPass::RustPass;             \
  };
COV_PASSES(COV_PASS_TYPE)

/// Adds a pass with its parameters; false if there is none.
static bool addPass(ModulePassManager &MPM, const CovPassCallbacks &Callbacks, CovPass Pass, void *Parameters) {
  switch (Pass) {
#define COV_ADD_PASS(Type, Kind, Name)          \
  case Kind:                                    \
    MPM.addPass(Type(Callbacks, Parameters));   \
    return true;
    COV_PASSES(COV_ADD_PASS)
  case COV_NO_PASS:
    break;
  }
  return false;
}

}  // namespace covsched

extern "C" void cov_register_passes(void *pass_builder, const CovPassCallbacks *callbacks) {
  PassBuilder &Builder = *static_cast<PassBuilder *>(pass_builder);
  CovPassCallbacks Callbacks = *callbacks;

  // So that -print-after=covsched-instrument and the like know them.
  if (PassInstrumentationCallbacks *PIC = Builder.getPassInstrumentationCallbacks()) {
#define COV_NAME_PASS(Type, Kind, Name) PIC->addClassToPassName(covsched::Type::name(), Name);
    COV_PASSES(COV_NAME_PASS)
  }

  Builder.registerPipelineParsingCallback(
      [Callbacks](StringRef Name, ModulePassManager &MPM, ArrayRef<PassBuilder::PipelineElement>) {
        void *Parameters = nullptr;
        CovPass Pass = Callbacks.parse({Name.data(), Name.size()}, &Parameters);
        return covsched::addPass(MPM, Callbacks, Pass, Parameters);
      });

  auto addLoom = [Callbacks](ModulePassManager &MPM, CovLoomStage Stage) {
    if (void *Parameters = Callbacks.loom(Stage))
      MPM.addPass(covsched::LoomPass(Callbacks, Parameters));
  };
  auto Instrument = [=](ModulePassManager &MPM, OptimizationLevel) {
    for (size_t Number = 0;; ++Number) {
      void *Parameters = nullptr;
      CovPass Pass = Callbacks.before(Number, &Parameters);
      if (!covsched::addPass(MPM, Callbacks, Pass, Parameters))
        break;
    }
    MPM.addPass(covsched::InstrumentPass(Callbacks, Callbacks.from_environment(COV_INSTRUMENT)));
    addLoom(MPM, COV_LOOM_EARLY);
  };
  auto Lower = [=](ModulePassManager &MPM, OptimizationLevel) {
    // Loom first: only its slow paths keep the markers of recording.
    addLoom(MPM, COV_LOOM_LATE);
    MPM.addPass(covsched::LowerPass(Callbacks, Callbacks.from_environment(COV_LOWER)));
  };
  Builder.registerPipelineStartEPCallback(Instrument);
  Builder.registerOptimizerLastEPCallback(Lower);
  Builder.registerFullLinkTimeOptimizationEarlyEPCallback(Instrument);
  Builder.registerFullLinkTimeOptimizationLastEPCallback(Lower);
}
