// The second unit.
#include "units.h"

static void twin(long round) { inlined_in_both(round + 1); }

extern const char *wanted_case;

void other_unit(long round) {
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
