//! Compiles the C++ bridge against Debian's LLVM 16. libLLVM itself is linked dynamically (llvm-plugin asks
//! for `-lLLVM`), since the plugin must use the copy that opt, clang or lld has loaded.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    const PREFIX: &str = "LLVM_SYS_160_PREFIX";
    println!("cargo:rerun-if-env-changed={PREFIX}");
    println!("cargo:rerun-if-changed=cpp");
    // Without pkg-config z3-sys says nothing to the linker. libLLVM loads the same libz3: no other may be linked.
    println!("cargo:rustc-link-lib=dylib=z3");
    let prefix = PathBuf::from(env::var_os(PREFIX).unwrap_or_else(|| "/usr/lib/llvm-16".into()));
    let include = prefix.join("include");
    assert!(
        include.join("llvm/IR/Module.h").exists(),
        "no LLVM 16 headers in {}: install llvm-16-dev or set {PREFIX}",
        include.display()
    );
    let mut sources: Vec<PathBuf> = fs::read_dir("cpp")
        .expect("cpp is part of the crate")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "cpp"))
        .collect();
    sources.sort();
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").flag("-fno-exceptions").include(include).files(sources);
    // LLVM's headers are not ours to warn about.
    build.flag("-Wno-unused-parameter").flag("-Wno-comment").flag("-Wno-attributes");
    build.flag_if_supported("-Wno-redundant-move");
    if env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        build.define("NDEBUG", None);
    }
    build.compile("covsched_bridge");
}
