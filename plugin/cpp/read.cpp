// Reading the IR.

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/EHPersonalities.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "shared.h"

using namespace llvm;
using covsched::str;
using covsched::text;

static StringRef nameOf(const GlobalValue &G) {
  return GlobalValue::dropLLVMManglingEscape(G.getName());
}

/// Neither of these can lock: readers of memory, and what says that it does not synchronize.
static bool cannotSync(bool OnlyReads, bool NoSync) { return OnlyReads || NoSync; }

static uint32_t functionFlags(const Function &F) {
  uint32_t Flags = 0;
  auto set = [&](bool Condition, CovFunctionFlags Flag) {
    if (Condition)
      Flags |= Flag;
  };
  set(F.isDeclarationForLinker(), COV_DECLARED);
  set(!F.isDeclaration(), COV_HAS_BODY);
  set(F.isIntrinsic(), COV_INTRINSIC);
  set(F.isInterposable(), COV_INTERPOSABLE);
  set(F.hasFnAttribute(Attribute::Naked), COV_NAKED);
  set(F.getCallingConv() == CallingConv::X86_INTR, COV_INTERRUPT);
  set(F.isPresplitCoroutine(), COV_COROUTINE);
  set(F.hasPersonalityFn() && isScopedEHPersonality(classifyEHPersonality(F.getPersonalityFn())),
      COV_FUNCLET_EH);
  set(covsched::isInstrumented(F), COV_INSTRUMENTED);
  set(cannotSync(F.onlyReadsMemory(), F.hasFnAttribute(Attribute::NoSync)), COV_CANNOT_SYNC);
  set(F.isVarArg(), COV_VARIADIC);
  set(F.hasExactDefinition(), COV_EXACT);
  set(any_of(F.users(), [](const User *Who) { return isa<GlobalIFunc>(Who); }), COV_RESOLVER);
  StringRef Version = F.getFnAttribute(covsched::VersionAttribute).getValueAsString();
  set(Version == "tested", COV_TESTED);
  set(Version == "plain", COV_PLAIN);
  set(Version == "recorded", COV_RECORDED);
  FunctionType *Type = F.getFunctionType();
  if (!F.isVarArg() && Type->getNumParams() == 1 && Type->getParamType(0)->isPointerTy()) {
    llvm::Type *Result = Type->getReturnType();
    set(Result->isPointerTy(), COV_PTR_OF_PTR);
    set(Result->isIntegerTy(32), COV_INT_OF_PTR);
    set(Result->isVoidTy(), COV_VOID_OF_PTR);
  }
  return Flags;
}

static bool isLlvmsOwn(const GlobalVariable &G) { return G.getName().startswith("llvm."); }

/// Whether a use, possibly deep inside constants, hands the address on as data.
static bool escapes(const Value &V, bool (*harmless)(CovText), SmallPtrSetImpl<const Value *> &Seen) {
  for (const Use &U : V.uses()) {
    const User *Who = U.getUser();
    if (auto *Call = dyn_cast<CallBase>(Who)) {
      if (Call->isCallee(&U))
        continue;
      auto *Callee = dyn_cast<GlobalValue>(Call->getCalledOperand()->stripPointerCasts());
      if (Callee && Call->isDataOperand(&U) && harmless(text(nameOf(*Callee))))
        continue;
      return true;
    }
    if (isa<Instruction>(Who))
      return true;
    if (auto *Variable = dyn_cast<GlobalVariable>(Who)) {
      // Vtables hold methods, which are no thread functions; what holds a vtable calls through it.
      StringRef Name = Variable->getName();
      if (isLlvmsOwn(*Variable) || Name.startswith("_ZTV") || Name.startswith("_ZTC"))
        continue;
      return true;
    }
    // A function's personality or prefix, an ifunc's resolver, a block's address: not data.
    if (isa<Function>(Who) || isa<GlobalIFunc>(Who) || isa<BlockAddress>(Who))
      continue;
    if (Seen.insert(Who).second && escapes(*Who, harmless, Seen))
      return true;
  }
  return false;
}

