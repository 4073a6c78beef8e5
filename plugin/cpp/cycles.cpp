// Cycles that are no loops.

#include "cycles.h"

#include "llvm/Analysis/CycleAnalysis.h"

using namespace llvm;

static void collect(const Cycle &C, std::vector<std::vector<BasicBlock *>> &Found) {
  if (!C.isReducible()) {
    Found.emplace_back(C.block_begin(), C.block_end());
    return;
  }
  for (const Cycle *Inner : C.children())
    collect(*Inner, Found);
}

std::vector<std::vector<BasicBlock *>> covsched::irreducibleCycles(Function &F) {
  std::vector<std::vector<BasicBlock *>> Found;
  CycleInfo Cycles;
  Cycles.compute(F);
  for (const Cycle *C : Cycles.toplevel_cycles())
    collect(*C, Found);
  return Found;
}
