//! Filters compiled for small programs: what is done where, what is unsafe, what is refused.

mod build;
mod expressions;
mod regions;

use super::*;
use crate::loom::plan::{OpRecord, PlanHeader, UnsafeAt};
use crate::rawlog::Plain;
use build::program;

/// What the demangler would say of the names that the tests use.
fn demangle(name: &str) -> Option<String> {
    let known = [
        ("_ZN9MYSQL_LOG7is_openEv", "MYSQL_LOG::is_open()"),
        ("_ZN9MYSQL_LOG8new_fileEv", "MYSQL_LOG::new_file()"),
        ("_Z1gi", "g(int)"),
        ("_Z1gc", "g(char)"),
        ("_Z1ci", "c(int)"),
        ("_Z1ci.resume", "c(int) (.resume)"),
        ("_Z1ci.destroy", "c(int) (.destroy)"),
        ("_ZN1n12_GLOBAL__N_11hEi", "n::(anonymous namespace)::h(int)"),
    ];
    known.iter().find(|(linkage, _)| *linkage == name).map(|(_, shown)| (*shown).to_owned())
}

/// Integers, a pointer, a record and an array, by the variable's name.
struct TestTypes;

const INT: TypeId = TypeId(1);
const RECORD: TypeId = TypeId(2);
const POINTER: TypeId = TypeId(3);
const ARRAY: TypeId = TypeId(4);
const REFERENCE: TypeId = TypeId(5);
const LONG: TypeId = TypeId(6);

impl Types for TestTypes {
    fn local(&self, variable: &LocalVariable<'_>) -> Option<TypeId> {
        match variable.name {
            "untyped" => None,
            name if name == "this" || name.starts_with('p') => Some(POINTER),
            name if name.starts_with('s') => Some(RECORD),
            name if name.starts_with('a') => Some(ARRAY),
            name if name.starts_with('r') => Some(REFERENCE),
            _ => Some(INT),
        }
    }
    fn globals(&self, name: &str) -> Vec<Global> {
        let global = |of, address| vec![Global { unit: 0, address, of, internal: false, function: None }];
        match name {
            "numCPU" => global(INT, Some(0x4000)),
            "table" => global(ARRAY, Some(0x5000)),
            "state" => global(RECORD, Some(0x6000)),
            "own" => global(INT, None),
            _ => Vec::new(),
        }
    }
    fn form(&self, of: TypeId) -> Form {
        match of {
            INT => Form::Integer { bytes: 4, signed: true },
            LONG => Form::Integer { bytes: 8, signed: false },
            RECORD => Form::Record,
            POINTER => Form::Pointer(Some(RECORD)),
            ARRAY => Form::Array(RECORD),
            REFERENCE => Form::Reference(RECORD),
            _ => Form::Other("?".to_owned()),
        }
    }
    fn size(&self, of: TypeId) -> Option<u64> {
        Some(match of {
            INT => 4,
            RECORD => 24,
            _ => 8,
        })
    }
    fn field(&self, record: TypeId, name: &str) -> Option<Field> {
        let (offset, of) = match name {
            "first" => (0, INT),
            "count" => (4, INT),
            "next" => (8, POINTER),
            "flag" => (16, INT),
            _ => return None,
        };
        (record == RECORD).then_some(Field { offset, of, bits: name == "flag" })
    }
    fn fields(&self, _: TypeId) -> Vec<String> {
        ["first", "count", "next", "flag"].iter().map(|&name| name.to_owned()).collect()
    }
    fn name(&self, of: TypeId) -> String {
        match of {
            RECORD => "struct record".to_owned(),
            POINTER => "struct record *".to_owned(),
            _ => "int".to_owned(),
        }
    }
}

fn options() -> Options<'static> {
    Options { demangle: &demangle, ..Options::default() }
}

fn compiled(program: &Program, source: &str) -> Compiled {
    match compile("f.filter", source, program, &TestTypes, &options()) {
        Ok(compiled) => compiled,
        Err(errors) => panic!("{}", errors.iter().map(|e| e.render("f", source)).collect::<String>()),
    }
}

fn refused(program: &Program, source: &str) -> String {
    match compile("f.filter", source, program, &TestTypes, &options()) {
        Ok(_) => panic!("not refused: {source}"),
        Err(errors) => errors.iter().map(|error| error.render("f", source)).collect(),
    }
}

