// Debug info of clones.

#include "clone_debug.h"

#include "llvm/IR/Function.h"

using namespace llvm;
using covsched::DebugInfo;

DebugInfo::DebugInfo(const CovTemplate &T, Function &Clone) : T(T) {
  if (T.Local.empty())
    return;
  New.reserve(T.Local.size());
  LLVMContext &Context = Clone.getContext();
  auto *Program = cast<DISubprogram>(T.Local.front());
  DISubprogram *Own = MDNode::replaceWithDistinct(Program->clone());
  Own->replaceLinkageName(MDString::get(Context, Clone.getName()));
  New.push_back(Own);
  for (MDNode *Node : drop_begin(T.Local))
    New.push_back(copyOf(*Node));
  if (auto *Retained = cast_or_null<MDNode>(Program->getRawRetainedNodes()); Retained && Retained->getNumOperands()) {
    SmallVector<Metadata *, 16> Nodes;
    for (const MDOperand &Part : Retained->operands())
      Nodes.push_back(map(Part.get()));
    constexpr unsigned RetainedNodes = 7;
    assert(Program->getOperand(RetainedNodes) == Retained);
    Own->replaceOperandWith(RetainedNodes, MDTuple::get(Context, Nodes));
  }
  Clone.setSubprogram(Own);
  Artificial = DILocation::get(Context, 0, 0, Own);
}

MDNode *DebugInfo::copyOf(const MDNode &Node) {
  LLVMContext &Context = Node.getContext();
  if (auto *Location = dyn_cast<DILocation>(&Node)) {
    Metadata *Scope = map(Location->getRawScope()), *At = map(Location->getRawInlinedAt());
    return Location->isDistinct() ? DILocation::getDistinct(Context, Location->getLine(), Location->getColumn(),
                                                            Scope, At, Location->isImplicitCode())
                                  : DILocation::get(Context, Location->getLine(), Location->getColumn(), Scope, At,
                                                    Location->isImplicitCode());
  }
  TempMDNode Copy = Node.clone();
  for (unsigned I = 0; I < Copy->getNumOperands(); ++I) {
    Metadata *Old = Node.getOperand(I);
    if (Old && Old != &Node)
      Copy->replaceOperandWith(I, map(Old));
  }
  if (!Node.isDistinct())
    return MDNode::replaceWithUniqued(std::move(Copy));
  MDNode *Result = MDNode::replaceWithDistinct(std::move(Copy));
  // A loop's id names itself.
  if (Node.getNumOperands() && Node.getOperand(0) == &Node)
    Result->replaceOperandWith(0, Result);
  return Result;
}