/// Whether nothing happens between a call and the return of its result, in code as front ends make it: the
/// result may go through a local variable and plain jumps.
static bool isInTailPosition(const CallInst &Call) {
  const Value *Result = &Call;
  const Value *Variable = nullptr;
  SmallPtrSet<const BasicBlock *, 4> Seen;
  const Instruction *At = Call.getNextNode();
  while (At) {
    if (auto *Return = dyn_cast<ReturnInst>(At))
      return !Return->getReturnValue() || Return->getReturnValue() == Result;
    if (auto *Jump = dyn_cast<BranchInst>(At)) {
      if (Jump->isConditional() || !Seen.insert(Jump->getSuccessor(0)).second)
        return false;
      const BasicBlock *Next = Jump->getSuccessor(0);
      for (const PHINode &Phi : Next->phis())
        if (Phi.getIncomingValueForBlock(Jump->getParent()) == Result)
          Result = &Phi;
      At = Next->getFirstNonPHI();
      continue;
    }
    if (auto *Store = dyn_cast<StoreInst>(At)) {
      if (Store->getValueOperand() != Result || !isa<AllocaInst>(Store->getPointerOperand()))
        return false;
      Variable = Store->getPointerOperand();
    } else if (auto *Load = dyn_cast<LoadInst>(At)) {
      if (!Variable || Load->getPointerOperand() != Variable)
        return false;
      Result = Load;
    } else if (!isa<DbgInfoIntrinsic>(At) && !At->isLifetimeStartOrEnd()) {
      return false;
    }
    At = At->getNextNode();
  }
  return false;
}

/// A jump back to the same function, in the end: by name, or through a pointer of its type in a function whose
/// address is known. Methods are left out: one that passes on to another object's is no recursion.
static bool isTailRecursive(const CallBase &Base, const Value *Callee) {
  auto *Call = dyn_cast<CallInst>(&Base);
  const Function &Own = *Base.getFunction();
  bool MayBeOwn = Callee == &Own;
  if (!Callee && Call && !Call->isInlineAsm())
    MayBeOwn = Call->getFunctionType() == Own.getFunctionType() && Own.hasAddressTaken() &&
               !Own.getName().startswith("_ZN");
  return Call && MayBeOwn && isInTailPosition(*Call);
}

extern "C" {

bool cov_is_supported_target(LLVMModuleRef module) {
  Triple Target(unwrap(module)->getTargetTriple());
  return Target.str().empty() || (Target.isOSBinFormatELF() && !Target.isBPF());
}

void cov_functions(LLVMModuleRef module, void (*visit)(void *, const CovFunction *), void *context) {
  for (Function &F : *unwrap(module)) {
    DISubprogram *Program = F.getSubprogram();
    CovFunction Facts = {wrap(&F), text(nameOf(F)), text(Program ? Program->getFilename() : StringRef()),
                         functionFlags(F), F.hasLocalLinkage() ? COV_INTERNAL : COV_EXTERNAL};
    visit(context, &Facts);
  }
}

void cov_scan(LLVMValueRef function, void (*visit)(void *, const CovInst *), void *context) {
  for (BasicBlock &Block : *unwrap<Function>(function)) {
    for (Instruction &I : Block) {
      if (auto *Return = dyn_cast<ReturnInst>(&I)) {
        bool Bound = Block.getTerminatingMustTailCall() || Block.getTerminatingDeoptimizeCall();
        CovInst Facts = {wrap(Return), nullptr, nullptr, COV_RETURN, COV_DIRECT,
                         static_cast<uint8_t>(Bound ? COV_MUSTTAIL : 0)};
        visit(context, &Facts);
        continue;
      }
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call || isa<IntrinsicInst>(Call))
        continue;
      CovInst Facts = {wrap(Call), nullptr, nullptr, COV_CALL, COV_INDIRECT, 0};
      Facts.form = isa<InvokeInst>(Call) ? COV_INVOKE : isa<CallBrInst>(Call) ? COV_CALLBR : COV_CALL;
      if (Call->isInlineAsm()) {
        Facts.target = COV_ASM;
      } else if (auto *Named = dyn_cast<GlobalValue>(Call->getCalledOperand()->stripPointerCasts())) {
        Facts.target = COV_DIRECT;
        Facts.named = wrap(Named);
        Value *Behind = Named;
        while (auto *Alias = dyn_cast<GlobalAlias>(Behind)) {
          if (Alias->isInterposable())
            break;
          Behind = Alias->getAliasee()->stripPointerCasts();
        }
        if (auto *F = dyn_cast<Function>(Behind)) {
          // An intrinsic that is called through a cast is still none of our business.
          if (F->isIntrinsic())
            continue;
          Facts.function = wrap(F);
        }
      }
      if (Call->isMustTailCall())
        Facts.flags |= COV_MUSTTAIL;
      if (isTailRecursive(*Call, Facts.named ? unwrap(Facts.named) : nullptr))
        Facts.flags |= COV_TAIL_RECURSIVE;
      if (Call->doesNotReturn())
        Facts.flags |= COV_NORETURN;
      if (Call->arg_empty())
        Facts.flags |= COV_NO_ARGUMENTS;
      if (Call->hasFnAttr(Attribute::ReturnsTwice))
        Facts.flags |= COV_RETURNS_TWICE;
      if (cannotSync(Call->onlyReadsMemory(), Call->hasFnAttr(Attribute::NoSync)))
        Facts.flags |= COV_CALL_CANNOT_SYNC;
      if (Call->hasFnAttr(covsched::GuardedAttribute))
        Facts.flags |= COV_GUARDED;
      visit(context, &Facts);
    }
  }
}