/// `lock before log.cc:5 in new_file`, one for each site.
fn sites(compiled: &Compiled) -> Vec<String> {
    let sites = compiled.summary.constraints.iter().flat_map(|constraint| &constraint.sites);
    sites
        .map(|site| {
            let side = if site.before { "before" } else { "after" };
            let copies = if site.slots > 1 { format!(" x{}", site.slots) } else { String::new() };
            let within = if site.place.within == site.place.function {
                String::new()
            } else {
                format!(" in {}", site.place.within)
            };
            format!("{} {side} {}:{}{within}{copies}", site.operation, site.place.function, site.place.line)
        })
        .collect()
}

/// `function:line` of unsafe locations.
fn unsafe_lines(compiled: &Compiled) -> Vec<String> {
    let all = compiled.summary.constraints.iter().flat_map(|constraint| &constraint.unsafe_at);
    all.map(|place| format!("{}:{}", place.function, place.line)).collect()
}

fn warnings(compiled: &Compiled) -> Vec<&str> {
    compiled.summary.warnings.iter().map(|warning| warning.message.as_str()).collect()
}

/// The records of a plan's part.
fn records<T: Plain + Copy>(plan: &[u8], part: plan::Part) -> Vec<T> {
    let size = std::mem::size_of::<T>();
    (0..part.count as usize)
        .map(|i| T::read(&plan[part.at as usize + i * size..]).expect("a record"))
        .collect()
}

fn header(compiled: &Compiled) -> PlanHeader {
    PlanHeader::read(&compiled.plan).expect("a header")
}

fn ops(compiled: &Compiled) -> Vec<OpRecord> {
    records(&compiled.plan, header(compiled).ops)
}

/// Wu's Fig. 5.2.
fn mysql() -> Program {
    program(
        "unit sql/log.cc
         fn _ZN9MYSQL_LOG8new_fileEv line=2
           var this
           @3 call! pthread_mutex_lock
           @5 call close_log
           @6 call! open
           @8 call pthread_mutex_unlock
           @9 return
         fn _ZN9MYSQL_LOG7is_openEv line=20
           var this
           @21 return
         fn close_log line=30
           @31 call! close
           @32 return
         unit sql/sql_insert.cc
         fn insert taken
           @3 call _ZN9MYSQL_LOG7is_openEv
           @3 if E
           @4 call! pthread_mutex_lock
           @5 call _ZN9MYSQL_LOG7is_openEv
           @6 call! write
           @8 call pthread_mutex_unlock
           E: @9 return
         fn rotate taken
           @12 call _ZN9MYSQL_LOG8new_fileEv
           @13 return
         fn main
           @20 call! pthread_create
           @21 call! pthread_join
           @22 return",
    )
}

/// Wu's Fig. 5.4.
fn pbzip2() -> Program {
    program(
        "unit pbzip2.cpp
         fn main
           var fifo
           @2 nop
           L: @2 if E
           @3 call! pthread_create
           @2 loop L
           E: @5 call queueDelete
           @6 return
         fn queueDelete
           @20 call free
           @21 return
         fn decompress taken
           var fifo
           @8 nop
           @9 nop
           W: @9 if X
           @10 call! pthread_mutex_lock
           @11 loop W
           X: @12 return",
    )
}

#[test]
fn unilateral_exclusion_of_figure_5_3() {
    let compiled = compiled(&mysql(), "{log.cc:5, log.cc:6} <> *");
    assert_eq!(
        sites(&compiled),
        ["alone before _ZN9MYSQL_LOG8new_fileEv:5", "together after _ZN9MYSQL_LOG8new_fileEv:6"]
    );
    assert_eq!(warnings(&compiled), [""; 0]);
    assert_eq!(compiled.summary.constraints[0].kind, "unilateral exclusion");
}

#[test]
fn mutual_exclusion_of_figure_5_3() {
    let compiled = compiled(&mysql(), "{log.cc:5, log.cc:6} <> MYSQL_LOG::is_open");
    assert_eq!(
        sites(&compiled),
        [
            "lock before _ZN9MYSQL_LOG8new_fileEv:5",
            "unlock after _ZN9MYSQL_LOG8new_fileEv:6",
            "lock before _ZN9MYSQL_LOG7is_openEv:21",
            "unlock after _ZN9MYSQL_LOG7is_openEv:21",
        ]
    );
    // The close in the function that line 5 calls, too.
    let lines = unsafe_lines(&compiled);
    assert!(lines.contains(&"close_log:31".to_owned()), "{lines:?}");
    assert!(lines.contains(&"_ZN9MYSQL_LOG8new_fileEv:6".to_owned()), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("insert") || line.starts_with("main")), "{lines:?}");
    assert!(!lines.contains(&"_ZN9MYSQL_LOG8new_fileEv:3".to_owned()), "{lines:?}");
    assert_eq!(warnings(&compiled), [""; 0]);
}

