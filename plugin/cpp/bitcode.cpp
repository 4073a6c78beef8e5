// Writing a module's bitcode to memory, and linking bitcode back together.

#include <memory>
#include <string>

#include "bridge.h"
#include "llvm-c/Core.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "shared.h"

using namespace llvm;
using covsched::str;
using covsched::text;

/// A module under construction and where its context's complaints go.
struct CovLinked {
  LLVMContext Context;
  std::unique_ptr<Module> Whole;
  std::unique_ptr<Linker> Links;
  std::string Complaints;

  /// Without a handler LLVM would print the error and exit.
  static void collect(const DiagnosticInfo &Info, void *Self) {
    if (Info.getSeverity() != DS_Error)
      return;
    std::string &Text = static_cast<CovLinked *>(Self)->Complaints;
    raw_string_ostream Out(Text);
    if (!Text.empty())
      Out << "; ";
    DiagnosticPrinterRawOStream Printer(Out);
    Info.print(Printer);
  }
};

static void give(const std::string &Text, void (*take)(void *, CovText), void *context) {
  take(context, text(Text));
}

static void writeTo(const Module &M, void (*take)(void *, CovText), void *context) {
  std::string Bytes;
  raw_string_ostream Out(Bytes);
  WriteBitcodeToFile(M, Out);
  Out.flush();
  give(Bytes, take, context);
}

extern "C" {

void cov_write_bitcode(LLVMModuleRef module, void (*take)(void *, CovText), void *context) {
  writeTo(*unwrap(module), take, context);
}

CovLinked *cov_linked_new() {
  auto *Linked = new CovLinked();
  Linked->Context.setDiagnosticHandlerCallBack(CovLinked::collect, Linked);
  Linked->Whole = std::make_unique<Module>("covsched", Linked->Context);
  Linked->Links = std::make_unique<Linker>(*Linked->Whole);
  return Linked;
}

void cov_linked_drop(CovLinked *linked) {
  linked->Links.reset();
  linked->Whole.reset();
  delete linked;
}

bool cov_linked_add(CovLinked *linked, CovText name, CovText bitcode, void (*take)(void *, CovText),
                    void *context) {
  // Readers need 4-byte alignment, which a slice of a section may not have.
  std::unique_ptr<MemoryBuffer> Copy = MemoryBuffer::getMemBufferCopy(str(bitcode), str(name));
  Expected<std::unique_ptr<Module>> Part = parseBitcodeFile(Copy->getMemBufferRef(), linked->Context);
  if (!Part) {
    give(toString(Part.takeError()), take, context);
    return false;
  }
  linked->Complaints.clear();
  if (linked->Links->linkInModule(std::move(*Part))) {
    give(linked->Complaints.empty() ? "LLVM gave no reason" : linked->Complaints, take, context);
    return false;
  }
  return true;
}

bool cov_linked_read(CovLinked *linked, CovText name, CovText ir, void (*take)(void *, CovText), void *context) {
  std::unique_ptr<MemoryBuffer> Copy = MemoryBuffer::getMemBufferCopy(str(ir), str(name));
  SMDiagnostic Complaint;
  linked->Complaints.clear();
  std::unique_ptr<Module> Read = parseIR(Copy->getMemBufferRef(), Complaint, linked->Context);
  if (!Read) {
    std::string Text;
    raw_string_ostream Out(Text);
    if (Complaint.getLineNo() > 0)
      Out << "line " << Complaint.getLineNo() << ": ";
    Out << Complaint.getMessage();
    give(Out.str(), take, context);
    return false;
  }
  linked->Links.reset();
  linked->Whole = std::move(Read);
  linked->Links = std::make_unique<Linker>(*linked->Whole);
  return true;
}

LLVMModuleRef cov_linked_module(CovLinked *linked) { return wrap(linked->Whole.get()); }

void cov_linked_undefined(CovLinked *linked, void (*take)(void *, CovText), void *context) {
  for (const GlobalValue &Global : linked->Whole->global_values()) {
    if (!Global.isDeclaration() || Global.getName().startswith("llvm.") || Global.use_empty())
      continue;
    StringRef Name = GlobalValue::dropLLVMManglingEscape(Global.getName());
    take(context, text(Name));
  }
}

bool cov_linked_verify(CovLinked *linked, void (*take)(void *, CovText), void *context) {
  std::string Text;
  raw_string_ostream Out(Text);
  if (!verifyModule(*linked->Whole, &Out))
    return true;
  give(Out.str(), take, context);
  return false;
}

void cov_linked_write(CovLinked *linked, void (*take)(void *, CovText), void *context) {
  writeTo(*linked->Whole, take, context);
}

}  // extern "C"
