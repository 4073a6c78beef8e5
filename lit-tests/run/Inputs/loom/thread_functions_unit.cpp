// See thread_functions.cpp.
#include "thread_functions.h"

static void (*volatile passed)(int) = by_name;

void elsewhere(int number) {
  by_name(number % 2);
  passed(number % 3);
  in_both(number % 2);
}
