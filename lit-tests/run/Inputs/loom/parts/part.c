#include "part.h"

int part_step(struct record *record, long value, void (*pause)(void)) {
  record->first = value; // [begin]
  pause();
  record->second = value;
  return record->first != value || record->second != value; // [end]
}
