//! Programs that are cloned for their own runs.

use super::Program;

const MAIN: &str = "
int f(int a, int b);
int (*choice)(int, int) = f;
int main(int argc, char **argv) {
  int a = atoi(argv[1]), b = atoi(argv[2]);
  printf(\"result %d\\n\", choice(a, b));
  return 0;
}
";

fn check_c(f: &str, inputs: &[&[&str]]) {
    for level in ["-O0", "-O1"] {
        Program::new(&format!("{MAIN}\n{f}"), false, level).check(inputs);
    }
}

fn check_cxx(f: &str, inputs: &[&[&str]]) {
    for level in ["-O0", "-O1"] {
        Program::new(&format!("extern \"C\" {{ {MAIN} }}\n{f}"), true, level).check(inputs);
    }
}

#[test]
fn a_loop_is_straightened_with_values_that_live_across() {
    check_c(
        "int f(int a, int b) {
           int sum = b, last = 0;
           for (int i = 0; i < a; ++i) {
             last = covsched_sync(1) + i;
             sum = sum * 7 + last;
             for (int j = 0; j < b; ++j) sum ^= j * last;
             if (sum % 2) covsched_sync(2); else printf(\"even %d\\n\", last);
           }
           covsched_sync(3);
           return sum + last;
         }",
        &[&["3", "5"], &["0", "1"], &["1", "9"], &["3", "4"], &["3", "0"]],
    );
}

#[test]
fn phis_that_swap_and_chain() {
    check_c(
        "int f(int a, int b) {
           int x = a, y = b, z = 1;
           for (int i = 0; i < a + 2; ++i) {
             int old = x; x = y; y = z; z = old;
             if (x > y) { int t = x; x = y; y = t; }
             int w = x > 3 ? (y > 2 ? x - y : x * y) : (z ? z : y);
             if (i & 1) { if (w & 1) covsched_sync(4); else { z += 2; covsched_sync(5); } }
             z += w;
             if (i == b) break;
           }
           covsched_sync(6);
           return x * 100 + y * 10 + z;
         }",
        &[&["2", "7"], &["5", "1"], &["4", "4"]],
    );
}

#[test]
fn a_switch_with_one_live_case() {
    check_c(
        "int f(int a, int b) {
           int r = 0;
           for (int i = 0; i < 2; ++i)
             switch (a + i) {
             case 0: covsched_sync(1); r += b; break;
             case 1: covsched_sync(2); r -= b; // fall through
             case 5: r *= 3; break;
             case 6: case 7: covsched_sync(7); r = 1; break;
             case 9: return r;
             default: covsched_sync(3); r += 11; break;
             }
           covsched_sync(4);
           return r;
         }",
        &[&["0", "5"], &["1", "2"], &["5", "1"], &["6", "1"], &["8", "3"], &["20", "3"]],
    );
}

#[test]
fn early_returns_gotos_and_ends() {
    check_c(
        "int f(int a, int b) {
           int n = 0;
         again:
           if (n++ < a) { covsched_sync(1); if (n == b) return 17; goto again; }
           for (;;) {
             covsched_sync(2);
             if (++n > 5) exit(n);
             if (b == 3) break;
           }
           return n;
         }",
        &[&["2", "1"], &["3", "3"], &["2", "9"], &["0", "3"]],
    );
}

#[test]
fn memory_of_the_frame_and_memory_made_in_loops() {
    check_c(
        "struct S { int a[4]; int b; };
         __attribute__((noinline)) void fill(int *p, int n) { for (int i = 0; i < n; ++i) p[i] = i * n; }
         __attribute__((noinline)) struct S make(struct S s, int k) { s.a[k & 3] += k; s.b = k; return s; }
         int f(int a, int b) {
           int fixed[8] = {1, 2, 3};
           struct S s = {{1, 2, 3, 4}, 5};
           int *previous = 0;
           int sum = 0;
           for (int i = 0; i < a; ++i) {
             int n = i + b + 1;
             int own[n];
             fill(own, n);
             covsched_sync(1);
             sum += own[n - 1];
             int copy[6];
             fill(copy, 6);
             covsched_sync(2);
             s = make(s, sum);
             sum += own[0] + copy[i % 6] + s.a[i & 3] + fixed[i & 7];
             fixed[i & 7] = sum;
           }
           for (int i = 0; i < a; ++i) {
             int *p = __builtin_alloca((i + 3) * sizeof(int));
             fill(p, i + 3);
             covsched_sync(3);
             if (previous) sum += previous[2] + 1;
             previous = p;
           }
           return sum + s.b + fixed[2];
         }",
        &[&["3", "2"], &["1", "4"], &["3", "3"]],
    );
}

