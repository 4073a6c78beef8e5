// Functions of which all threads run the same body, since they are called through pointers or call themselves: only what
// they may write is known. They kill that, for each thread that calls them, and nothing else.
// RECORDED: 5
// COVERED: 9
// COVERED: 8
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 16 };

static int input, touched[2], untouched, table[2][CELLS];
static int parsed;

__attribute__((noinline)) static int churn(int *cells, unsigned seed, int *count) {
  int sum = 0;
  for (int i = 0; i < CELLS; i++) {
    seed = seed * 1103 + 12345;
    cells[i] ^= (int)(seed >> 3 & 255);
    if (cells[i] % 3 == 0)
      sum += cells[i] * 2;
    else if (cells[i] % 3 == 1)
      sum -= i;
    else
      sum ^= (int)(seed & 15);
    switch (sum & 7) {
    case 0:
      sum += 11;
      break;
    case 1:
      sum *= 3;
      break;
    case 5:
      cells[(i + sum) & (CELLS - 1)] += 1;
      break;
    default:
      sum ^= 1;
    }
    sum &= 0xffff;
  }
  *count += sum;
  return sum;
}

// From the end to the begin, each cell with what comes behind.
__attribute__((noinline)) static int smear(int *cells, unsigned at, int *count) {
  if (at >= CELLS)
    return 0;
  cells[at] += smear(cells, at + 1, count) & 255;
  *count += 1;
  return cells[at];
}

typedef int (*change)(int *, unsigned, int *);
static const change changes[2] = {churn, smear};

// The last argument says where the result goes.
__attribute__((noinline)) static void parse(const char *text, int *to) {
  int sign = 1, value = 0;
  while (*text == ' ')
    text++;
  if (*text == '-') {
    sign = -1;
    text++;
  }
  for (; *text >= '0' && *text <= '9'; text++)
    value = value * 10 + (*text - '0');
  *to = sign * value;
}

static void *worker(void *arg) {
  long id = (long)arg;
  int sum = changes[input & 1](table[id], (unsigned)input & 7, &touched[id]);
  sum += smear(table[id], (unsigned)sum & 7, &touched[id]);
  table[id][0] = sum;
  return NULL;
}

int main(int count, char **arguments) {
  parsed = 1;
  parse(count > 1 ? arguments[1] : "5", &parsed);
  input = parsed; // NOT CONST t0 load
  pthread_t threads[2];
  touched[0] = touched[1] = 1;
  untouched = 2;
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, worker, (void *)i);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  int got = touched[0];    // NOT CONST t0 load
  int same = untouched; // CONST t0 load 2
  printf("%d %d %d %d\n", got, same, table[0][0], table[1][3]);
  return 0;
}
