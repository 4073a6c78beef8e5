// What the bridge's files share among themselves.

#ifndef COVSCHED_SHARED_H
#define COVSCHED_SHARED_H

#include "bridge.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Constant;
class DataLayout;
class Function;
class GlobalVariable;
class Instruction;
class Module;
class Type;
class Use;
}  // namespace llvm

namespace covsched {

inline CovText text(llvm::StringRef S) { return {S.data(), S.size()}; }
inline llvm::StringRef str(CovText T) { return llvm::StringRef(T.data, T.len); }

/// The function attribute of functions that are done. Functions carry it, not modules: LTO merges modules
/// that were instrumented with modules that were not.
constexpr const char *InstrumentedAttribute = "covsched-instrumented";

/// The call attribute of guarded markers. Attributes outlive copying and linking; metadata may not.
constexpr const char *GuardedAttribute = "covsched-guarded";

/// The function attribute of versions: see COV_TESTED, COV_PLAIN and COV_RECORDED, whose names are its values.
constexpr const char *VersionAttribute = "covsched-version";

bool isInstrumented(const llvm::Function &F);
/// The first instruction of the entry block behind its allocas and, in unoptimized code, the stores of parameters into them.
llvm::Instruction *afterParameters(llvm::Function &F);
/// The type behind a word of the hook table.
llvm::Type *typeOf(llvm::Module &M, CovWord Word);
/// Sanitizers would put red zones between what the runtime or a linker section must have back to back.
void keepFromSanitizers(llvm::GlobalVariable &G);
/// What instrumented code reads all the time fills cache lines of its own: else each write of a variable that happens to stand beside
/// it would make the next read on another processor slow.
constexpr uint64_t CacheLine = 64;
/// The value, and zeros up to the end of its last cache line.
llvm::Constant *fillCacheLines(llvm::Constant &Value, const llvm::DataLayout &Layout);
/// Whether code or data that is not done yet uses a synchronizing function's address: see cov_address_used.
bool isAddressUse(const llvm::Use &U);

}  // namespace covsched

#endif
