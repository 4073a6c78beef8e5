//! The archive links wherever programs do, gives nothing but hooks, and knows whose options it reads.

use crate::support::{build_with, kit, legal, record, succeed};
use covsched_core::rawlog::{ENTRY_COMMAND, ENTRY_OBJECT, ENTRY_SITES, STATE_COMPLETE};
use covsched_core::site::{program_id, site_id, Site, SiteKind, TableBuilder};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn links_with_each_compiler_linker_and_kind_of_executable() {
    let variants: &[(&str, &[&str])] = &[
        ("clang-16", &[]),
        ("clang-16", &["-fuse-ld=lld-16"]),
        ("clang-16", &["-no-pie", "-fno-pie"]),
        ("clang-16", &["-no-pie", "-fno-pie", "-fuse-ld=lld-16"]),
        ("clang-16", &["-static"]),
        ("clang-16", &["-static", "-fuse-ld=lld-16"]),
        ("clang-16", &["-flto", "-O2", "-fuse-ld=lld-16", "-Wl,--gc-sections"]),
        ("gcc", &[]),
        ("gcc", &["-no-pie", "-fno-pie"]),
        ("gcc", &["-static"]),
        ("gcc", &["-static-pie", "-fPIE"]),
        (
            "gcc",
            &[
                "-ffunction-sections",
                "-Wl,--gc-sections",
                "-Wl,-z,now",
                "-B/usr/lib/llvm-16/bin",
                "-fuse-ld=lld",
            ],
        ),
    ];
    for (index, (compiler, arguments)) in variants.iter().enumerate() {
        for (source, operations) in [("cancel.c", 300), ("mutexes.c", 8000)] {
            let program = build_with(compiler, source, &format!("variant{index}"), arguments);
            succeed(&mut Command::new(&program));
            let recording = record(&program, &[], "").good();
            assert!(recording.events.len() > operations, "{compiler} {arguments:?} {source}");
        }
    }
}

#[test]
fn stands_next_to_another_rust_library() {
    let kit = kit();
    let other = kit.work.join("libother.a");
    let source = kit.work.join("other.rs");
    std::fs::write(&source, "#[no_mangle] pub extern \"C\" fn other() -> usize { vec![1; 3].len() }")
        .unwrap();
    succeed(
        Command::new("rustc")
            .args(["--crate-type", "staticlib", "-C", "opt-level=1", "-o"])
            .arg(&other)
            .arg(&source),
    );
    let other = other.to_str().unwrap();
    let program = build_with("clang-16", "onces.c", "with_other", &["-Wl,-u,other", other, "-ldl", "-lm"]);
    record(&program, &[], "").good();
}

