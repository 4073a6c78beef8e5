// What the parts share.
#include <pthread.h>

extern pthread_mutex_t lock;
extern int count;

void *b_worker(void *arg);
void *c_worker(void *arg);
void *d_worker(void *arg);

// Each part has its own copy; a site belongs to the file that defines its function, so the copies' sites are equal.
static inline void add(int amount) {
  pthread_mutex_lock(&lock); // SCHED: pthread_mutex_lock x3
  count += amount;
  pthread_mutex_unlock(&lock); // SCHED: pthread_mutex_unlock x3
}
