//! What is read, what is refused, and that nothing makes the reader fail.

use super::*;
use proptest::prelude::*;

fn printed(source: &str) -> String {
    match parse(source) {
        Ok(filter) => filter.to_string(),
        Err(errors) => panic!("{}", errors.iter().map(|e| e.render("f", source)).collect::<String>()),
    }
}

fn refused(source: &str) -> String {
    parse(source).unwrap_err().iter().map(|error| error.render("f", source)).collect()
}

#[test]
fn the_filters_of_figures_5_3_and_5_5() {
    let source = "\
// Execution filter 1: unilateral exclusion
{log.cc:5, log.cc:6} <> *

// Execution filter 2: mutual exclusion of code
{log.cc:5, log.cc:6} <> MYSQL_LOG::is_open

// Execution filter 3: mutual exclusion of code and data
{log.cc:5 (this), log.cc:6 (this)} <> MYSQL_LOG::is_open(this)
pbzip2.cpp:10 {numCPU} > pbzip2.cpp:5
";
    assert_eq!(
        printed(source),
        "\
{log.cc:5; log.cc:6} <> *
{log.cc:5; log.cc:6} <> MYSQL_LOG::is_open
{log.cc:5(this); log.cc:6(this)} <> MYSQL_LOG::is_open(this)
pbzip2.cpp:10{numCPU} > pbzip2.cpp:5
"
    );
}

#[test]
fn regions_of_all_forms() {
    for (source, expected) in [
        ("{a.c:1, b.c:2; c.c:3, d.c:4} <> {a.c:7}", "{a.c:1, b.c:2; c.c:3, d.c:4} <> a.c:7"),
        ("a.c:1<>a.c:1", "a.c:1 <> a.c:1"),
        ("f <> f", "f <> f"),
        ("src/my-lib/x++.c++:12 <> *", "src/my-lib/x++.c++:12 <> *"),
        (
            "\"my file.c\":3 <> \"ns::f<int>(int, char)\"(a)",
            "\"my file.c\":3 <> \"ns::f<int>(int, char)\"(a)",
        ),
        ("{a.c:1;\n  a.c:2 # why\n} /* of\nno matter */ <> // next\n  g()", "{a.c:1; a.c:2} <> g"),
        ("thread handle_client; timeout 5s", "thread handle_client\ntimeout 5000ms"),
        ("thread <> timeout", "\"thread\" <> \"timeout\""),
        ("f <> *; g <> *", "f <> *\ng <> *"),
        ("ns::~x <> *", "ns::~x <> *"),
        ("/tmp/a.c:1/* x */<> *", "/tmp/a.c:1 <> *"),
    ] {
        assert_eq!(printed(source), format!("{expected}\n"), "{source}");
    }
}

#[test]
fn expressions_of_all_forms() {
    for (source, expected) in [
        ("a", "a"),
        ("&a", "&a"),
        ("& a [ i + 1 ] ", "&a[i + 1]"),
        ("&p->f", "&p->f"),
        ("&(p->f)", "&p->f"),
        ("&s.f.g[2].h", "&s.f.g[2].h"),
        ("&p->q[i].r", "&p->q[i].r"),
        ("a + (b - c) - 1", "a + (b - c) - 1"),
        ("-a + -1", "-a + -1"),
        ("0x10 + 010 + 'a' + '\\n' + 7ul", "16 + 8 + 97 + 10 + 7"),
        ("0xffffffffffffffff", "-1"),
        ("(&a)->f", "(&a)->f"),
        ("ns::counter + ::total", "ns::counter + total"),
        ("this, 1", "this, 1"),
    ] {
        assert_eq!(printed(&format!("f({source}) <> *")), format!("f({expected}) <> *\n"), "{source}");
    }
}