#[test]
fn defines_only_hooks_and_needs_only_libc() {
    let archive = kit().library.join("libcovsched_rt.a");
    let symbols = |flag: &str| {
        let output = succeed(Command::new("nm").args(["-g", flag]).arg(&archive));
        let text = String::from_utf8(output.stdout).unwrap();
        let names =
            text.lines().filter(|line| line.contains(' ')).filter_map(|line| line.split(' ').next_back());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let defined = symbols("--defined-only");
    assert!(defined.iter().all(|name| name.starts_with("covsched_")), "{defined:?}");
    for hook in covsched_core::hooks::HOOKS.iter().chain(covsched_core::hooks::CXX_HOOKS) {
        assert!(defined.iter().any(|name| name == hook.symbol), "{}", hook.symbol);
    }
    for marker in covsched_core::hooks::MARKERS {
        assert!(defined.iter().any(|name| name == marker.symbol), "{}", marker.symbol);
    }
    let needed = symbols("--undefined-only");
    let is_bad = |name: &&String| {
        ["malloc", "calloc", "free", "open", "write", "mmap"].contains(&name.as_str())
            || name.contains("rust")
            || name.starts_with("_ZN")
            || name.starts_with("_Unwind")
    };
    assert_eq!(needed.iter().filter(is_bad).count(), 0, "{needed:?}");
}

/// Writes a table with one site as a C header; its bytes.
fn write_table(header: &str, function: &str) -> Vec<u8> {
    let mut builder = TableBuilder::default();
    builder.push(&Site {
        id: site_id(function, "", SiteKind::True, "pthread_mutex_lock", 0),
        kind: SiteKind::True,
        file: "registered.c".to_owned(),
        line: 30,
        column: 1,
        function: function.to_owned(),
        callee: "pthread_mutex_lock".to_owned(),
    });
    let (bytes, _) = builder.finish("registered.c", 0);
    let mut text = String::from(
        "__attribute__((section(\"covsched_sites\"), used, retain, aligned(8))) static const unsigned char table[] = {",
    );
    bytes.iter().for_each(|byte| write!(text, "{byte},").unwrap());
    text.push_str("};\n");
    std::fs::write(kit().work.join(header), text).unwrap();
    bytes
}

/// `registered.c` as an executable and a shared object, and their tables.
fn build_registered() -> (PathBuf, PathBuf, [Vec<u8>; 2]) {
    let kit = kit();
    let tables =
        [write_table("executable_table.h", "main"), write_table("library_table.h", "lock_in_library")];
    let library = kit.work.join("libregistered.so");
    let mut command = Command::new("clang-16");
    command.args(["-shared", "-fPIC", "-DLIBRARY", "-D_GNU_SOURCE", "-I"]).arg(&kit.work);
    succeed(command.arg(kit.sources.join("registered.c")).arg("-o").arg(&library));
    let exported = "-Wl,--export-dynamic-symbol=covsched_*";
    let program = build_with("clang-16", "registered.c", "registered", &[exported, "-Wl,--gc-sections"]);
    (program, library, tables)
}

#[test]
fn objects_register_and_options_obey_the_identity() {
    let (program, library, tables) = build_registered();
    let library = library.to_str().unwrap();
    let id = program_id(&tables[0]);

    let run = record(&program, &[library], &format!("program={id}"));
    assert_eq!(run.text(), "active 1\n", "{:?}", run.output);
    let all = run.recordings();
    assert_eq!(all.len(), 3);
    let mut objects_of_children = Vec::new();
    for recording in all.values() {
        legal::check(recording);
        assert_eq!(
            (recording.meta.state, recording.meta.lost, recording.meta.program),
            (STATE_COMPLETE, 0, id.0)
        );
        let kinds: Vec<u32> = recording.entries.iter().map(|entry| entry.0).collect();
        assert_eq!(kinds[0], ENTRY_COMMAND);
        assert!(kinds[1..].chunks(2).all(|pair| pair == [ENTRY_OBJECT, ENTRY_SITES]), "{kinds:?}");
        if recording.meta.forked_from != 0 {
            objects_of_children.push(kinds.len() / 2);
            continue;
        }
        let paths: Vec<&Path> = recording.entries[1..]
            .iter()
            .step_by(2)
            .map(|entry| Path::new(std::str::from_utf8(&entry.1[8..]).unwrap()))
            .collect();
        assert_eq!(paths, [program.as_path(), Path::new(library)]);
        assert_eq!(recording.entries[2].1, tables[0]);
        assert_eq!(recording.entries[4].1, tables[1]);
        assert_eq!(recording.events.len(), 2);
    }
    objects_of_children.sort();
    assert_eq!(objects_of_children, [1, 2]);

    // Options for another program.
    let run = record(&program, &[library], "program=00000000000000ff");
    assert_eq!(run.text(), "active 0\n");
    assert!(run.recordings().is_empty());
    // No options at all.
    assert_eq!(succeed(Command::new(&program).arg(library)).stdout, b"active 0\n");
}

#[test]
fn bad_options_are_named_and_the_program_runs() {
    let program = build_with("clang-16", "onces.c", "options", &[]);
    for (options, expected) in [
        ("mode=recrd", "covsched: COVSCHED_OPTIONS: mode=recrd is ignored: expected off|record|enforce\n"),
        ("mode=record", "covsched: COVSCHED_OPTIONS: mode=record needs log=DIR; not recording\n"),
        (
            "mode=record:log=/nonexistent/folder",
            "covsched: COVSCHED_OPTIONS: folder '/nonexistent/folder' does not exist; not recording\n",
        ),
    ] {
        let output = succeed(Command::new(&program).env("COVSCHED_OPTIONS", options));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    }
    let help = succeed(Command::new(&program).env("COVSCHED_OPTIONS", "help=1"));
    assert_eq!(help.stderr.split(|&byte| byte == b'\n').count(), 2 + covsched_core::options::OPTIONS.len());
}
