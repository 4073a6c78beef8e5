// Around a library call that may block its thread leaves the epoch. Calls that cannot block, and what the runtime sees
// itself, are left alone; so are all after a second run.
// RUN: %clang -g -O0 -S -emit-llvm %s -o %t.ll
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers' -S < %t.ll -o %t.open.ll && %FileCheck %s < %t.open.ll
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,epoch-markers' -S < %t.ll | diff %t.open.ll -
// RUN: %opt -load-pass-plugin=%plugin -passes='epoch-markers,covsched-instrument<no-bitcode>,epoch-markers,covsched-lower,epoch-markers' -S < %t.ll | grep -c 'call i32 @covsched_epoch_leave' | grep -x 8
// RUN: grep 'call.*@covsched_epoch_' %t.open.ll | %not grep -v '!dbg'
// RUN: %opt -load-pass-plugin=%plugin -verify-each -passes='epoch-markers<whole-program>' -S %t.ll | %FileCheck %s --check-prefix=WHOLE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
void in_a_library(void);
extern pthread_mutex_t m;

// CHECK-LABEL: define{{.*}} @reads(
// CHECK: %[[LEFT:.*]] = call i32 @covsched_epoch_leave()
// CHECK-NEXT: %[[READ:.*]] = call i64 @read(
// CHECK-NEXT: call void @covsched_epoch_enter(i32 %[[LEFT]])
// CHECK: ret i64
long reads(int fd, char *to) { return read(fd, to, 1); }

// CHECK-LABEL: define{{.*}} @waits(
// CHECK: call i32 @covsched_epoch_leave()
// CHECK-NEXT: call i32 @poll(
// CHECK-NEXT: call void @covsched_epoch_enter(
// CHECK: call i32 @covsched_epoch_leave()
// CHECK-NEXT: call i32 @usleep(
// CHECK-NEXT: call void @covsched_epoch_enter(
// CHECK: call i32 @covsched_epoch_leave()
// CHECK-NEXT: call i32 (ptr, ...) @printf(
// CHECK-NEXT: call void @covsched_epoch_enter(
void waits(struct pollfd *p) {
  poll(p, 1, -1);
  usleep(10);
  printf("%d\n", p->fd);
}

// The marker of the loop stands before it all.
// CHECK-LABEL: define{{.*}} @in_a_loop(
// CHECK: call void @covsched_epoch_marker(
// CHECK: call i32 @covsched_epoch_leave()
// CHECK-NEXT: call i64 @write(
// CHECK-NEXT: call void @covsched_epoch_enter(
void in_a_loop(int fd, int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&m);
    write(fd, "x", 1);
    pthread_mutex_unlock(&m);
  }
}

// CHECK-LABEL: define{{.*}} @leaves_alone(
// CHECK-NOT: covsched
// CHECK: ret void
// WHOLE-LABEL: define{{.*}} @leaves_alone(
// WHOLE-NOT: covsched
// WHOLE: ret void
void leaves_alone(char *to, const char *from) {
  strcpy(to, from);
  sprintf(to, "%s", from);
  pthread_mutex_lock(&m);
}

// Nobody knows what a library does.
// CHECK-LABEL: define{{.*}} @calls_a_library(
// CHECK-NOT: covsched
// CHECK: ret void
// WHOLE-LABEL: define{{.*}} @calls_a_library(
// WHOLE: %[[LEFT:.*]] = call i32 @covsched_epoch_leave()
// WHOLE-NEXT: call void @in_a_library()
// WHOLE-NEXT: call void @covsched_epoch_enter(i32 %[[LEFT]])
void calls_a_library(void) { in_a_library(); }

void several(int fd) {
  puts("a");
  fsync(fd);
  sleep(1);
}
