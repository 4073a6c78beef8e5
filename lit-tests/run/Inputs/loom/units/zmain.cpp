// Two units: functions that both have a copy of, and static ones of one name.
#include "race.h"
#include "units.h"

// FILTER comdat: in_both(id) <> in_both(id)
// FILTER inlined: inlined_in_both <> inlined_in_both
// FILTER twins: twin <> twin
void count_failure() { failure(); }
void take_time() { delay(); }

int inside_both, inside_each[4];
const char *wanted_case;

static void twin(long round) { inlined_in_both(round); }

static void this_unit(long round) {
  switch (wanted_case[0]) {
  case 'c':
    in_both((int)(round % 2));
    break;
  case 'i':
    inlined_in_both(round);
    break;
  default:
    twin(round);
  }
}

static void *worker(void *argument) {
  for (long round = 1; running(); ++round) {
    if ((long)argument % 2)
      this_unit(round);
    else
      other_unit(round);
    operation();
  }
  return NULL;
}

int main(int argc, char *argv[]) {
  begin(argc, argv, 100, 3);
  must(argc > 5, "the case");
  wanted_case = argv[5];
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    ids[i] = start(worker, i);
  for (int i = 0; i < threads; ++i)
    join(ids[i]);
  return finish();
}
