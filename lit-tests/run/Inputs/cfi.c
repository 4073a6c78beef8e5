// The address of a synchronizing function under control-flow integrity.
#include <pthread.h>

static pthread_mutex_t lock;
static int (*volatile take)(pthread_mutex_t *) = pthread_mutex_lock;

int main(void) { return take(&lock); }