#[test]
fn mutual_exclusion_of_data_of_figure_5_3() {
    let source = "{log.cc:5 (this), log.cc:6 (this)} <> MYSQL_LOG::is_open(this)\ntimeout 2s";
    let compiled = compiled(&mysql(), source);
    let ops = ops(&compiled);
    assert_eq!(ops.len(), 4);
    assert_eq!(header(&compiled).timeout_ms, 2000);
    let with_key = ops.iter().filter(|op| op.key != plan::NONE).count();
    // The function's unlock means what was locked last.
    assert_eq!(with_key, 3);
    let code = header(&compiled).code;
    let bytes = &compiled.plan[code.at as usize..(code.at + code.count) as usize];
    assert_eq!(bytes, [plan::code::VARIABLE, 0, 0, 0, 0, 8, 0, plan::code::END]);
}

#[test]
fn order_of_figure_5_5() {
    let program = pbzip2();
    let compiled = compiled(&program, "pbzip2.cpp:10 {numCPU} > pbzip2.cpp:5");
    assert_eq!(sites(&compiled), ["down before main:5", "up after decompress:10"]);
    let ops = ops(&compiled);
    assert!(ops.iter().any(|op| op.kind == plan::OP_UP && op.times != plan::NONE));
    assert!(ops.iter().any(|op| op.kind == plan::OP_DOWN && op.times == plan::NONE));
    let lines = unsafe_lines(&compiled);
    for line in ["main:2", "main:3", "decompress:8", "decompress:10"] {
        assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
    }
    for line in ["main:6", "queueDelete:20", "decompress:12"] {
        assert!(!lines.contains(&line.to_owned()), "{line}: {lines:?}");
    }
}

/// Wu's Fig. 5.7, with its line numbers.
fn tables() -> Program {
    program(
        "unit db.c
         fn handle_client taken
           @4 nop
           L: @5 call! recv
           @6 if E
           @7 call open_table
           @8 call! write
           @9 call close_table
           @10 loop L
           E: @11 return
         fn open_table
           @13 nop
           @14 call! fopen
           @15 return
         fn close_table
           @17 call! fclose
           @18 nop
           @19 return
         fn main
           @30 call! pthread_create
           @31 return",
    )
}

#[test]
fn unsafe_locations_of_figure_5_8() {
    let compiled = compiled(&tables(), "{db.c:13; db.c:18} <> {db.c:13; db.c:18}");
    assert_eq!(sites(&compiled), ["lock before open_table:13", "unlock after close_table:18"]);
    let lines = unsafe_lines(&compiled);
    // Inside: the rest of open_table, the work, close_table up to the release. The blocking recv is not.
    for line in ["open_table:14", "handle_client:8", "close_table:17", "close_table:18"] {
        assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
    }
    for line in ["handle_client:5", "handle_client:6", "handle_client:10", "main:30", "main:31"] {
        assert!(!lines.contains(&line.to_owned()), "{line}: {lines:?}");
    }
    assert_eq!(warnings(&compiled), [""; 0]);
}

#[test]
fn orders_stop_at_conceptual_threads() {
    let pool = program(
        "unit pool.c
         fn worker taken
           L: @5 call! read
           @6 call request
           @7 loop L
         fn request
           @10 call! write
           @11 nop
           @12 return
         fn other taken
           @20 nop
           @21 return
         fn main
           @29 call! pthread_create start=idle
           @30 call! pthread_create start=worker
           @31 call! pthread_create start=idle
           @32 return
         fn idle taken
           @40 return",
    );
    let whole = unsafe_lines(&compiled(&pool, "pool.c:11 > pool.c:20"));
    assert!(whole.contains(&"worker:5".to_owned()) && whole.contains(&"main:30".to_owned()), "{whole:?}");
    assert!(!whole.contains(&"main:31".to_owned()), "{whole:?}");
    let named = unsafe_lines(&compiled(&pool, "thread request\nthread other\npool.c:11 > pool.c:20"));
    assert_eq!(
        named.iter().filter(|line| !line.starts_with("request") && !line.starts_with("other")).count(),
        0
    );
    assert!(named.contains(&"request:10".to_owned()), "{named:?}");
}

