// A thread-per-connection echo server with its own load: as many clients as THREADS, each over its own loopback
// connection, SIZE requests in all. The server counts requests under a lock, once a request. The connections are
// made one after the other, so that which thread serves which client does not vary: a schedule does not know about
// sockets.
#include "bench.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE = 64 };

static int listener, connections[MAX_THREADS];
static struct sockaddr_in address = {.sin_family = AF_INET};
static struct OWN_LINES {
  pthread_mutex_t lock;
  pthread_cond_t connection_closed;
  long requests, open_connections;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .connection_closed = PTHREAD_COND_INITIALIZER};

static void check(int ok, const char *what) {
  if (!ok) {
    perror(what);
    exit(2);
  }
}

// Whole messages only; 0 at the end of the stream.
static int receive(int fd, unsigned char *message) {
  for (long got = 0; got < MESSAGE;) {
    ssize_t n = read(fd, message + got, MESSAGE - got);
    if (n <= 0)
      return 0;
    got += n;
  }
  return 1;
}

static void *serve(void *arg) {
  int fd = (int)(long)arg;
  unsigned char message[MESSAGE];
  while (receive(fd, message)) {
    pthread_mutex_lock(&server.lock);
    server.requests++; // [often]
    pthread_mutex_unlock(&server.lock);
    check(write(fd, message, MESSAGE) == MESSAGE, "write");
  }
  close(fd);
  pthread_mutex_lock(&server.lock);
  if (--server.open_connections == 0)
    pthread_cond_signal(&server.connection_closed); // [rare]
  pthread_mutex_unlock(&server.lock);
  return NULL;
}

static void *accept_all(void *arg) {
  for (int i = 0; i < threads; ++i) {
    int fd = accept(listener, NULL, NULL), on = 1;
    check(fd >= 0, "accept");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_t thread;
    check(pthread_create(&thread, NULL, serve, (void *)(long)fd) == 0, "pthread_create");
    pthread_detach(thread);
  }
  return arg;
}

static int connect_to_server(void) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  check(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

static void *client(void *arg) {
  long me = (long)arg;
  int fd = connections[me];
  for (long i = size * me / threads; i < size * (me + 1) / threads; ++i) {
    unsigned char message[MESSAGE], answer[MESSAGE];
    for (int k = 0; k < MESSAGE; ++k)
      message[k] = (unsigned char)(i * 31 + k);
    check(write(fd, message, MESSAGE) == MESSAGE, "write");
    check(receive(fd, answer), "read");
    for (int k = 0; k < MESSAGE; ++k)
      if (answer[k] != message[k])
        abort();
  }
  close(fd);
  return NULL;
}

int main(int argc, char *argv[]) {
  read_arguments(argc, argv, 4, 60000);
  socklen_t length = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  check(listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
  check(listen(listener, MAX_THREADS) == 0, "listen");
  check(getsockname(listener, (struct sockaddr *)&address, &length) == 0, "getsockname");
  server.open_connections = threads;
  pthread_t acceptor;
  check(pthread_create(&acceptor, NULL, accept_all, NULL) == 0, "pthread_create");
  for (int i = 0; i < threads; ++i)
    connections[i] = connect_to_server();
  run_threads(client);
  pthread_join(acceptor, NULL);
  pthread_mutex_lock(&server.lock);
  while (server.open_connections > 0)
    pthread_cond_wait(&server.connection_closed, &server.lock);
  pthread_mutex_unlock(&server.lock);
  printf("echo_server %ld: %ld requests\n", size, server.requests);
  return 0;
}
