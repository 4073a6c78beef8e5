// fread, fscanf, sscanf, fgets, getline and snprintf write where they are told to.
// RECORDED: 12345678
// COVERED: 98765432
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static int number, cells[2];
static char letters[16], *line;
static size_t room;

static void *worker(void *unused) {
  number = 1;
  sscanf(text, "%3d", &number);
  int scanned = number; // NOT CONST t1 load
  FILE *stream = fmemopen(text, strlen(text), "r");
  cells[0] = 1;
  cells[1] = 7;
  if (fread(cells, 4, 1, stream) != 1)
    abort();
  int raw = cells[0]; // NOT CONST t1 load
  int kept = cells[1];
  rewind(stream);
  letters[1] = 'x';
  letters[12] = 'y';
  if (fgets(letters, 8, stream) == NULL)
    abort();
  int letter = letters[1]; // NOT CONST t1 load
  int beside = letters[12];
  rewind(stream);
  number = 2;
  if (fscanf(stream, "%5d", &number) != 1)
    abort();
  int streamed = number; // NOT CONST t1 load
  rewind(stream);
  line = malloc(4);
  room = 4;
  line[0] = 'z';
  if (getline(&line, &room, stream) < 0)
    abort();
  int first = line[0];  // NOT CONST t1 load
  int wide = room > 4;  // NOT CONST t1 load 4
  fclose(stream);
  letters[0] = 'x';
  snprintf(letters, sizeof letters, "%d", scanned + 1);
  int printed = letters[0]; // NOT CONST t1 load
  printf("%d %d %d %d %d %d %d %d %d\n", scanned, raw, kept, letter, beside, streamed, first, wide, printed);
  free(line);
  return unused;
}

int main(int count, char **arguments) {
  text = strdup(count > 1 ? arguments[1] : "12345678");
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);
  free(text);
  return 0;
}
