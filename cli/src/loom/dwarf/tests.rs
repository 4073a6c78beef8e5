//! Small programs, compiled here, with both versions of DWARF and with and without optimization.

use super::*;
use covsched_core::loom::table::{Precision, UnitTable};
use std::path::Path;
use std::process::Command;

const C: &str = r#"
typedef unsigned long word;
enum color { RED, GREEN = -3 };
struct node { struct node *next; char tag; unsigned flags : 3; struct { short x, y; }; union { int i; word w; } u; int grid[3][5]; };
static int hidden = 1;
_Thread_local int mine;
const volatile int shared = 4;
struct node table[7];
double ratio;
extern void sink(void *, ...);
void worker(struct node *const n, enum color c, _Bool b) {
  static long calls;
  int i = c;
  for (int i = 0; i < 3; i++) {
    word w = i;
    sink(&w, &i, n);
  }
  sink(&i, &calls, &hidden, &mine, b, &shared, table, &ratio);
}
"#;

const CXX: &str = r#"
namespace outer {
struct Base { long first; int second; };
struct Other { int third; };
class Log : public Base, public Other {
 public:
  int is_open(int &how);
  static int opened;
  int fd;
};
int Log::opened = 1;
namespace { int quiet = 2; }
int loud = 3;
extern void sink(void *);
int Log::is_open(int &how) { sink(this); sink(&quiet); int copy = how; sink(&copy); return copy; }
static inline int helper(unsigned char deep) { int inside = deep; sink(&inside); return inside; }
int caller(int c) { return helper(c) + helper(c + 1); }
}
"#;

/// A linked file (a shared object: nothing has to be defined) and a unit that says that it is of it.
struct Compiled {
    bytes: Vec<u8>,
    units: Vec<LinkedUnit>,
}

impl Compiled {
    fn debug(&self) -> Debug<'_> {
        Debug::of_bytes([("lib.so", &*self.bytes)].into_iter(), &self.units)
    }
}

fn unit(name: &str) -> LinkedUnit {
    let table = UnitTable {
        unit: name.into(),
        precision: Precision::Late,
        is_for_lto: false,
        strings: vec![],
        chains: vec![],
        functions: vec![],
        taken: vec![],
        original: None,
    };
    LinkedUnit { table, hash: 1, address: 0, file: 0, function_count: 0, location_count: 0, slot_count: 0 }
}

fn compile(sources: &[(&str, &str)], flags: &[&str]) -> Compiled {
    let folder = tempfile::tempdir().unwrap();
    for (name, source) in sources {
        std::fs::write(folder.path().join(name), source).unwrap();
    }
    let output = Path::new("lib.so");
    let made = Command::new("clang-16")
        .current_dir(folder.path())
        .args(["-shared", "-fPIC", "-w", "-o"])
        .arg(output)
        .args(flags)
        .args(sources.iter().map(|(name, _)| name))
        .status()
        .unwrap();
    assert!(made.success());
    let bytes = std::fs::read(folder.path().join(output)).unwrap();
    Compiled { bytes, units: sources.iter().map(|(name, _)| unit(name)).collect() }
}

fn every_way(source: (&str, &str), test: impl Fn(&Debug<'_>)) {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        for level in ["-O0", "-O2"] {
            test(&compile(&[source], &[version, level]).debug());
        }
    }
    test(&compile(&[source], &["-g", "-fdebug-types-section"]).debug());
    test(&compile(&[source], &["-gdwarf-4", "-fdebug-types-section"]).debug());
}

fn local<'a>(name: &'a str, function: &'a str, line: u32) -> LocalVariable<'a> {
    LocalVariable { unit: 0, name, function, file: "a.c", line }
}

const INT: Form = Form::Integer { bytes: 4, signed: true };

#[test]
fn locals_are_found_by_name_and_line() {
    every_way(("a.c", C), |debug| {
        let form = |name, line| debug.local(&local(name, "worker", line)).map(|of| debug.form(of));
        assert_eq!(form("i", 13), Some(INT));
        assert_eq!(form("i", 14), Some(INT));
        assert_eq!(form("i", 15), None);
        assert_eq!(form("w", 15), Some(Form::Integer { bytes: 8, signed: false }));
        assert_eq!(form("c", 11), Some(INT));
        assert_eq!(form("b", 11), Some(Form::Integer { bytes: 1, signed: false }));
        assert!(matches!(form("n", 11), Some(Form::Pointer(Some(_)))));
        assert_eq!(debug.local(&local("i", "nobody", 13)), None);
        let n = debug.local(&local("n", "worker", 11)).unwrap();
        assert_eq!(debug.name(n), "const struct node *");
    });
}

