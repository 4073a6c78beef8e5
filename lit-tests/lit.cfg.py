"""lit's view of covsched: which tools the suites in ir/, run/ and cli/ call, and where they are.

The install tree that `scripts/build` makes is `target/install`; COVSCHED_INSTALL names another one.
Tools of LLVM are Debian's, with their version in the name.
"""

import os
import shutil

import lit.formats

config.name = "covsched"
# lit's own shell (external ones are going away): what needs bash says `bash -c '...'`.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ll", ".c", ".cpp", ".test"]
config.excludes = ["Inputs"]

config.test_source_root = os.path.dirname(os.path.abspath(__file__))
repository = os.path.dirname(config.test_source_root)
config.test_exec_root = os.path.join(repository, "target", "lit")

install = os.path.abspath(os.environ.get("COVSCHED_INSTALL") or os.path.join(repository, "target", "install"))
binaries = os.path.join(install, "bin")
libraries = os.path.join(install, "lib", "covsched")


def tool(name):
    """The tool's full path; a missing one stops lit, since every suite would fail with a riddle."""
    path = shutil.which(name)
    if path is None:
        lit_config.fatal(f"{name} is not in PATH: run scripts/setup")
    return path


# Longer names stand before their prefixes: lit replaces in this order.
config.substitutions += [
    ("%covsched-cxx", os.path.join(binaries, "covsched-c++")),
    ("%covsched-cc", os.path.join(binaries, "covsched-cc")),
    ("%covsched", os.path.join(binaries, "covsched")),
    ("%clangxx", tool("clang++-16")),
    ("%clang", tool("clang-16")),
    ("%FileCheck", tool("FileCheck-16")),
    ("%opt", tool("opt-16")),
    ("%lld", tool("ld.lld-16")),
    ("%llvm-readelf", tool("llvm-readelf-16")),
    ("%llvm-objcopy", tool("llvm-objcopy-16")),
    ("%llvm-dis", tool("llvm-dis-16")),
    ("%llvm-as", tool("llvm-as-16")),
    ("%not", tool("not-16")),
    ("%count", tool("count-16")),
    ("%plugin", os.path.join(libraries, "libcovsched.so")),
    ("%rt", os.path.join(libraries, "libcovsched_rt.a")),
    ("%install", install),
    ("%inputs", os.path.join(config.test_source_root, "Inputs")),
]

# What the user set for himself must not leak into the tests.
for variable in ["COVSCHED_OPTIONS", "COVSCHED_PASS_OPTIONS", "COVSCHED_CLANG", "COVSCHED_CLANGXX"]:
    config.environment.pop(variable, None)
for variable in ["HOME", "TMPDIR", "COVSCHED_LIBDIR"]:
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
config.environment["LC_ALL"] = "C"
