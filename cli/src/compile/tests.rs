//! What is added to which clang command line.

use super::*;
use proptest::prelude::*;

fn libraries() -> Libraries {
    Libraries {
        plugin: "/lib/libcovsched.so".into(),
        runtime: "/lib/libcovsched_rt.a".into(),
        interposers: "/lib/covsched_interpose.o".into(),
    }
}

fn no_response(_: &Path) -> Option<Vec<String>> {
    None
}

fn analyze(line: &str) -> Analysis {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    Analysis::of(&words, &no_response)
}

fn full(line: &str) -> String {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    let all = with_additions(&words, &Analysis::of(&words, &no_response), "-gline-tables-only", &libraries());
    all.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[test]
fn calls_that_make_no_code_are_left_alone() {
    for line in [
        "",
        "--version",
        "-v",
        "-dumpmachine",
        "-print-search-dirs",
        "-E a.c",
        "-M a.c",
        "-MM a.c",
        "-fsyntax-only a.c",
        "-cc1 -emit-obj a.c",
        "-o out",
        "-x c -o out -I dir",
        "-ffreestanding -c a.c",
        "-nostdlib -static start.c",
        "-### --help",
        "--target=x86_64-linux-gnu -print-libgcc-file-name",
    ] {
        assert_eq!(analyze(line).stage, Stage::Other, "{line}");
    }
}

#[test]
fn compiling_and_linking_are_told_apart() {
    for line in ["-c a.c", "-S a.c", "-c -MD -MF a.d a.c -o a.o", "-c -x c -", "-S -emit-llvm a.c -o -"] {
        assert_eq!(analyze(line).stage, Stage::Compile, "{line}");
        assert!(!full(line).contains("_rt.a"), "{line}");
    }
    for line in [
        "a.c",
        "a.o b.o -o app",
        "-### a.c",
        "-v a.o",
        "-x c -",
        "-o app -- -strange.c",
        "-lapp",
        "-nostdlib a.o -lc",
    ] {
        assert_eq!(analyze(line).stage, Stage::Link, "{line}");
        assert!(full(line).contains("/lib/libcovsched_rt.a"), "{line}");
    }
}

#[test]
fn headers_are_precompiled_and_not_linked() {
    for line in [
        "h.h",
        "a.hpp b.hh -O2",
        "-x c-header h.h -o h.h.pch",
        "-xc++-header header -o h.pch",
        "--language=c-header header",
        "-x c++-header -- strange",
    ] {
        assert_eq!(analyze(line).stage, Stage::Compile, "{line}");
    }
    for line in ["a.c h.h", "-x c h.h", "-x c-header h.h -x none a.o", "-include-pch h.h.pch a.c"] {
        assert_eq!(analyze(line).stage, Stage::Link, "{line}");
    }
}

#[test]
fn an_executable_gets_the_runtime_and_exports_it() {
    assert_eq!(
        full("-O2 a.c -o app"),
        "--start-no-unused-arguments -fpass-plugin=/lib/libcovsched.so -gline-tables-only \
         -Wl,-u,covsched_register /lib/covsched_interpose.o -Wl,--export-dynamic-symbol=covsched_* \
         /lib/libcovsched_rt.a --end-no-unused-arguments -O2 a.c -o app"
    );
    assert!(full("-fuse-ld=gold a.c").contains("-Wl,--export-dynamic "));
    assert!(!full("-static a.c").contains("interpose") && !full("-static a.c").contains("export"));
}

#[test]
fn the_thread_sanitizer_keeps_its_own_interceptors() {
    for line in ["-fsanitize=thread a.c", "-fsanitize=undefined,thread a.o"] {
        assert!(!full(line).contains("interpose"), "{line}");
        assert!(full(line).contains("_rt.a") && full(line).contains("--export-dynamic-symbol"), "{line}");
    }
    for line in ["-fsanitize=address a.c", "-fsanitize=thread -fno-sanitize=all a.c"] {
        assert!(full(line).contains("interpose"), "{line}");
    }
}

#[test]
fn a_shared_object_may_refer_to_the_hooks() {
    for line in ["-shared a.c", "-Wl,-shared a.o", "-Xlinker -shared a.o", "-r a.o b.o", "-Wl,-r a.o"] {
        assert!(!full(line).contains("_rt.a"), "{line}");
        assert!(!full(line).contains("undefs"), "{line}");
    }
    for line in [
        "-shared -Wl,-z,defs a.o",
        "-shared -Wl,--no-undefined a.o",
        "-shared -z defs a.o",
        "-shared -zdefs a.o",
        "-shared -Xlinker -z -Xlinker defs a.o",
    ] {
        assert!(full(line).ends_with("a.o -Wl,-z,undefs"), "{line}");
    }
    assert!(full("-shared -fuse-ld=gold -z defs a.o").ends_with("a.o -Wl,--unresolved-symbols=ignore-all"));
    assert!(full("-shared -Wl,-z,defs -- a.o").ends_with("-Wl,-z,undefs -- a.o"));
    assert!(!full("-shared -Wl,-z,defs,-z,undefs a.o").ends_with("-Wl,-z,undefs"));
}

#[test]
fn lld_loads_the_plugin_for_link_time_optimization() {
    assert!(full("-flto -fuse-ld=lld a.o").contains("-Xlinker --load-pass-plugin=/lib/libcovsched.so"));
    assert!(full("-flto=thin --ld-path=/usr/bin/ld.lld-16 a.o").contains("--load-pass-plugin"));
    assert!(!full("-flto a.o").contains("--load-pass-plugin"));
    assert!(!full("-flto -fno-lto -fuse-ld=lld a.o").contains("--load-pass-plugin"));
    assert!(!full("-flto -fuse-ld=lld -c a.c").contains("--load-pass-plugin"));
}

#[test]
fn response_files_count_nested_ones_too_and_circles_end() {
    let read = |path: &Path| match path.to_str() {
        Some("one") => Some(vec!["-shared".to_owned(), "@two".to_owned()]),
        Some("two") => Some(vec!["a.o".to_owned()]),
        Some("circle") => Some(vec!["-c".to_owned(), "@circle".to_owned()]),
        _ => None,
    };
    let analysis = Analysis::of(&["@one".into()], &read);
    assert_eq!((analysis.stage, analysis.link_kind), (Stage::Link, LinkKind::Shared));
    assert_eq!(Analysis::of(&["@circle".into()], &read).stage, Stage::Compile);
    // clang takes it as a file name then.
    assert_eq!(Analysis::of(&["@missing".into()], &read).stage, Stage::Link);
}

#[test]
fn values_of_options_are_no_inputs() {
    assert_eq!(analyze("-include a.h -D X -isystem dir -mllvm -x --param y=1").stage, Stage::Other);
    assert_eq!(analyze("-o -c a.c").stage, Stage::Link);
}

proptest! {
    #[test]
    fn the_users_arguments_stay_in_order(words in proptest::collection::vec(
        prop_oneof![
            Just("-c".to_owned()), Just("-shared".to_owned()), Just("--".to_owned()), Just("-Wl,-z,defs".to_owned()),
            Just("-flto".to_owned()), Just("-fuse-ld=lld".to_owned()), Just("-static".to_owned()), "[a-z-]{1,6}",
        ], 0..10))
    {
        let user: Vec<OsString> = words.iter().map(OsString::from).collect();
        let all = with_additions(&user, &Analysis::of(&user, &no_response), "-g", &libraries());
        let start = all.iter().position(|word| word == "--end-no-unused-arguments").unwrap() + 1;
        let mut kept: Vec<OsString> = all[start..].to_vec();
        if kept.len() > user.len() {
            let added = kept.iter().position(|word| word == "-Wl,-z,undefs").unwrap();
            prop_assert!(kept[..added].iter().all(|word| word != "--"));
            kept.remove(added);
        }
        prop_assert_eq!(kept, user);
    }
}