#[test]
fn records_have_members_with_offsets() {
    every_way(("a.c", C), |debug| {
        let pointer = debug.local(&local("n", "worker", 11)).unwrap();
        let Form::Pointer(Some(node)) = debug.form(pointer) else { panic!() };
        assert_eq!(debug.form(node), Form::Record);
        assert_eq!(debug.size(node), Some(88));
        let offset = |name| debug.field(node, name).map(|field| (field.offset, field.bits));
        assert_eq!(offset("next"), Some((0, false)));
        assert_eq!(offset("tag"), Some((8, false)));
        assert!(matches!(offset("flags"), Some((_, true))));
        // Of a nameless struct.
        assert_eq!(offset("y"), Some((12, false)));
        assert_eq!(offset("u"), Some((16, false)));
        assert_eq!(offset("none"), None);
        assert_eq!(debug.fields(node), ["next", "tag", "flags", "x", "y", "u", "grid"]);
        let union = debug.field(node, "u").unwrap().of;
        assert_eq!(debug.field(union, "w").map(|field| field.offset), Some(0));
        let grid = debug.field(node, "grid").unwrap().of;
        let Form::Array(row) = debug.form(grid) else { panic!() };
        let Form::Array(cell) = debug.form(row) else { panic!() };
        assert_eq!((debug.size(grid), debug.size(row), debug.size(cell)), (Some(60), Some(20), Some(4)));
        assert_eq!((debug.name(grid), debug.name(row)), ("int[3][5]".into(), "int[5]".into()));
        assert_eq!(debug.form(cell), INT);
    });
}

#[test]
fn globals_have_addresses() {
    every_way(("a.c", C), |debug| {
        let one = |name| {
            let mut found = debug.globals(name);
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            found.pop().unwrap()
        };
        let shared = one("shared");
        assert!(shared.address.is_some() && !shared.internal && shared.function.is_none());
        assert_eq!((debug.form(shared.of), debug.name(shared.of)), (INT, "const volatile int".into()));
        assert_eq!((shared.unit, one("table").unit), (0, 0));
        assert!(one("hidden").internal);
        assert_eq!(one("mine").address, None);
        let calls = one("calls");
        assert_eq!(calls.function.as_deref(), Some("worker"));
        assert!(calls.address.is_some() && calls.internal);
        assert_eq!(debug.form(one("ratio").of), Form::Other("double".into()));
        assert_eq!(debug.globals("i"), []);
        assert_eq!(debug.globals("none"), []);
        assert_eq!(debug.globals(""), []);
        assert_eq!(debug.size(one("table").of), Some(7 * 88));
    });
}

#[test]
fn addresses_are_those_of_the_symbols() {
    use object::{Object, ObjectSymbol};
    let compiled = compile(&[("a.c", C)], &["-g"]);
    let file = object::File::parse(&*compiled.bytes).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok("table")).unwrap();
    assert_eq!(compiled.debug().globals("table")[0].address, Some(symbol.address()));
}

#[test]
fn classes_have_bases_this_and_static_members() {
    every_way(("a.cpp", CXX), |debug| {
        let is_open = "_ZN5outer3Log7is_openERi";
        let this = debug.local(&local("this", is_open, 0)).unwrap();
        let Form::Pointer(Some(log)) = debug.form(this) else { panic!() };
        let offset = |name| debug.field(log, name).map(|field| field.offset);
        assert_eq!([offset("first"), offset("third"), offset("fd")], [Some(0), Some(16), Some(20)]);
        assert_eq!(offset("opened"), None);
        let how = debug.local(&local("how", is_open, 15)).unwrap();
        let Form::Reference(of) = debug.form(how) else { panic!() };
        assert_eq!((debug.form(of), debug.name(how)), (INT, "int &".into()));
        let found = |name| debug.globals(name).iter().filter(|global| global.address.is_some()).count();
        assert_eq!(found("outer::loud"), 1);
        assert_eq!(found("loud"), 1);
        assert_eq!(found("inner::loud"), 0);
        assert_eq!(found("quiet"), 1);
        assert_eq!(found("outer::Log::opened"), 1);
        assert_eq!(found("Log::opened"), 1);
        assert!(debug.globals("quiet")[0].internal && !debug.globals("Log::opened")[0].internal);
    });
}