#[test]
fn errors_stand_under_their_place() {
    for (source, expected) in [
        (
            "log.c <> *",
            "f:1:1: error: `log.c` has no line\n 1 | log.c <> *\n   | ^~~~~\n  help: an event is `log.c:LINE`\n",
        ),
        (
            "f(*p) <> f",
            "f:1:3: error: a dereference: a filter never reads memory through a pointer, which may be freed by \
             then\n 1 | f(*p) <> f\n   |   ^\n  help: use the pointer itself, or an address such as `&p->f`\n",
        ),
        (
            "a.c:1(len(x)) > b.c:2",
            "f:1:7: error: a call: a filter calls no functions of the program\n 1 | a.c:1(len(x)) > b.c:2\n   |       ^~~\n  help: \
             use a variable that has the value\n",
        ),
        (
            "{a.c:1, a.c:2, a.c:3} <> *",
            "f:1:1: error: which of these events are exits?\n 1 | {a.c:1, a.c:2, a.c:3} <> *\n   | ^~~~~~~~~~~~~~~~~~~~~\n  help: \
             put a `;` before the exits: `{entry, entry; exit}`\n",
        ),
    ] {
        assert_eq!(refused(source), expected, "{source}");
    }
}

#[test]
fn what_is_refused_says_why() {
    for (source, part) in [
        ("f", "expected `>` or `<>`, found the end of the filter"),
        (
            "f <>",
            "expected an event `file:line`, a region `{...}` or a function, found the end of the filter",
        ),
        ("a.c:1 > f", "`f` is a function; an order is one of events"),
        ("a.c:1 > {a.c:1; a.c:2}", "a region; an order is one of events"),
        ("a.c:1 > b.c:2 <> f", "`>` and `<>` in one constraint"),
        ("f <> * <> g", "`*` stands behind one region only"),
        ("* <> f", "`*` stands behind one region only"),
        ("a.c: 5 <> *", "expected a line number after `a.c:`, found ` `"),
        ("a.c:x <> *", "expected a line number after `a.c:`, found `x`"),
        ("a.c:0 <> *", "expected a line number"),
        ("a.c:99999999999 <> *", "expected a line number"),
        ("{a.c:1{2}; a.c:3} <> *", "`{n}` counts events of an order"),
        ("a.c:1{2} <> f", "`{n}` counts events of an order"),
        ("f{2} <> f", "`{n}` counts events; `f` is a function"),
        ("{f; a.c:3} <> *", "expected an event `file:line`, found the name `f`"),
        ("{a.c:1; a.c:2; a.c:3} <> *", "a second `;`"),
        ("{; a.c:2} <> *", "expected an event `file:line`, found `;`"),
        ("{a.c:2;} <> *", "expected an event `file:line`, found `}`"),
        ("{a.c:2 <> *", "expected `,`, `;` or `}` in a region, found `<`"),
        ("f(a * b) <> f", "no operator `*`"),
        ("f(a << 1) <> f", "no operator `<<`"),
        ("f(a++) <> f", "would change the program's data"),
        ("f(a = 1) <> f", "would change the program's data"),
        ("f(a ? 1 : 2) <> f", "no operator `?`"),
        ("f((int)x) <> f", "no casts"),
        ("f(&&x) <> f", "an address has no address"),
        ("f(&(a + b)) <> f", "only variables, fields and elements have an address"),
        ("f(&3) <> f", "only variables, fields and elements have an address"),
        ("f(sizeof x) <> f", "no `sizeof`"),
        ("f(!x) <> f", "no such operator"),
        ("f(p->) <> f", "expected a name, found `)`"),
        ("f(a[1) <> f", "expected `]`, found `)`"),
        ("f(a b) <> f", "expected `,` or `)`, found `b`"),
        ("f(0x) <> f", "no integer"),
        ("f(99999999999999999999) <> f", "no integer"),
        ("f('ab') <> f", "expected a character"),
        ("\"f <> *", "the closing quote is missing"),
        ("f <> * /* x", "a comment without its end"),
        ("f <> * g <> *", "expected the end of the line or `;`, found `g`"),
        ("timeout 5", "expected a time such as `5s`"),
        ("timeout 0s", "from 1ms to 24 hours"),
        ("timeout", "expected a time"),
        ("thread", "expected the name of a function"),
        ("thread a.c:5", "found the line `a.c:5`"),
    ] {
        let text = refused(source);
        assert!(text.contains(part), "{source}: {text}");
    }
}

