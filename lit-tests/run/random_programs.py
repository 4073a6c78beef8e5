"""Random threaded programs in C and C++, from a seed: for tests that compare two ways to run a program.

Each program ends on every input under every schedule, and prints what follows from the input alone: shared sums change by
addition under their locks, and nothing that a thread reads of another decides what it does, but which of them takes an
item of a queue, whether a trylock succeeds, and who runs a once routine. So schedules differ much, and output does not.

How that is kept: locks have ranks and are taken in their order; whoever waits for something else than a lock holds none;
all workers pass the same number of barriers; loops have bounds; `x` decides what a thread does, and follows from
inputs 0 to 2 and the thread's number; input 3 goes into sums only, so that it never changes the schedule.

For data flow, values go from thread to thread in ways that the output does not show: numbers taken under a lock, of which each
marks a place of its own; a value that whoever comes first puts there, and that is the same for all; what neighbours wrote
before a barrier; parts of an array by the worker's number; fields of several widths that main has set.

    random_programs.py --seed 7 --out DIR     writes DIR/random7.c or .cpp, prints its inputs
    random_programs.py --count 300            prints how many of so many programs have each feature
"""

import argparse
import collections
import dataclasses
import os
import random

# How many synchronizations a program may do, about.
BUDGET = 260
LOOP_MOST = 3

PRELUDE = r"""
typedef unsigned long u64;

static int in[4];
static u64 sums[10];

struct worker {
  u64 id;
  u64 result;
  unsigned char tag;
  short kind;
  int size;
};
typedef u64 (*step)(struct worker *, u64, int);

static u64 scramble(u64 x) {
  x ^= x >> 13;
  x *= 0x9e3779b97f4a7c15ul;
  return x ^ (x >> 29);
}

// What main has set before there are threads.
static struct {
  signed char small;
  unsigned short middle;
  int scale;
  long wide;
} settings;
static int threads;

enum { CELLS = 48, SLOTS = 64 };
static u64 cells[CELLS], board[4][4];
static int tickets, slots[SLOTS], is_settled, settled, handed;
static pthread_mutex_t ticket_lock = PTHREAD_MUTEX_INITIALIZER, settle_lock = PTHREAD_MUTEX_INITIALIZER;

struct parcel {
  char mark;
  u64 weight;
  unsigned short count;
};

static void pack(struct parcel *parcel, u64 weight, int count) {
  parcel->mark = 'p';
  parcel->weight = weight;
  parcel->count = (unsigned short)count;
}

static u64 unpack(const struct parcel *parcel) { return parcel->weight * parcel->count + (u64)parcel->mark; }

static u64 plain_work(u64 x) {
  u64 sum = x;
  for (int i = 0; i < in[3] % 50; i++)
    sum += scramble(sum + (u64)i);
  return sum;
}
"""

C_QUEUE = r"""
struct queue {
  pthread_mutex_t lock;
  pthread_cond_t filled, drained;
  int items[4], count, first, closed;
};
static struct queue queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0, 0};

static void put(int item) {
  pthread_mutex_lock(&queue.lock);
  while (queue.count == 4)
    pthread_cond_wait(&queue.drained, &queue.lock);
  queue.items[(queue.first + queue.count++) % 4] = item;
  pthread_cond_signal(&queue.filled);
  pthread_mutex_unlock(&queue.lock);
}

static int get(int *item) {
  pthread_mutex_lock(&queue.lock);
  while (queue.count == 0 && !queue.closed)
    pthread_cond_wait(&queue.filled, &queue.lock);
  if (queue.count == 0) {
    pthread_mutex_unlock(&queue.lock);
    return 0;
  }
  *item = queue.items[queue.first];
  queue.first = (queue.first + 1) % 4;
  queue.count--;
  pthread_cond_signal(&queue.drained);
  pthread_mutex_unlock(&queue.lock);
  return 1;
}

static void close_queue(void) {
  pthread_mutex_lock(&queue.lock);
  queue.closed = 1;
  pthread_cond_broadcast(&queue.filled);
  pthread_mutex_unlock(&queue.lock);
}
"""

