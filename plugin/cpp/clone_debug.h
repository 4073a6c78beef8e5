// Debug info of clones: each has its own of what belongs to its function.

#ifndef COVSCHED_CLONE_DEBUG_H
#define COVSCHED_CLONE_DEBUG_H

#include <vector>

#include "llvm/IR/DebugInfoMetadata.h"
#include "template.h"

namespace covsched {

/// A clone's own debug info.
class DebugInfo {
public:
  /// Copies what belongs to the function, and gives the clone a subprogram.
  DebugInfo(const CovTemplate &T, llvm::Function &Clone);

  llvm::MDNode *at(uint32_t Place) const { return New[Place]; }
  /// For what no line of the source says.
  llvm::DILocation *artificial() const { return Artificial; }

  llvm::Metadata *map(llvm::Metadata *Node) const {
    auto Found = T.LocalPlaces.find(Node);
    return Found == T.LocalPlaces.end() || Found->second == None ? Node : New[Found->second];
  }

private:
  const CovTemplate &T;
  std::vector<llvm::MDNode *> New;
  llvm::DILocation *Artificial = nullptr;

  llvm::MDNode *copyOf(const llvm::MDNode &Node);
};

}  // namespace covsched

#endif
