// Exceptions: landing pads, rethrowing, cleanup, loops that a catch closes, threads; as loom-shapes.c.
// RUN: mkdir -p %t && %clang -O1 -c %S/Inputs/loom-stub.c -o %t/stub.o && %clangxx -std=c++20 %s -o %t/plain -pthread && %t/plain > %t/want
// RUN: %clangxx -std=c++20 -g -O0 -c -emit-llvm %s -o %t/O0.bc && %clangxx -std=c++20 -g -O2 -c -emit-llvm %s -o %t/O2.bc
// RUN: bash -c 'set -e; for level in O0 O2; do %opt -load-pass-plugin=%plugin -passes=loom,verify %t/$level.bc -o %t/loom.bc; %clangxx -w -O1 %t/loom.bc %t/stub.o -o %t/loom -pthread; for way in fast slow flip; do LOOM_STUB=$way %t/loom > %t/got; cmp %t/want %t/got; done; done'
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
struct Error : std::exception { int k; explicit Error(int k) : k(k) {} };
struct Guard { std::string &s; ~Guard() { s += '~'; } };
static int nested(std::string &log, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) {
    Guard g{log};
    try {
      try { if (i % 3 == 0) throw Error(i); if (i % 3 == 1) throw std::out_of_range("r"); total += i; }
      catch (const std::out_of_range &) { log += 'o'; if (i % 2) throw; total -= 1; }
    } catch (const Error &e) { log += 'e'; total += e.k * 10; continue; }
    catch (...) { log += '.'; if (i > 7) break; }
    total += 1;
  }
  return total;
}
static int retry(int n) {
again:
  try { if (n > 0) throw n; return n; } catch (int k) { n = k - 1; goto again; }
}
struct Base { virtual ~Base() {} virtual int f(int) = 0; };
struct A : Base { int f(int x) override { if (x > 5) throw Error(x); return x; } };
struct B : Base { std::unique_ptr<Base> in; int f(int x) override { try { return in->f(x + 1) + 1; } catch (Error &e) { if (e.k < 8) throw; return -e.k; } } };
int main() {
  std::string log; int r = nested(log, 12);
  std::printf("%d %s %d\n", r, log.c_str(), retry(5));
  auto b = std::make_unique<B>(); b->in = std::make_unique<A>();
  int s = 0; for (int i = 0; i < 12; ++i) { try { s += b->f(i); } catch (Error &e) { s += 1000 * e.k; } }
  std::map<std::string, std::function<int(int)>> m; m["a"] = [&](int x) { return x + s; }; m["b"] = [](int x) -> int { throw Error(x); };
  for (auto &[k, f] : m) { try { std::printf("%s %d\n", k.c_str(), f(3)); } catch (const Error &e) { std::printf("%s !%d\n", k.c_str(), e.k); } }
  std::vector<std::thread> ts; std::mutex mu; long total = 0; std::once_flag once;
  for (int t = 0; t < 4; ++t) ts.emplace_back([&, t] { std::call_once(once, [&] { std::lock_guard g(mu); total += 1000000; }); for (int i = 0; i < 2000; ++i) { std::lock_guard g(mu); try { if (i % 100 == t) throw Error(i); total += i; } catch (Error &e) { total -= e.k; } } });
  for (auto &t : ts) t.join();
  std::ostringstream o; o << total << ' ' << s; std::puts(o.str().c_str());
}
