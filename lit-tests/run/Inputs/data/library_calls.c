// Calls of the C library between a store and a load: one that writes what it is given, or what it was given before, kills.
// One that only reads, or that has nothing to do with the variable, does not.
// RECORDED: 5,b=7
// COVERED: 12,b=77
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

static char text[64];
static int cell, kept, length, written;
static wchar_t wide;
static char *rest, *value, *part;
static double fraction;

static void *worker(void *unused) {
  cell = 1;
  length = (int)strlen(text);
  cell += 10; // CONST t1 load 1
  wide = L'x';
  mbtowc(&wide, text, 4);
  int first = (int)wide; // NOT CONST t1 load
  rest = text;
  long number = strtol(text, &rest, 10);
  long used = rest - text; // NOT CONST t1 load 0; NOT CONST t1 load 1
  written = 3;
  printf("%s%n\n", text, &written);
  int printed = written; // NOT CONST t1 load
  fraction = 0.5;
  int exponent = 4;
  fraction = frexp((double)number, &exponent);
  int scaled = exponent; // NOT CONST t1 load
  char *const names[] = {"a", "b", NULL};
  part = strchr(text, 'b');
  value = NULL;
  int which = getsubopt(&part, names, &value);
  int found = value != NULL && value[0] == '7'; // NOT CONST t1 load null
  kept = 6;
  puts(text);
  int same = kept; // CONST t1 load 6
  struct tm day = {.tm_year = 100, .tm_mday = 40 + 10 * (int)number};
  mktime(&day);
  int month = day.tm_mon; // NOT CONST t1 load
  printf("%d %ld %d %d %d %d %d %d\n", first, used, printed, scaled, which, found, same, month);
  return unused;
}

int main(int count, char **arguments) {
  strncpy(text, count > 1 ? arguments[1] : "5,b=7", sizeof text - 1);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%d %d\n", cell, length);
  return 0;
}