CovText cov_source_name(LLVMModuleRef module) { return text(unwrap(module)->getSourceFileName()); }

CovText cov_name(LLVMValueRef value) {
  auto *Global = dyn_cast<GlobalValue>(unwrap(value));
  return text(Global ? nameOf(*Global) : unwrap(value)->getName());
}

CovLocation cov_location(LLVMValueRef value) {
  if (auto *I = dyn_cast<Instruction>(unwrap(value))) {
    if (const DILocation *Location = I->getDebugLoc())
      return {text(Location->getFilename()), Location->getLine(), Location->getColumn()};
    return {text(""), 0, 0};
  }
  if (DISubprogram *Program = unwrap<Function>(value)->getSubprogram())
    return {text(Program->getFilename()), Program->getLine(), 0};
  return {text(""), 0, 0};
}

bool cov_call_fits(LLVMValueRef call, const CovWord *params, size_t count, size_t required, CovWord result) {
  CallBase &Call = *unwrap<CallBase>(call);
  if (Call.arg_size() > count || Call.arg_size() < required)
    return false;
  Module &M = *Call.getModule();
  for (unsigned I = 0; I < Call.arg_size(); ++I)
    if (Call.getArgOperand(I)->getType() != covsched::typeOf(M, params[I]))
      return false;
  // A program that declares the function without its result does not look at it.
  return Call.getType()->isVoidTy() || Call.getType() == covsched::typeOf(M, result);
}

void cov_functions_behind(LLVMValueRef call, size_t argument, void (*visit)(void *, LLVMValueRef),
                          void *context) {
  CallBase &Call = *unwrap<CallBase>(call);
  if (argument >= Call.arg_size())
    return;
  SmallVector<Value *, 4> Work = {Call.getArgOperand(argument)};
  SmallPtrSet<Value *, 8> Seen;
  while (!Work.empty()) {
    Value *V = Work.pop_back_val()->stripPointerCastsAndAliases();
    if (!Seen.insert(V).second)
      continue;
    if (auto *F = dyn_cast<Function>(V)) {
      if (!F->isDeclaration())
        visit(context, wrap(F));
    } else if (auto *Select = dyn_cast<SelectInst>(V)) {
      Work.append({Select->getTrueValue(), Select->getFalseValue()});
    } else if (auto *Phi = dyn_cast<PHINode>(V)) {
      Work.append(Phi->incoming_values().begin(), Phi->incoming_values().end());
    } else if (auto *Constant = dyn_cast<ConstantExpr>(V)) {
      if (Constant->getOpcode() == Instruction::Select)
        Work.append({Constant->getOperand(1), Constant->getOperand(2)});
    }
  }
}

bool cov_address_escapes(LLVMValueRef function, bool (*harmless)(CovText)) {
  SmallPtrSet<const Value *, 8> Seen;
  return escapes(*unwrap(function), harmless, Seen);
}

bool cov_address_used(LLVMValueRef function, LLVMValueRef *first) {
  bool Used = false;
  *first = nullptr;
  for (const Use &U : unwrap(function)->uses()) {
    if (!covsched::isAddressUse(U))
      continue;
    Used = true;
    if (isa<Instruction>(U.getUser())) {
      *first = wrap(U.getUser());
      break;
    }
  }
  return Used;
}

void cov_section_data(LLVMModuleRef module, CovText section, void (*visit)(void *, CovText), void *context) {
  for (const GlobalVariable &G : unwrap(module)->globals())
    if (G.hasInitializer() && G.getSection() == str(section))
      if (auto *Data = dyn_cast<ConstantDataSequential>(G.getInitializer()))
        visit(context, text(Data->getRawDataValues()));
}

bool cov_has_flag(LLVMModuleRef module, CovText flag) {
  return unwrap(module)->getModuleFlag(str(flag)) != nullptr;
}

}  // extern "C"
