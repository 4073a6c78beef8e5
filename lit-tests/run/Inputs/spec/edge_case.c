// Wu, Figure 4.7: under the schedule s1 s2 s3 the statement l stands between s1 and s2, and the edge from s2 back to l is
// not to be taken: whether it is taken again after s2 is input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
                       third = PTHREAD_MUTEX_INITIALIZER;

int main(int count, char **arguments) {
  int again = count > 1 ? atoi(arguments[1]) : 1;
  int steps = count > 2 ? atoi(arguments[2]) : 7;
  long sum = 0;
  pthread_mutex_lock(&first);
l:
  sum += steps;
  if (sum < steps * 3)
    goto l;
  pthread_mutex_lock(&second);
  pthread_mutex_unlock(&second);
  if (--again > 0)
    goto l;
  pthread_mutex_lock(&third);
  printf("sum %ld\n", sum);
  pthread_mutex_unlock(&third);
  pthread_mutex_unlock(&first);
  return 0;
}
