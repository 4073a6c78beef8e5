// MySQL-644: a SELECT is prepared, then optimized, and both together are not atomic: the table may have been altered in
// between, and the plan is one for a table that is no more.
//
// Failures: plans whose steps have seen two tables.
//
// Filters: prepare_optimize.mutual (no ALTER between prepare and optimize), .mutual_table (of the same table), .unilateral (a SELECT
// is alone between the two); .force (the ALTER comes between the two).
#include "race.h"

enum { TABLES = 3, MAX_COLUMNS = 16, PAUSE = 500 };

struct table {
  volatile unsigned definition; // a new one with each ALTER
  volatile int columns;
};

static struct table tables[TABLES];

struct plan {
  unsigned definition;
  int columns, order[MAX_COLUMNS];
};

__attribute__((noinline)) static void prepare(struct plan *plan, const struct table *table) {
  plan->definition = table->definition;
  plan->columns = table->columns;
}

// Whether the plan fits the table.
__attribute__((noinline)) static int optimize(struct plan *plan, const struct table *table) {
  int columns = table->columns;
  for (int i = 0; i < columns; ++i)
    plan->order[i] = columns - i;
  return plan->columns == columns && plan->definition == table->definition;
}

__attribute__((noinline)) static void mysql_select(const struct table *table) {
  struct plan plan;
  operation();
  prepare(&plan, table); // [prepare]
  delay();
  int fits = optimize(&plan, table); // [optimize]
  if (!fits)
    failure();
}

__attribute__((noinline)) static void alter_table(struct table *table, unsigned definition) {
  table->definition = definition; // [alter]
  table->columns = 1 + (int)(definition % MAX_COLUMNS); // [altered]
}

static void *reader(void *argument) {
  for (long i = (long)argument; running(); ++i) {
    mysql_select(&tables[i % TABLES]);
    usleep(PAUSE);
  }
  return NULL;
}

static void *writer(void *argument) {
  for (unsigned i = 1; running(); ++i) {
    alter_table(&tables[i % TABLES], i);
    usleep(PAUSE);
  }
  return argument;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 500, 4);
  pthread_t ids[MAX_THREADS], altering = start(writer, 0);
  for (int i = 0; i < threads; ++i)
    ids[i] = start(reader, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  join(altering);
  return finish();
}