#[test]
fn plans_name_only_units_that_they_need_and_sort_operations() {
    let mut program = mysql();
    // Of a unit of another file not even the locks matter: the file may be unloaded.
    program.units[1].file = 1;
    let compiled = compiled(&program, "{log.cc:5; log.cc:6} <> {log.cc:6; log.cc:8}");
    let head = header(&compiled);
    assert_eq!(head.units.count, 1);
    assert_eq!(head.size as usize, compiled.plan.len());
    let ops = ops(&compiled);
    assert!(ops.windows(2).all(|pair| (pair[0].unit, pair[0].slot) <= (pair[1].unit, pair[1].slot)));
    // Between lines 6 and 8 the first region is left; both were entered before.
    let unsafe_at: Vec<UnsafeAt> = records(&compiled.plan, head.unsafe_at);
    let end = |at: &UnsafeAt| (at.unit, at.first + at.count);
    assert!(unsafe_at.iter().all(|at| at.count > 0));
    assert!(unsafe_at.windows(2).all(|pair| end(&pair[0]) <= (pair[1].unit, pair[1].first)));
    // What could be one row is one.
    let follows = |pair: &[UnsafeAt]| end(&pair[0]) == (pair[1].unit, pair[1].first);
    assert!(unsafe_at.windows(2).all(|pair| !follows(pair) || pair[0].marks != pair[1].marks));
    let text = &compiled.plan[head.source.at as usize..][..head.source.count as usize];
    assert_eq!(text, b"{log.cc:5; log.cc:6} <> {log.cc:6; log.cc:8}");
}

/// `function:line`s of locations with this mark.
fn marked(program: &Program, source: &str, mark: u8) -> BTreeSet<String> {
    marked_lines(program, &compiled(program, source), mark)
}

fn marked_lines(program: &Program, compiled: &Compiled, mark: u8) -> BTreeSet<String> {
    let graph = Graph::new(program).unwrap();
    let rows: Vec<UnsafeAt> = records(&compiled.plan, header(compiled).unsafe_at);
    let units: Vec<plan::UnitRef> = records(&compiled.plan, header(compiled).units);
    let unit = |id: PointId| &program.units[graph.place(graph.function_of(id)).unit];
    let is = |id: PointId| {
        let is_at = |at: &UnsafeAt| {
            let location = graph.location(id).filter(|_| units[at.unit as usize].hash == unit(id).hash);
            location.is_some_and(|location| (at.first..at.first + at.count).contains(&location))
        };
        rows.iter().any(|at| is_at(at) && at.marks & u32::from(mark) != 0)
    };
    (0..graph.point_count() as PointId)
        .filter(|&id| is(id))
        .filter_map(|id| {
            let table = &unit(id).table;
            let line = table.chains[graph.point(id).chain as usize].first()?;
            Some(format!("{}:{}", table.strings[line.function as usize], line.line))
        })
        .collect()
}

#[test]
fn a_new_thread_of_an_order_is_where_it_was_created() {
    let consumers = program(
        "unit q.c
         fn decompress taken
           @3 call! read
           @4 nop
           @5 return
         fn main
           @10 call! pthread_create start=decompress
           @11 call! usleep
           @12 nop
           @13 call! pthread_join
           @14 return",
    );
    let order = "q.c:4 > q.c:12";
    let born = marked(&consumers, order, LOCATION_UNSAFE_BIRTH);
    assert!(born.contains("main:10") && born.contains("decompress:3"), "{born:?}");
    assert!(!born.contains("main:13"), "{born:?}");
    // A region is not entered by being created inside of another one.
    let region = "{q.c:10; q.c:12} <> q.c:4";
    assert!(marked(&consumers, region, LOCATION_UNSAFE).contains("main:11"));
    assert_eq!(marked(&consumers, region, LOCATION_UNSAFE_BIRTH), BTreeSet::new());
}