CXX_QUEUE = r"""
struct Queue {
  std::mutex lock;
  std::condition_variable filled;
  std::deque<int> items;
  bool closed = false;
};
static Queue queue;

static void put(int item) {
  std::lock_guard<std::mutex> guard(queue.lock);
  queue.items.push_back(item);
  queue.filled.notify_one();
}

static bool get(int *item) {
  std::unique_lock<std::mutex> guard(queue.lock);
  queue.filled.wait(guard, [] { return !queue.items.empty() || queue.closed; });
  if (queue.items.empty())
    return false;
  *item = queue.items.front();
  queue.items.pop_front();
  return true;
}

static void close_queue() {
  std::lock_guard<std::mutex> guard(queue.lock);
  queue.closed = true;
  queue.filled.notify_all();
}
"""

# Ranks of what is taken: a thread that holds one takes only higher ones.
MUTEXES, RWLOCKS, SEMAPHORES, SPINS, STD_MUTEXES = range(0, 3), range(3, 5), range(5, 7), range(7, 8), range(8, 10)
# Locks under which no other is taken.
LEAF = 10
FREE, NOTHING = -1, 1 << 30


@dataclasses.dataclass
class Function:
    """A function that may be called: `u64 name(struct worker *w, u64 x, int depth)`."""

    name: str
    # How many synchronizations it does at most.
    cost: int = 0
    # The lowest rank that it takes, FREE if it must be called without locks.
    lowest: int = NOTHING
    throws: bool = False
    # Where it has a depth: how deep it may be called.
    deepest: int = 0


@dataclasses.dataclass
class Program:
    """What was made."""

    name: str
    language: str
    source: str
    # Lists of arguments; the first is to be recorded, and the second takes the same schedule.
    inputs: list
    features: collections.Counter


