// Locals in registers.

#ifndef COVSCHED_PROMOTE_H
#define COVSCHED_PROMOTE_H

#include "llvm/IR/Function.h"

namespace covsched {

/// Puts locals whose address is not used otherwise into registers. No access to other memory is removed or added.
/// Whether anything changed.
bool promoteLocals(llvm::Function &F);

}  // namespace covsched

#endif