#[test]
fn locks_of_the_program_are_held_from_call_to_call() {
    let locked = program(
        "unit l.c
         fn main
           @1 call! read
           @2 call! pthread_mutex_lock
           @3 call! read
           @4 call inner
           @5 call! pthread_mutex_unlock
           @6 call! read
           @7 nop
           @8 return
         fn inner
           @20 call! read
           @21 return",
    );
    let held = marked(&locked, "l.c:7 <> l.c:7", LOCATION_HOLDS);
    let expected = ["inner:20", "main:2", "main:3"].map(str::to_owned);
    assert!(expected.iter().all(|line| held.contains(line)), "{held:?}");
    assert!(["main:1", "main:6"].iter().all(|&line| !held.contains(line)), "{held:?}");
}

#[test]
fn regions_that_run_alone_say_whether_they_take_locks() {
    let program = program(
        "unit l.c
         fn main
           @1 call! read
           @2 call inner
           @3 call! read
           @4 nop
           @5 call! pthread_mutex_unlock
           @6 return
         fn inner
           @20 call! pthread_rwlock_rdlock
           @21 return",
    );
    let flags = |source: &str| {
        let found = ops(&compiled(&program, source));
        let alone = found.iter().filter(|op| op.kind == plan::OP_ALONE || op.kind == plan::OP_LOCK);
        alone.map(|op| op.flags).collect::<Vec<_>>()
    };
    assert_eq!(flags("{l.c:1; l.c:3} <> *"), [plan::TAKES_LOCKS]);
    assert_eq!(flags("inner <> *"), [plan::TAKES_LOCKS]);
    assert_eq!(flags("{l.c:3; l.c:5} <> *"), [0]);
    assert_eq!(flags("{l.c:1; l.c:3} <> {l.c:1; l.c:3}"), [0]);
}

#[test]
fn who_may_come_with_a_lock_to_where_others_wait_for_one_is_told() {
    let program = program(
        "unit l.c
         fn main
           @40 call caller
           @41 call taker
           @42 return
         fn caller
           @1 call! pthread_mutex_lock
           @2 call work
           @3 call! pthread_mutex_unlock
           @4 return
         fn work
           @10 nop
           @11 nop
           @12 return
         fn taker
           @20 nop
           @21 call! pthread_mutex_lock
           @22 call! pthread_mutex_unlock
           @23 return",
    );
    let warnings = |source: &str| {
        let warnings = compiled(&program, source).summary.warnings;
        warnings.iter().map(|warning| (warning.line, warning.message[..29].to_owned())).collect::<Vec<_>>()
    };
    let told = |line| vec![(line, "a thread may come here with a".to_owned())];
    assert_eq!(warnings("work <> *\ntaker <> *"), told(1));
    assert_eq!(warnings("taker <> *\n{l.c:10; l.c:11} <> *"), told(2));
    assert_eq!(warnings("work <> *"), []);
    assert_eq!(warnings("taker <> *"), []);
    assert_eq!(warnings("work <> work\ntaker <> *"), []);
}

#[test]
fn regions_that_run_alone_say_where_they_wait_for_locks() {
    let mut program = program(
        "unit l.c
         fn main
           @1 call! pthread_mutex_lock
           @2 call! read
           @3 call inner
           @4 call! pthread_cond_timedwait
           @5 call! pthread_mutex_unlock
           @6 return
         unit library.c
         fn inner
           @20 call! pthread_rwlock_rdlock
           @21 call! read
           @22 call! pthread_rwlock_unlock
           @23 return
         unit other.c
         fn elsewhere
           @30 call! pthread_mutex_lock
           @31 call! read
           @32 return",
    );
    program.units[1].file = 1;
    program.units[2].file = 2;
    let takes = |source: &str| marked(&program, source, LOCATION_TAKES);
    assert_eq!(takes("{l.c:1; l.c:6} <> *"), ["inner:20", "main:1", "main:4"].map(str::to_owned).into());
    assert_eq!(takes("{l.c:4; l.c:6} <> *"), ["main:4".to_owned()].into());
    assert_eq!(takes("{l.c:1; l.c:6} <> {l.c:1; l.c:6}"), BTreeSet::new());
    // In the linked files that the plan is about.
    let held = marked(&program, "{l.c:1; l.c:6} <> *", LOCATION_HOLDS);
    assert!(["inner:21", "main:2"].iter().all(|&line| held.contains(line)), "{held:?}");
    assert!(!held.contains("elsewhere:31"), "{held:?}");
}

