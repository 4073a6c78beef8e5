// Classes: members behind virtual functions, a vector that moves, a lambda's captures, a static object's destructor.
// RECORDED: 5
// COVERED: 9
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static int input, next_id;

struct Shape {
  int id = -1, size = 2;
  virtual ~Shape() = default;
  virtual void grow() { size += 1; }
  virtual int area() const { return size * size; }
};
struct Wide : Shape {
  void grow() override { size += input; }
  int area() const override { return size * 10; }
};
struct Report {
  ~Report() { std::printf("%d at the end\n", next_id); }
};
static Report report;
static std::vector<int> numbers;
static long sums[2];

static void worker(Shape *shape, int number) {
  {
    std::lock_guard<std::mutex> guard(lock);
    shape->id = next_id++; // CONST t1 load ?a; CONST t2 load ?b
  }
  shape->size = 7;
  shape->grow();
  int size = shape->size; // NOT CONST t1 load 7; NOT CONST t2 load 7
  std::lock_guard<std::mutex> guard(lock);
  for (int i = 0; i < 20; i++)
    numbers.push_back(number * i);
  sums[number - 1] = size + shape->area();
}

int main(int count, char **arguments) {
  input = count > 1 ? std::atoi(arguments[1]) : 5;
  std::unique_ptr<Shape> first = std::make_unique<Shape>(), second = std::make_unique<Wide>();
  std::thread one([&] { worker(first.get(), 1); });
  std::thread two([&] { worker(second.get(), 2); });
  one.join();
  two.join();
  long sum = 0;
  for (int number : numbers)
    sum += number;
  int made = next_id; // CONST t0 load 2
  std::printf("%d %ld %ld %ld %zu\n", made, sums[0], sums[1], sum, numbers.size());
  return 0;
}
