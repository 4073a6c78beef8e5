// Types as text.

#ifndef COVSCHED_TELL_SHAPE_H
#define COVSCHED_TELL_SHAPE_H

#include <string>

#include "llvm/IR/DerivedTypes.h"

namespace covsched {

/// A function's type, the same in every unit: structures by what is in them.
std::string shapeOf(const llvm::FunctionType &Type);

}  // namespace covsched

#endif
