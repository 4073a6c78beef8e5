// See foreign_handler.c.
#include <errno.h>
#include <unistd.h>

void on_signal(int number) {
  int before = errno;
  usleep((useconds_t)number * 30);
  errno = before;
}