@dataclasses.dataclass
class Place:
    """Where a statement stands."""

    function: Function
    # The highest rank that is held.
    held: int = FREE
    # Whether something is held that an exception would not give back.
    by_hand: bool = False
    may_return: bool = True
    # Whether a `break` finds a loop, with nothing taken by hand since.
    in_loop: bool = False
    # Whether an exception is caught around it, in this function or above.
    caught: bool = False
    # How many times it runs, at most.
    times: int = 1
    deep: int = 0

    def inside(self, **changes):
        return dataclasses.replace(self, deep=self.deep + 1, **changes)


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        # For data flow: what it adds does not change what else is chosen.
        self.data = random.Random(f"data {seed}")
        self.seed = seed
        self.cxx = self.random.random() < 0.5
        self.features = collections.Counter()
        self.functions = []
        self.text = []
        self.children = []
        self.used = set()
        self.names = 0

    # Small things.

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, items):
        return self.random.choice(list(items))

    def note(self, feature):
        self.features[feature] += 1

    def new_name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def condition(self):
        r = self.random
        kind = r.randrange(7)
        if kind < 3:
            self.note("branch on input")
            return self.pick([
                f"in[{r.randrange(3)}] % {r.randint(2, 4)} == {r.randrange(2)}",
                f"in[{r.randrange(3)}] > {r.randint(1, 6)}",
                f"(in[{r.randrange(3)}] & {self.pick([1, 2])}) != 0",
            ])
        if kind < 6:
            return f"(x >> {r.randrange(20)} & {self.pick([1, 3, 7])}) {self.pick(['==', '!=', '<'])} {r.randint(1, 2)}"
        return f"({self.condition()}) {self.pick(['&&', '||'])} ({self.condition()})"

    def bound(self):
        """A loop's bound, in words and at most."""
        if self.chance(0.5):
            self.note("loop on input")
            modulus = self.random.randint(2, LOOP_MOST + 1)
            return f"in[{self.random.randrange(3)}] % {modulus}", modulus - 1
        most = self.random.randint(1, LOOP_MOST)
        return str(most), most

    def arithmetic(self):
        r = self.random
        return self.pick([
            f"x = x * {r.randint(3, 99)} + {r.randint(1, 99)};",
            "x = scramble(x);",
            f"x += (u64)in[{r.randrange(3)}];",
            f"x = {self.condition()} ? x + {r.randint(1, 9)} : scramble(x);",
            "x ^= w->id;",
        ])

    def charge(self, place, cost, rank=NOTHING):
        """Whether the function may do so much more; then it does."""
        total = cost * place.times
        if place.function.cost + total > BUDGET // 3:
            return False
        place.function.cost += total
        place.function.lowest = min(place.function.lowest, rank)
        return True

    # Statements: each gives lines, or None where it does not fit.

    def block(self, place, most=3):
        lines = []
        for _ in range(self.random.randint(1, most)):
            if self.data.random() < 0.3:
                lines += self.data.choice([self.ticket, self.settle, self.fields, self.widths, self.parcel, self.aliases])(place)
            lines += self.statement(place)
        return ["  " + line for line in lines]

    def statement(self, place):
        kinds = [self.locked, self.locked, self.shared, self.semaphore, self.tried, self.spun, self.branch, self.branch,
                 self.loop, self.loop, self.switch, self.call, self.call, self.call, self.indirect, self.indirect, self.heap, self.once,
                 self.spawn, self.local_array, self.leave, self.recursion]
        if self.cxx:
            kinds += [self.guarded, self.guarded, self.attempt, self.attempt, self.throw, self.throw, self.virtual, self.virtual]
        for _ in range(4):
            lines = self.pick(kinds)(place) if place.deep < 4 else None
            if lines:
                return lines
        return [self.arithmetic()]

    # Statements for data flow: each gives lines.

    def ticket(self, place):
        """A number under a lock: who gets which is the schedule's, and all do the same with it."""
        if not self.charge(place, 2, LEAF):
            return []
        self.note("ticket")
        ticket = self.new_name("ticket")
        return ["pthread_mutex_lock(&ticket_lock);", f"int {ticket} = tickets++;", "pthread_mutex_unlock(&ticket_lock);",
                f"if ({ticket} < SLOTS)", f"  slots[{ticket}] = 7 * {ticket} + 1;"]

    def settle(self, place):
        """Whoever comes first sets a value; it is the same for all."""
        if not self.charge(place, 2, LEAF):
            return []
        self.note("settled value")
        return ["pthread_mutex_lock(&settle_lock);", "if (!is_settled) {", "  is_settled = 1;", "  settled = 17;", "}",
                "x += (u64)settled;", "pthread_mutex_unlock(&settle_lock);"]

    def fields(self, place):
        self.note("fields")
        return [self.data.choice(["x += (u64)settings.small;", "x ^= settings.middle;", "x += (u64)settings.scale;",
                                  "if (settings.scale == 12)\n  x += 3;", "x += (u64)settings.wide;", "x += w->tag;",
                                  "x += (u64)w->kind;", "if (w->size > 30)\n  x ^= 5;", "x += (u64)threads;"])]

    def widths(self, place):
        self.note("widths")
        number = self.data.randint(2, 9)
        return [self.data.choice([f"x += (u64)(short)(x * {number});", f"x += (u64)((signed char)x >> {number % 5});",
                                  f"x ^= (u64)((int)(x % 1000) - 500) / {number};",
                                  f"x += (u64)(((int)(x % 1000) - 500) / -{number});",
                                  f"x += (u64)(((int)(x % 1000) - 500) % {number});",
                                  f"x ^= (x << {number * 7}) >> {number * 5};", f"x += (unsigned char)(x + {number});",
                                  f"if ((unsigned short)x / {number} > 6000)\n  x += 9;"])]

    def parcel(self, place):
        self.note("through callees")
        parcel, count = self.new_name("parcel"), self.data.randint(1, 9)
        return [f"struct parcel {parcel};", f"pack(&{parcel}, x & 255, {count});", f"if ({parcel}.count == {count})",
                f"  x += unpack(&{parcel});"]

    def aliases(self, place):
        self.note("aliases")
        pair = self.new_name("pair")
        value = self.data.randint(1, 99)
        return [f"int {pair}[3] = {{1, 2, 3}};", f"int *{pair}_one = &{pair}[x & 1];", f"*{pair}_one = {value};",
                f"x += (u64)({pair}[0] * 5 + {pair}[2]);"]

    def rank_in(self, place, ranks):
        fitting = [rank for rank in ranks if rank > place.held]
        return self.pick(fitting) if fitting else None

    def taken(self, place, ranks, take, give):
        """A block between two calls."""
        rank = self.rank_in(place, ranks)
        if rank is None or not self.charge(place, 2, rank):
            return None
        number = rank - ranks[0]
        inner = place.inside(held=rank, by_hand=True, may_return=False, in_loop=False)
        body = self.block(inner, 2) if self.chance(0.4) else []
        if any("pthread" in line or "sem_" in line for line in body):
            self.note("nested locks")
        return [take.format(number), f"sums[{rank}] += plain_work(x);", *(line.strip("\n")[2:] for line in body),
                give.format(number)]

    def locked(self, place):
        lines = self.taken(place, MUTEXES, "pthread_mutex_lock(&mutex{});", "pthread_mutex_unlock(&mutex{});")
        self.note("mutex") if lines else None
        return lines

    def shared(self, place):
        rank = self.rank_in(place, RWLOCKS)
        if rank is None or not self.charge(place, 2, rank):
            return None
        self.note("rwlock")
        lock = f"&rwlock{rank - RWLOCKS[0]}"
        if self.chance(0.5):
            return [f"pthread_rwlock_wrlock({lock});", f"sums[{rank}] += plain_work(x);", f"pthread_rwlock_unlock({lock});"]
        return [f"pthread_rwlock_rdlock({lock});", f"w->result += fixed[x & 3];", f"pthread_rwlock_unlock({lock});"]

    def semaphore(self, place):
        lines = self.taken(place, SEMAPHORES, "sem_wait(&sem{});", "sem_post(&sem{});")
        self.note("semaphore") if lines else None
        return lines

    def spun(self, place):
        rank = self.rank_in(place, SPINS)
        if rank is None or not self.charge(place, 2, rank):
            return None
        self.note("spin lock")
        return ["pthread_spin_lock(&spin0);", f"sums[{rank}] += plain_work(x);", "pthread_spin_unlock(&spin0);"]

    def tried(self, place):
        rank = self.rank_in(place, MUTEXES)
        if rank is None or not self.charge(place, 3, rank):
            return None
        self.note("trylock")
        lock = f"&mutex{rank}"
        return [f"if (pthread_mutex_trylock({lock}) != 0)", f"  pthread_mutex_lock({lock});",
                f"sums[{rank}] += x & 255;", f"pthread_mutex_unlock({lock});"]

    def guarded(self, place):
        """std::mutex in a scope: exceptions, returns and breaks leave it."""
        rank = self.rank_in(place, STD_MUTEXES)
        if rank is None or not self.charge(place, 2, rank):
            return None
        self.note("lock_guard")
        inner = place.inside(held=rank)
        return ["{", f"  std::lock_guard<std::mutex> guard(std_mutex{rank - STD_MUTEXES[0]});",
                f"  sums[{rank}] += plain_work(x);", *self.block(inner, 2), "}"]

    def branch(self, place):
        lines = [f"if ({self.condition()}) {{", *self.block(place.inside())]
        if self.chance(0.5):
            lines += ["} else {", *self.block(place.inside())]
        return lines + ["}"]

    def switch(self, place):
        self.note("switch")
        value = self.pick([f"in[{self.random.randrange(3)}] % 4", "x % 5"])
        lines = [f"switch ({value}) {{"]
        for case in range(self.random.randint(2, 3)):
            lines += [f"case {case}: {{", *self.block(place.inside(in_loop=False), 2), "}"]
            lines += ["  break;"] if self.chance(0.7) else ["  __attribute__((fallthrough));"]
        return [*lines, "default:", "  " + self.arithmetic(), "}"]

    def loop(self, place):
        bound, most = self.bound()
        if place.times * most > 27:
            return None
        i = self.new_name("i")
        body = self.block(place.inside(times=place.times * max(most, 1), in_loop=True))
        if self.chance(0.3):
            n = self.new_name("n")
            self.note("do loop")
            return [f"int {n} = 0;", "do {", *body, f"}} while (++{n} < {bound});"] if most else None
        if self.chance(0.2):
            body = [f"  if ((x + (u64){i}) % 3 == 1) continue;", *body]
            self.note("continue")
        return [f"for (int {i} = 0; {i} < {bound}; {i}++) {{", *body, f"  x += (u64){i};", "}"]

    def leave(self, place):
        if place.in_loop and self.chance(0.5):
            self.note("break")
            return [f"if ({self.condition()})", "  break;"]
        if not place.may_return:
            return None
        self.note("early return")
        return [f"if ({self.condition()})", "  return x;"]

    def fits(self, place, callee):
        """Whether it may be called here; then its cost is charged."""
        if callee.throws and not (place.caught and not place.by_hand):
            return False
        if place.held != FREE and callee.lowest <= place.held:
            return False
        if not self.charge(place, callee.cost, callee.lowest):
            return False
        self.used.add(callee.name)
        place.function.throws |= callee.throws and place.caught == "above"
        return True

    def call(self, place):
        if not self.functions:
            return None
        callee = self.pick(self.functions)
        if not self.fits(place, callee):
            return None
        self.note("call")
        return [f"x += {callee.name}(w, x, {callee.deepest});"]

    def indirect(self, place):
        if len(self.functions) < 2:
            return None
        first, second = self.random.sample(self.functions, 2)
        before = place.function.cost
        if first.deepest or second.deepest or not self.fits(place, first) or not self.fits(place, second):
            place.function.cost = before
            return None
        self.note("indirect call")
        table = self.new_name("steps")
        value = self.pick(["x & 1", f"in[{self.random.randrange(3)}] & 1"])
        return [f"static const step {table}[2] = {{{first.name}, {second.name}}};", f"x ^= {table}[{value}](w, x, 0);"]

    def virtual(self, place):
        if not self.kinds or not all(self.fits(place, callee) for callee in self.kinds):
            return None
        self.note("virtual call")
        return [f"x += pick_kind(in[{self.random.randrange(3)}])->act(w, x);"]

    def recursion(self, place):
        deep = [callee for callee in self.functions if callee.deepest]
        if not deep:
            return None
        callee = self.pick(deep)
        if not self.fits(place, callee):
            return None
        self.note("recursion")
        return [f"x += {callee.name}(w, x, {self.pick([str(callee.deepest), f'in[1] % {callee.deepest + 1}'])});"]

    def heap(self, place):
        if place.held != FREE or not self.charge(place, 4, FREE):
            return None
        self.note("heap object")
        node = self.new_name("node")
        make = f"struct node *{node} = (struct node *)malloc(sizeof(struct node));"
        inner = place.inside(by_hand=True, may_return=False, in_loop=False)
        return [make, f"pthread_mutex_init(&{node}->lock, 0);", f"{node}->value = x;", *(l[2:] for l in self.block(inner, 2)),
                f"pthread_mutex_lock(&{node}->lock);", f"{node}->value += x;", f"pthread_mutex_unlock(&{node}->lock);",
                f"x ^= {node}->value;", f"pthread_mutex_destroy(&{node}->lock);", f"free({node});"]

    def once(self, place):
        if place.held != FREE or not self.charge(place, 4, FREE):
            return None
        self.note("once")
        number = self.random.randrange(2)
        return [f"pthread_once(&once{number}, initialize{number});", f"x += prepared[{number}];"]

    def spawn(self, place):
        if place.held != FREE or place.by_hand or not self.children or place.times > 2:
            return None
        child = self.pick(self.children)
        if not self.charge(place, 3 + child.cost, FREE):
            return None
        self.used.add(child.name)
        self.note("thread made by a worker")
        inner = self.block(place.inside(by_hand=True, may_return=False, in_loop=False), 1)
        data = self.new_name("child")
        if self.cxx and self.chance(0.6):
            self.note("std::thread")
            return [f"struct worker {data} = {{x & 63, 0}};", f"std::thread {data}_thread([&{data}] {{ {child.name}(&{data}); }});",
                    *(line[2:] for line in inner), f"{data}_thread.join();", f"x += {data}.result;"]
        return [f"struct worker {data} = {{x & 63, 0}};", f"pthread_t {data}_thread;",
                f"pthread_create(&{data}_thread, 0, {child.name}, &{data});", *(line[2:] for line in inner),
                f"pthread_join({data}_thread, 0);", f"x += {data}.result;"]

    def local_array(self, place):
        self.note("local array")
        array, i = self.new_name("local"), self.new_name("i")
        return [f"u64 {array}[4];", f"for (int {i} = 0; {i} < 4; {i}++)", f"  {array}[{i}] = scramble(x + (u64){i});",
                *(line[2:] for line in self.block(place.inside(), 1)), f"x += {array}[x & 3];"]

    def attempt(self, place):
        if place.by_hand:
            return None
        self.note("try")
        body = self.block(place.inside(caught=place.caught if place.caught == "above" and self.chance(0.3) else "here",
                                       in_loop=False))
        return ["try {", *body, "} catch (const Fault &fault) {", "  x += fault.value;", *self.block(place.inside(), 1), "}"]

    def throw(self, place):
        if not place.caught or place.by_hand:
            return None
        self.note("throw")
        place.function.throws |= place.caught == "above"
        return [f"if ({self.condition()})", "  throw Fault{x & 15};"]

    # The program's parts.

    def helper(self):
        """A function that the next ones may call."""
        function = Function(self.new_name("step"))
        place = Place(function, caught="above" if self.cxx and self.chance(0.4) else False, deep=1)
        if self.chance(0.25):
            # It calls itself: what it does otherwise it does once a level.
            function.deepest = self.random.randint(1, 3)
            place.times = function.deepest + 1
            place.caught = False
            body = self.block(place)
            # The body may not have called what calls it; nothing is held here.
            again = f"  x += {function.name}(w, x + {self.random.randint(1, 9)}, depth - 1);"
            lines = ["  if (depth < 0)", "    return x;", *body, f"  if (depth > 1 || ({self.condition()}))", again]
            lines += self.block(place, 1) if self.chance(0.5) else []
        else:
            lines = ["  (void)depth;", *self.block(place, 4)]
        head = f"u64 {function.name}(struct worker *w, u64 x, int depth)"
        self.text += ["", f"LINKAGE_{function.name} {head} {{", *lines, "  return x + w->id % 2;", "}"]
        self.functions.append(function)

    def thread_function(self, prefix, phases):
        function = Function(self.new_name(prefix))
        place = Place(function, deep=1)
        lines = ["  struct worker *w = (struct worker *)data;", "  u64 x = scramble(w->id + (u64)in[0]);"]
        for phase in phases:
            lines += phase(place)
        ends = not self.cxx and prefix == "worker" and self.chance(0.2)
        self.note("pthread_exit") if ends else None
        lines += ["  w->result += x;", "  pthread_exit(w);" if ends else "  return w;"]
        # A `return x` of a helper's block is none in here.
        lines = [line.replace("return x;", "return w;") for line in lines]
        self.text += ["", f"LINKAGE_{function.name} void *{function.name}(void *data) {{", *lines, "}"]
        return function

    def consumer(self):
        """A phase that takes items until the queue is closed. Which ones depends on the schedule, so every worker does the
        same with an item, and it counts in sums only."""
        callees = [callee for callee in self.functions if not callee.throws and callee.cost < 12]
        work, cost = ["u64 found = scramble((u64)item);"], 0
        if callees and self.chance(0.7):
            callee = self.pick(callees)
            self.used.add(callee.name)
            cost = 4 * callee.cost
            work = ["struct worker item_worker = {(u64)item, 0};",
                    f"u64 found = {callee.name}(&item_worker, (u64)item, {callee.deepest}) + item_worker.result;"]
        work += ["pthread_mutex_lock(&mutex0);", "sums[0] += found;", "pthread_mutex_unlock(&mutex0);"]

        def phase(place):
            place.function.cost += cost
            return ["  int item;", "  while (get(&item)) {", *("    " + line for line in work), "  }"]
        return phase

    def barriers(self):
        """A phase with barriers, the same number in every worker."""
        rounds = self.bound()[0]
        self.note("barrier")
        exchanges = self.data.random() < 0.7
        self.note("exchange at barriers") if exchanges else None

        def phase(place):
            body = self.block(place.inside(times=LOOP_MOST, may_return=False), 2)
            round_ = self.new_name("round")
            place.function.cost += 2 * LOOP_MOST
            # All workers or none: what is read was written.
            give, take = [], []
            if exchanges:
                give = [f"    board[{round_}][w->id] = x * 3 + {round_};"]
                take = [f"    x += board[{round_}][(w->id + 1) % (u64)threads];"]
            return [f"  for (int {round_} = 0; {round_} < {rounds}; {round_}++) {{", *("  " + line for line in body),
                    *give, "    pthread_barrier_wait(&barrier);", *take, "  }"]
        return phase

    def gate(self, place):
        self.note("semaphore as signal")
        place.function.cost += 1
        return ["  sem_wait(&gate);", "  x += (u64)handed;"]

    def partition(self):
        """A phase in which each worker writes its part of the cells: a block, or every nth."""
        self.note("partition")
        if self.data.random() < 0.5:
            loop = "for (int i = CELLS * (int)w->id / threads; i < CELLS * ((int)w->id + 1) / threads; i++)"
        else:
            loop = "for (int i = (int)w->id; i < CELLS; i += threads)"
        change = self.data.choice(["cells[i] += x + (u64)in[3];", "cells[i] = x ^ (cells[i] + 1);"])
        return lambda place: [f"  {loop}", f"    {change}"]

    def generate(self):
        self.kinds = []
        for _ in range(self.random.randint(2, 5)):
            self.helper()
        if self.cxx and self.chance(0.5):
            self.add_kinds()
        if self.chance(0.6):
            self.children = [self.thread_function("child", [lambda place: self.block(place, 2)])]
            for _ in range(self.random.randint(1, 2)):
                self.helper()
        uses_queue, uses_gate = self.chance(0.5), self.chance(0.3)
        # An early return would leave others at a barrier, or main at a full queue.
        phases = [lambda place: self.block(dataclasses.replace(place, may_return=False), 3)]
        phases += [self.barriers()] if self.chance(0.5) else []
        phases += [self.gate] if uses_gate else []
        phases += [self.consumer()] if uses_queue else []
        phases += [lambda place: self.block(place, 2)] if self.chance(0.5) else []
        if self.data.random() < 0.6:
            phases.insert(self.data.randint(0, len(phases)), self.partition())
        several = self.chance(0.4)
        if several:
            self.note("two thread functions")
        workers = [self.thread_function("worker", phases) for _ in range(2 if several else 1)]
        if uses_queue:
            self.note("queue")
        text = self.finish(workers, uses_queue, uses_gate)
        name = f"random{self.seed}"
        return Program(name, "cpp" if self.cxx else "c", text, self.inputs(), self.features)

    def add_kinds(self):
        """Two classes with a virtual function."""
        kinds = [f for f in self.functions if not f.deepest][:2]
        if len(kinds) < 2:
            return
        self.kinds = kinds
        self.text += ["", "struct Kind {", "  virtual u64 act(struct worker *w, u64 x) = 0;", "  virtual ~Kind() {}", "};"]
        for number, callee in enumerate(kinds):
            self.used.add(callee.name)
            self.text += [f"struct Kind{number} : Kind {{",
                          f"  u64 act(struct worker *w, u64 x) override {{ return {callee.name}(w, x, {number}) + {number}; }}",
                          "};", f"static Kind{number} kind{number};"]
        self.text += ["static Kind *pick_kind(int which) {", "  if (which % 3 == 0)", "    return &kind0;", "  return &kind1;", "}"]

    def inputs(self):
        r = self.random
        first = [r.randint(0, 9) for _ in range(3)] + [r.randint(0, 99)]
        same = first[:3] + [first[3] + r.randint(1, 40)]
        others = []
        for place in range(3):
            other = list(first)
            other[place] += r.choice([1, 2, 3])
            others.append(other)
        return [[str(number) for number in numbers] for numbers in [first, same, *others]]

    def finish(self, workers, uses_queue, uses_gate):
        """The whole text: declarations, what was made, main."""
        self.used.update(worker.name for worker in workers)
        made = "\n".join(self.text)
        for function in [*self.functions, *self.children, *workers]:
            internal = function.name in self.used and self.chance(0.6)
            made = made.replace(f"LINKAGE_{function.name} ", "static " if internal else "")
        count = self.pick(["2", "3", "1 + in[0] % 3", "2 + in[0] % 2"])
        if "in[" in count:
            self.note("number of threads is input")
        produce = []
        if uses_queue:
            items = self.pick(["4", "in[1] % 5", "3 + in[2] % 3"])
            produce = [f"  for (int i = 0; i < {items}; i++)", "    put(i * 7 + in[1]);", "  close_queue();"]
        if uses_gate:
            produce = ["  handed = in[0] + 4;", "  for (int i = 0; i < threads; i++)", "    sem_post(&gate);", *produce]
        start = workers[0].name if len(workers) == 1 else f"(i % 2 ? {workers[0].name} : {workers[1].name})"
        if self.cxx and self.chance(0.5):
            self.note("std::thread")
            create = [f"    void *(*start)(void *) = {start};", "    all[i] = std::thread(start, (void *)&workers[i]);"]
            declare, join = "  std::thread all[4];", "    all[i].join();"
        else:
            create = [f"    pthread_create(&all[i], 0, {start}, &workers[i]);"]
            declare, join = "  pthread_t all[4];", "    pthread_join(all[i], 0);"
        own, own_lines = Function("main"), []
        if self.chance(0.4) and not uses_queue and not uses_gate:
            own_lines = [line.replace("w->", "me.") for line in self.block(Place(own, may_return=False, deep=1), 2)]
            own_lines = [line.replace("(w, ", "(&me, ") for line in own_lines]
            own_lines = ["  struct worker me = {7, 0};", "  u64 x = (u64)in[1];", *own_lines, "  sums[7] += x + me.result;"]
        end = self.pick(["  return 0;", "  return (int)(total & 31);", "  exit((int)(total & 31));"])
        main = ["", "int main(int count, char **arguments) {", "  for (int i = 0; i < 4 && i + 1 < count; i++)",
                "    in[i] = atoi(arguments[i + 1]);", f"  threads = {count};",
                "  settings.small = -5;", "  settings.middle = 40000;", "  settings.scale = 12;",
                f"  settings.wide = {self.data.choice(['-7000000000', 'in[1] * 3'])};",
                "  static struct worker workers[4];", declare,
                "  sem_init(&sem0, 0, 1);", "  sem_init(&sem1, 0, 1);", "  sem_init(&gate, 0, 0);",
                "  pthread_spin_init(&spin0, 0);", "  pthread_barrier_init(&barrier, 0, (unsigned)threads);",
                "  for (int i = 0; i < threads; i++) {", "    workers[i].id = (u64)i;",
                "    workers[i].tag = (unsigned char)(200 + i);", "    workers[i].kind = (short)(i - 3);",
                f"    workers[i].size = {self.data.choice(['31', 'in[2] * 10', '29 + i'])};", *create, "  }", *produce,
                "  for (int i = 0; i < threads; i++)", join]
        main += ["  {", *own_lines, "  }"] if own_lines else []
        main += ["  pthread_barrier_destroy(&barrier);", "  u64 total = 0, marks = 0;", "  for (int i = 0; i < CELLS; i++)",
                 "    total = scramble(total + cells[i]);", "  for (int i = 0; i < SLOTS; i++)", "    marks += (u64)slots[i];",
                 '  printf("%lu %d %lu\\n", total, tickets, marks);', "  for (int i = 0; i < 10; i++) {",
                 '    printf("sum %d %lu\\n", i, sums[i]);', "    total = scramble(total + sums[i]);", "  }",
                 "  for (int i = 0; i < threads; i++)", '    printf("worker %d %lu\\n", i, workers[i].result);', end, "}"]
        return "\n".join([self.head(uses_queue), made, *main, ""])

    def head(self, uses_queue):
        includes = ["#include <pthread.h>", "#include <semaphore.h>", "#include <stdio.h>", "#include <stdlib.h>"]
        if self.cxx:
            includes += [f"#include <{name}>" for name in ["condition_variable", "deque", "mutex", "thread"]]
        lines = [f"// Made by random_programs.py, seed {self.seed}."]
        # Not all programs use all of them.
        lines += includes + ["#pragma clang diagnostic ignored \"-Wunused-variable\"",
                             "#pragma clang diagnostic ignored \"-Wunused-function\"",
                             "#pragma clang diagnostic ignored \"-Wmissing-field-initializers\"", PRELUDE,
                             "static const u64 fixed[4] = {3, 1, 4, 1};"]
        lines += [f"static pthread_mutex_t mutex{n} = PTHREAD_MUTEX_INITIALIZER;" for n in range(len(MUTEXES))]
        lines += [f"static pthread_rwlock_t rwlock{n} = PTHREAD_RWLOCK_INITIALIZER;" for n in range(len(RWLOCKS))]
        lines += ["static sem_t sem0, sem1, gate;", "static pthread_spinlock_t spin0;", "static pthread_barrier_t barrier;"]
        lines += ["struct node {", "  pthread_mutex_t lock;", "  u64 value;", "};", "static u64 prepared[2];"]
        for number in range(2):
            lines += [f"static pthread_once_t once{number} = PTHREAD_ONCE_INIT;", f"static void initialize{number}(void) {{",
                      f"  pthread_mutex_lock(&mutex{number});", f"  prepared[{number}] = (u64)in[0] + {number + 5};",
                      f"  pthread_mutex_unlock(&mutex{number});", "}"]
        if self.cxx:
            lines += ["struct Fault {", "  u64 value;", "};"]
            lines += [f"static std::mutex std_mutex{n};" for n in range(len(STD_MUTEXES))]
        if uses_queue:
            lines += [CXX_QUEUE if self.cxx else C_QUEUE]
        return "\n".join(lines)


def generate(seed):
    return Generator(seed).generate()


def write(program, folder):
    path = os.path.join(folder, f"{program.name}.{program.language}")
    with open(path, "w") as file:
        file.write(program.source)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1, help="so many seeds from that one")
    parser.add_argument("--out", help="folder for the programs")
    options = parser.parse_args()
    features = collections.Counter()
    for seed in range(options.seed, options.seed + options.count):
        program = generate(seed)
        features.update(program.features.keys())
        features[f"language {program.language}"] += 1
        if options.out:
            print(write(program, options.out), *(" ".join(words) for words in program.inputs), sep="\n  ")
    for feature, count in sorted(features.items()):
        print(f"{feature}: {count}")


if __name__ == "__main__":
    main()