#[test]
fn inlined_functions_keep_their_variables() {
    every_way(("a.cpp", CXX), |debug| {
        let helper = "_ZN5outerL6helperEh";
        let form = |name, line| debug.local(&local(name, helper, line)).map(|of| debug.form(of));
        assert_eq!(form("inside", 16), Some(INT));
        assert_eq!(form("deep", 16), Some(Form::Integer { bytes: 1, signed: false }));
        // They are not the caller's.
        assert_eq!(debug.local(&local("inside", "_ZN5outer6calleri", 16)), None);
    });
}

#[test]
fn a_type_that_is_only_declared_is_found_in_another_unit() {
    let user = "struct hidden; extern void sink(void *); void use(struct hidden *h) { sink(h); }";
    let owner =
        "struct hidden { long a; int b; }; struct hidden the_one; static int x; void f(void) { x++; }";
    let compiled = compile(&[("user.c", user), ("owner.c", owner)], &["-g"]);
    let debug = compiled.debug();
    let pointer = debug.local(&local("h", "use", 1)).unwrap();
    let Form::Pointer(Some(hidden)) = debug.form(pointer) else { panic!() };
    assert_eq!(debug.field(hidden, "b").map(|field| field.offset), Some(8));
    assert_eq!(debug.size(hidden), Some(16));
    let x = &debug.globals("x")[0];
    assert_eq!((x.unit, x.internal), (1, true));
}

#[test]
fn void_pointers_and_functions_have_no_inside() {
    let source = "void f(const void *p, void (*g)(int), float h, __int128 big) { g(0); }";
    let compiled = compile(&[("a.c", source)], &["-g"]);
    let debug = compiled.debug();
    let form = |name| debug.form(debug.local(&local(name, "f", 1)).unwrap());
    assert_eq!(form("p"), Form::Pointer(None));
    assert_eq!(form("h"), Form::Other("float".into()));
    assert_eq!(form("big"), Form::Other("__int128".into()));
    let Form::Pointer(Some(function)) = form("g") else { panic!() };
    assert_eq!((debug.form(function), debug.size(function)), (Form::Other("a function".into()), None));
}

#[test]
fn what_is_missing_has_a_reason() {
    let reason = |flags: &[&str]| {
        let compiled = compile(&[("a.c", C)], flags);
        let debug = compiled.debug();
        assert_eq!(debug.why_missing(), [""; 0]);
        assert_eq!(debug.local(&local("i", "worker", 13)), None);
        debug.why_missing().join("\n")
    };
    let lines = reason(&["-gline-tables-only", "-O2"]);
    assert!(
        lines.contains("a.c was compiled with -gline-tables-only (or -g1): no variables; compile it with -g")
    );
    assert!(reason(&[]).contains("lib.so has no debug info"));
    assert!(reason(&["-g", "-gz"]).contains("lib.so has compressed debug info"));
    let split = reason(&["-g", "-gsplit-dwarf"]);
    assert!(split.contains("without -gsplit-dwarf"), "{split}");
    let compiled = compile(&[("a.c", C)], &["-g"]);
    let debug = compiled.debug();
    assert_eq!(debug.local(&local("missing", "worker", 13)), None);
    assert_eq!(debug.why_missing(), [""; 0]);
}

#[test]
fn damaged_debug_info_says_nothing_and_does_no_harm() {
    let whole = compile(&[("a.c", C)], &["-g"]);
    for seed in 0..200usize {
        let mut bytes = whole.bytes.clone();
        for step in 0..20 {
            let at = (seed * 7919 + step * 104_729) % bytes.len();
            bytes[at] = bytes[at].wrapping_add(1 + seed as u8);
        }
        let debug = Debug::of_bytes([("lib.so", &*bytes)].into_iter(), &whole.units);
        for of in debug
            .local(&local("n", "worker", 11))
            .into_iter()
            .chain(debug.globals("table").iter().map(|g| g.of))
        {
            let _ = (debug.form(of), debug.size(of), debug.name(of), debug.fields(of), debug.field(of, "y"));
        }
    }
}