#[test]
fn big_structures_are_passed_and_given_back() {
    let f = "
         struct S { long a[9]; int n; };
         struct S f(struct S s, int a, ...) {
           __builtin_va_list list;
           __builtin_va_start(list, a);
           struct S r = s;
           for (int i = 0; i < a; ++i) { covsched_sync(1); r.a[i] += __builtin_va_arg(list, int) + s.n; s.n = i; }
           __builtin_va_end(list);
           covsched_sync(2);
           return r;
         }
         struct S (*choice)(struct S, int, ...) = f;
         int main(int argc, char **argv) {
           struct S s = {{1, 2, 3}, 4};
           struct S r = choice(s, atoi(argv[1]), 10, 20, 30);
           printf(\"%ld %ld %ld %d %d\\n\", r.a[0], r.a[1], r.a[2], r.n, s.n);
         }";
    for level in ["-O0", "-O1"] {
        Program::new(f, false, level).check(&[&["2"], &["3"], &["0"]]);
    }
}

#[test]
fn exceptions_land_in_the_layer_they_were_thrown_in() {
    check_cxx(
        "struct Guard { int *n; ~Guard() { ++*n; printf(\"guard %d\\n\", *n); } };
         __attribute__((noinline)) int risky(int x) { if (x % 3 == 1) throw x; if (x % 3 == 2) throw 2.5; return x * 2; }
         int f(int a, int b) {
           int n = 0, kept = b, before = a * b;
           try {
             for (int i = 0; i < a; ++i) {
               Guard guard{&n};
               try {
                 covsched_sync(1);
                 int got = risky(b + i);
                 kept += got;
                 covsched_sync(2);
                 kept ^= risky(kept);
               } catch (int e) {
                 covsched_sync(3);
                 kept += e + n;
                 if (e > 6) throw;
               }
               kept += i;
             }
             covsched_sync(4);
           } catch (double d) { kept = (int)(d * 2) + n; covsched_sync(5); }
           catch (...) { covsched_sync(9); }
           for (int i = 0; i < a; ++i) {
             int here = before + i;
             try {
               covsched_sync(6);
               kept += risky(here) + here;
             } catch (int e) { covsched_sync(7); kept -= e + here; }
             catch (...) { covsched_sync(8); kept *= 2 + here; }
           }
           return kept * 10 + before + n;
         }",
        &[&["1", "3"], &["2", "3"], &["2", "4"], &["3", "5"], &["3", "0"], &["2", "7"]],
    );
}

#[test]
fn what_was_inlined_keeps_its_place_in_the_source() {
    check_cxx(
        "struct Lock { int k; __attribute__((always_inline)) Lock(int k) : k(k) { covsched_sync(1); }
                       __attribute__((always_inline)) ~Lock() { covsched_sync(2); } };
         template <class T> static inline __attribute__((always_inline)) T twice(T v) { Lock lock(3); T r = v + v; return r; }
         static inline int __attribute__((always_inline)) step(int v) { int w = twice(v); { int w2 = w + 1; v = w2; } return v; }
         int f(int a, int b) {
           int v = b;
           for (int i = 0; i < a; ++i) { int before = v; v = step(v); { int change = v - before; printf(\"%d\\n\", change); } }
           return v;
         }",
        &[&["2", "3"], &["0", "3"], &["2", "8"]],
    );
}