#[test]
fn several_errors_are_found_at_once() {
    assert_eq!(parse("f <\ng <> *\nh(*p) <> h\n").unwrap_err().len(), 2);
}

#[test]
fn deep_nesting_is_refused() {
    for text in
        ["(".repeat(100_000 / 2), "&".repeat(3) + &"-".repeat(50_000), format!("a{}", "[a".repeat(20_000))]
    {
        assert!(parse(&format!("f({text}")).is_err());
    }
    let long = format!("f(a{}) <> f", ".b".repeat(1000));
    assert!(refused(&long).contains("more than 64 levels"));
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_][a-z0-9_]{0,6}", "[A-Z][a-z]{0,3}::[a-z]{1,4}"]
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![name(), any::<i64>().prop_map(|value| value.to_string())];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} + ({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) - {b}")),
            inner.clone().prop_map(|a| format!("-({a})")),
            (name(), name()).prop_map(|(a, b)| format!("&{a}->{}", b.replace("::", ""))),
            (name(), inner).prop_map(|(a, b)| format!("&{a}[{b}]")),
        ]
    })
}

fn event() -> impl Strategy<Value = String> {
    let file = prop_oneof![
        "[a-z]{1,5}\\.c",
        "[a-z]{1,3}/[a-z]{1,3}\\.cc",
        "\"[a-z <>{};\\\\\\\\\"]{0}[a-z <>;]{1,6}\""
    ];
    (file, 1..9999u32, proptest::option::of(expression())).prop_map(|(file, line, key)| {
        format!("{file}:{line}{}", key.map_or(String::new(), |key| format!("({key})")))
    })
}

fn region() -> impl Strategy<Value = String> {
    prop_oneof![
        event(),
        (proptest::collection::vec(event(), 1..3), proptest::collection::vec(event(), 1..3))
            .prop_map(|(a, b)| format!("{{{}; {}}}", a.join(", "), b.join(", "))),
        (name(), proptest::collection::vec(expression(), 0..3))
            .prop_map(|(name, arguments)| format!("{name}({})", arguments.join(", "))),
    ]
}

fn filter() -> impl Strategy<Value = String> {
    let statement = prop_oneof![
        proptest::collection::vec(event(), 2..4).prop_map(|events| events.join(" > ")),
        proptest::collection::vec(region(), 2..4).prop_map(|regions| regions.join(" <> ")),
        region().prop_map(|region| format!("{region} <> *")),
        name().prop_map(|name| format!("thread {name}")),
        (1..10_000u32).prop_map(|time| format!("timeout {time}ms")),
    ];
    proptest::collection::vec(statement, 0..4).prop_map(|statements| statements.join("\n"))
}

proptest! {
    #[test]
    fn printing_reads_back(source in filter()) {
        let once = printed(&source);
        prop_assert_eq!(printed(&once), once.clone());
    }

    #[test]
    fn any_text_is_read_or_refused(source in any::<String>()) {
        if let Err(errors) = parse(&source) {
            prop_assert!(errors.iter().all(|error| !error.render("f", &source).is_empty()));
        }
    }

    #[test]
    fn pieces_of_filters_are_read_or_refused(
        pieces in proptest::collection::vec(prop_oneof![
            Just("{"), Just("}"), Just("("), Just(")"), Just("<>"), Just(">"), Just("*"), Just(";"), Just(","),
            Just("a.c:1"), Just("f"), Just("&"), Just("->"), Just("["), Just("]"), Just("."), Just("/*"), Just("*/"),
            Just("//"), Just("\n"), Just("\""), Just("'"), Just("1"), Just("0x"), Just("::"), Just(":"), Just("ö"),
            Just("thread"), Just("timeout"), Just("5s"), Just("\\"), Just("-"), Just("+"), Just(" "), Just("#"),
        ], 0..24)
    ) {
        let source = pieces.concat();
        match parse(&source) {
            Ok(filter) => prop_assert_eq!(printed(&filter.to_string()), filter.to_string()),
            Err(errors) => prop_assert!(errors.iter().all(|error| !error.render("f", &source).is_empty())),
        }
    }
}
