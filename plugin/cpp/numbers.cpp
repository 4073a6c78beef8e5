// Numbers of values that stay while a module is changed: one whose value is gone is never given again.

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/IR/ValueMap.h"

using namespace llvm;

namespace {
struct NotFollowing : ValueMapConfig<const Value *> {
  enum { FollowRAUW = false };
};
}  // namespace

struct CovNumbers {
  ValueMap<const Value *, uint64_t, NotFollowing> Known;
  uint64_t Next = 0;
};

extern "C" {

CovNumbers *cov_numbers_new() { return new CovNumbers(); }

void cov_numbers_drop(CovNumbers *numbers) { delete numbers; }

uint64_t cov_number_of(CovNumbers *numbers, LLVMValueRef value) {
  auto [Found, IsNew] = numbers->Known.insert({unwrap(value), numbers->Next});
  numbers->Next += IsNew;
  return Found->second;
}

}  // extern "C"
