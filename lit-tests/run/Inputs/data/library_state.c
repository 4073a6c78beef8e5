// Library functions that keep what they were given and write it in a later call: a stream's buffer, strtok's text, a
// stream in memory. Variables of the library itself are no constants either.
// RECORDED: 11,22
// COVERED: 45,67
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[64], buffer[4096], *memory;
static size_t memory_size;

static void *worker(void *unused) {
  FILE *stream = tmpfile();
  setvbuf(stream, buffer, _IOFBF, sizeof buffer);
  buffer[0] = 'x';
  fputs(text, stream);
  int first = buffer[0]; // NOT CONST t1 load
  fclose(stream);

  char *start = strtok(text, ",");
  text[strlen(start)] = '\0';
  text[4] = '!';
  char *second = strtok(NULL, "!");
  int end = text[4]; // NOT CONST t1 load 33
  int number = atoi(start) + (second != NULL ? atoi(second) : 0);

  stream = open_memstream(&memory, &memory_size);
  fflush(stream);
  memory_size = 1;
  fprintf(stream, "%d", number * number);
  fclose(stream);
  int made = (int)memory_size; // NOT CONST t1 load
  int digit = memory[0]; // NOT CONST t1 load
  free(memory);
  printf("%d %d %d %d %d\n", first, end, number, made, digit);
  return unused;
}

int main(int count, char **arguments) {
  int before = optind;
  while (getopt(count, arguments, "v") != -1)
    ;
  int after = optind; // NOT CONST t0 load 0
  strncpy(text, count > after ? arguments[after] : "11,22", sizeof text - 1);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  printf("%d %d\n", before, after);
  return 0;
}