#[test]
fn releases_come_first_at_a_slot() {
    let compiled = compiled(&mysql(), "log.cc:5 <> log.cc:6");
    let ops = ops(&compiled);
    let kinds: Vec<u8> = ops.iter().map(|op| op.kind).collect();
    // Into 5; from 5 to 6, both at one slot; out of 6.
    assert_eq!(kinds, [plan::OP_LOCK, plan::OP_UNLOCK, plan::OP_LOCK, plan::OP_UNLOCK]);
    assert_eq!(ops[1].slot, ops[2].slot);
}

#[test]
fn large_programs_compile_quickly() {
    let mut text = "unit big.c\nfn main\n".to_owned();
    for index in 0..1000 {
        text.push_str(&format!("@{} call f{index}\n", index + 1));
    }
    text.push_str("@2000 return\n");
    for index in 0..1000 {
        text.push_str(&format!("fn f{index}\n"));
        for line in 0..50 {
            text.push_str(&format!("@{} call! write\n", 10_000 + index * 100 + line));
        }
        text.push_str("return\n");
    }
    let program = program(&text);
    let start = std::time::Instant::now();
    let compiled = compiled(&program, "{big.c:1; big.c:500} <> f7");
    let time = start.elapsed();
    assert!(compiled.summary.constraints[0].unsafe_locations > 40_000);
    // Some 50 ms in a release build; the machine may be busy.
    let limit = if cfg!(debug_assertions) { 60_000 } else { 2000 };
    assert!(time.as_millis() < limit, "{time:?}");
    println!("{} locations: {time:?}", compiled.summary.locations);
}

/// A wrapper that a region calls, and a background thread that waits in it.
const BACKGROUND: &str = "unit db.c
         fn wait
           @5 call! pthread_cond_wait
           @6 return
         fn get taken
           @10 nop
           @11 call wait
           @12 call! read
           @13 return
         fn background taken
           L: @20 call wait
           @21 loop L
         fn main
           @30 call! pthread_create start=background
           @31 call get
           @32 return";

#[test]
fn what_only_callers_make_unsafe_is_told_apart() {
    let program = program(BACKGROUND);
    let code = |functions: &BTreeSet<(usize, String)>| {
        assert_eq!(functions.iter().map(|(file, name)| (*file, &**name)).collect::<Vec<_>>(), [(0, "get")]);
        Some(vec![CodeRange { file: 0, first: 0x100, end: 0x180 }])
    };
    let options = Options { code: &code, ..options() };
    let compiled = compile("f.filter", "get <> get", &program, &TestTypes, &options).unwrap();
    let frames: Vec<plan::Frame> = records(&compiled.plan, header(&compiled).frames);
    assert_eq!(frames, [plan::Frame { unit: 0, reserved: 0, first: 0x100, last: 0x180 }]);
    let by_caller = marked_lines(&program, &compiled, LOCATION_BY_CALLER);
    assert!(by_caller.contains("wait:5"), "{by_caller:?}");
    assert!(by_caller.iter().all(|line| line.starts_with("wait")), "{by_caller:?}");
    let all = marked_lines(&program, &compiled, LOCATION_UNSAFE);
    assert!(by_caller.iter().all(|line| all.contains(line)) && all.contains("get:12"), "{all:?}");
    let summary = &compiled.summary.constraints[0];
    assert!(summary.unsafe_by_caller > 0 && summary.unsafe_by_caller < summary.unsafe_locations);
}

#[test]
fn without_code_nothing_depends_on_callers() {
    let program = program(BACKGROUND);
    let many = |_: &BTreeSet<(usize, String)>| {
        let range = |at: u64| CodeRange { file: 0, first: 2 * at, end: 2 * at + 1 };
        Some((0..=plan::MOST_FRAMES as u64).map(range).collect())
    };
    let elsewhere = |_: &BTreeSet<(usize, String)>| Some(vec![CodeRange { file: 7, first: 0, end: 1 }]);
    type Code<'c> = &'c dyn Fn(&BTreeSet<(usize, String)>) -> Option<Vec<CodeRange>>;
    for code in [&|_: &BTreeSet<(usize, String)>| None, &many as Code<'_>, &elsewhere] {
        let options = Options { code, ..options() };
        let compiled = compile("f.filter", "get <> get", &program, &TestTypes, &options).unwrap();
        assert_eq!(header(&compiled).frames.count, 0);
        assert!(marked_lines(&program, &compiled, LOCATION_BY_CALLER).is_empty());
        assert_eq!(compiled.summary.constraints[0].unsafe_by_caller, 0);
    }
}
