; Every call of the hook table becomes a call of its hook, with its arguments and a site; libstdc++'s functions
; also pass their own address. A unit test of the plugin checks that no row is missing here.
; RUN: %opt -load-pass-plugin=%plugin -passes='covsched-instrument<no-bitcode>,verify' -S %s | %FileCheck %s
target triple = "x86_64-pc-linux-gnu"

; CHECK-LABEL: define void @calls_pthread_create(
; CHECK-NEXT: %r = call i32 @covsched_pthread_create(ptr %p, ptr %p, ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE:[0-9]+]]
define void @calls_pthread_create(ptr %p, i64 %t) {
  %r = call i32 @pthread_create(ptr %p, ptr %p, ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_join(
; CHECK-NEXT: %r = call i32 @covsched_pthread_join(i64 %t, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_join(ptr %p, i64 %t) {
  %r = call i32 @pthread_join(i64 %t, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_tryjoin_np(
; CHECK-NEXT: %r = call i32 @covsched_pthread_tryjoin_np(i64 %t, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_tryjoin_np(ptr %p, i64 %t) {
  %r = call i32 @pthread_tryjoin_np(i64 %t, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_timedjoin_np(
; CHECK-NEXT: %r = call i32 @covsched_pthread_timedjoin_np(i64 %t, ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_timedjoin_np(ptr %p, i64 %t) {
  %r = call i32 @pthread_timedjoin_np(i64 %t, ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_clockjoin_np(
; CHECK-NEXT: %r = call i32 @covsched_pthread_clockjoin_np(i64 %t, ptr %p, i32 5, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_clockjoin_np(ptr %p, i64 %t) {
  %r = call i32 @pthread_clockjoin_np(i64 %t, ptr %p, i32 5, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_detach(
; CHECK-NEXT: %r = call i32 @covsched_pthread_detach(i64 %t, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_detach(ptr %p, i64 %t) {
  %r = call i32 @pthread_detach(i64 %t)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_kill(
; CHECK-NEXT: %r = call i32 @covsched_pthread_kill(i64 %t, i32 4, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_kill(ptr %p, i64 %t) {
  %r = call i32 @pthread_kill(i64 %t, i32 4)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_cancel(
; CHECK-NEXT: %r = call i32 @covsched_pthread_cancel(i64 %t, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_cancel(ptr %p, i64 %t) {
  %r = call i32 @pthread_cancel(i64 %t)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_exit(
; CHECK-NEXT: call void @covsched_pthread_exit(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_exit(ptr %p, i64 %t) {
  call void @pthread_exit(ptr %p)
  unreachable
}

; CHECK-LABEL: define void @calls_pthread_mutex_init(
; CHECK-NEXT: %r = call i32 @covsched_pthread_mutex_init(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_mutex_init(ptr %p, i64 %t) {
  %r = call i32 @pthread_mutex_init(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_mutex_destroy(
; CHECK-NEXT: %r = call i32 @covsched_pthread_mutex_destroy(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_mutex_destroy(ptr %p, i64 %t) {
  %r = call i32 @pthread_mutex_destroy(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_mutex_lock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_mutex_lock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_mutex_lock(ptr %p, i64 %t) {
  %r = call i32 @pthread_mutex_lock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_mutex_trylock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_mutex_trylock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_mutex_trylock(ptr %p, i64 %t) {
  %r = call i32 @pthread_mutex_trylock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_mutex_timedlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_mutex_timedlock(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_mutex_timedlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_mutex_timedlock(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_mutex_clocklock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_mutex_clocklock(ptr %p, i32 4, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_mutex_clocklock(ptr %p, i64 %t) {
  %r = call i32 @pthread_mutex_clocklock(ptr %p, i32 4, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_mutex_unlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_mutex_unlock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_mutex_unlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_mutex_unlock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_cond_init(
; CHECK-NEXT: %r = call i32 @covsched_pthread_cond_init(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_cond_init(ptr %p, i64 %t) {
  %r = call i32 @pthread_cond_init(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_cond_destroy(
; CHECK-NEXT: %r = call i32 @covsched_pthread_cond_destroy(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_cond_destroy(ptr %p, i64 %t) {
  %r = call i32 @pthread_cond_destroy(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_cond_wait(
; CHECK-NEXT: %r = call i32 @covsched_pthread_cond_wait(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_cond_wait(ptr %p, i64 %t) {
  %r = call i32 @pthread_cond_wait(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_cond_timedwait(
; CHECK-NEXT: %r = call i32 @covsched_pthread_cond_timedwait(ptr %p, ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_cond_timedwait(ptr %p, i64 %t) {
  %r = call i32 @pthread_cond_timedwait(ptr %p, ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_cond_clockwait(
; CHECK-NEXT: %r = call i32 @covsched_pthread_cond_clockwait(ptr %p, ptr %p, i32 5, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_cond_clockwait(ptr %p, i64 %t) {
  %r = call i32 @pthread_cond_clockwait(ptr %p, ptr %p, i32 5, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_cond_signal(
; CHECK-NEXT: %r = call i32 @covsched_pthread_cond_signal(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_cond_signal(ptr %p, i64 %t) {
  %r = call i32 @pthread_cond_signal(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_cond_broadcast(
; CHECK-NEXT: %r = call i32 @covsched_pthread_cond_broadcast(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_cond_broadcast(ptr %p, i64 %t) {
  %r = call i32 @pthread_cond_broadcast(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_barrier_init(
; CHECK-NEXT: %r = call i32 @covsched_pthread_barrier_init(ptr %p, ptr %p, i32 5, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_barrier_init(ptr %p, i64 %t) {
  %r = call i32 @pthread_barrier_init(ptr %p, ptr %p, i32 5)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_barrier_destroy(
; CHECK-NEXT: %r = call i32 @covsched_pthread_barrier_destroy(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_barrier_destroy(ptr %p, i64 %t) {
  %r = call i32 @pthread_barrier_destroy(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_barrier_wait(
; CHECK-NEXT: %r = call i32 @covsched_pthread_barrier_wait(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_barrier_wait(ptr %p, i64 %t) {
  %r = call i32 @pthread_barrier_wait(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_init(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_init(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_init(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_init(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_destroy(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_destroy(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_destroy(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_destroy(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_rdlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_rdlock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_rdlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_rdlock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_tryrdlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_tryrdlock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_tryrdlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_tryrdlock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_timedrdlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_timedrdlock(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_timedrdlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_timedrdlock(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_clockrdlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_clockrdlock(ptr %p, i32 4, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_clockrdlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_clockrdlock(ptr %p, i32 4, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_wrlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_wrlock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_wrlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_wrlock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_trywrlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_trywrlock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_trywrlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_trywrlock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_timedwrlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_timedwrlock(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_timedwrlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_timedwrlock(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_clockwrlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_clockwrlock(ptr %p, i32 4, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_clockwrlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_clockwrlock(ptr %p, i32 4, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_rwlock_unlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_rwlock_unlock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_rwlock_unlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_rwlock_unlock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_spin_init(
; CHECK-NEXT: %r = call i32 @covsched_pthread_spin_init(ptr %p, i32 4, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_spin_init(ptr %p, i64 %t) {
  %r = call i32 @pthread_spin_init(ptr %p, i32 4)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_spin_destroy(
; CHECK-NEXT: %r = call i32 @covsched_pthread_spin_destroy(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_spin_destroy(ptr %p, i64 %t) {
  %r = call i32 @pthread_spin_destroy(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_spin_lock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_spin_lock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_spin_lock(ptr %p, i64 %t) {
  %r = call i32 @pthread_spin_lock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_spin_trylock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_spin_trylock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_spin_trylock(ptr %p, i64 %t) {
  %r = call i32 @pthread_spin_trylock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_spin_unlock(
; CHECK-NEXT: %r = call i32 @covsched_pthread_spin_unlock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_spin_unlock(ptr %p, i64 %t) {
  %r = call i32 @pthread_spin_unlock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_sem_init(
; CHECK-NEXT: %r = call i32 @covsched_sem_init(ptr %p, i32 4, i32 5, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_init(ptr %p, i64 %t) {
  %r = call i32 @sem_init(ptr %p, i32 4, i32 5)
  ret void
}

; CHECK-LABEL: define void @calls_sem_destroy(
; CHECK-NEXT: %r = call i32 @covsched_sem_destroy(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_destroy(ptr %p, i64 %t) {
  %r = call i32 @sem_destroy(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_sem_open(
; CHECK-NEXT: call ptr @covsched_sem_open(ptr %p, i32 0, i32 0, i32 0, i64 {{-?[0-9]+}}) #[[NOMERGE]]
; CHECK-NEXT: call ptr @covsched_sem_open(ptr %p, i32 64, i32 384, i32 2, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_open(ptr %p, i64 %t) {
  %r = call ptr (ptr, i32, ...) @sem_open(ptr %p, i32 0)
  %s = call ptr (ptr, i32, ...) @sem_open(ptr %p, i32 64, i32 384, i32 2)
  ret void
}

; CHECK-LABEL: define void @calls_sem_close(
; CHECK-NEXT: %r = call i32 @covsched_sem_close(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_close(ptr %p, i64 %t) {
  %r = call i32 @sem_close(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_sem_wait(
; CHECK-NEXT: %r = call i32 @covsched_sem_wait(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_wait(ptr %p, i64 %t) {
  %r = call i32 @sem_wait(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_sem_trywait(
; CHECK-NEXT: %r = call i32 @covsched_sem_trywait(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_trywait(ptr %p, i64 %t) {
  %r = call i32 @sem_trywait(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_sem_timedwait(
; CHECK-NEXT: %r = call i32 @covsched_sem_timedwait(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_timedwait(ptr %p, i64 %t) {
  %r = call i32 @sem_timedwait(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_sem_clockwait(
; CHECK-NEXT: %r = call i32 @covsched_sem_clockwait(ptr %p, i32 4, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_clockwait(ptr %p, i64 %t) {
  %r = call i32 @sem_clockwait(ptr %p, i32 4, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_sem_post(
; CHECK-NEXT: %r = call i32 @covsched_sem_post(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_post(ptr %p, i64 %t) {
  %r = call i32 @sem_post(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_sem_getvalue(
; CHECK-NEXT: %r = call i32 @covsched_sem_getvalue(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_sem_getvalue(ptr %p, i64 %t) {
  %r = call i32 @sem_getvalue(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_pthread_once(
; CHECK-NEXT: %r = call i32 @covsched_pthread_once(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_pthread_once(ptr %p, i64 %t) {
  %r = call i32 @pthread_once(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_thrd_create(
; CHECK-NEXT: %r = call i32 @covsched_thrd_create(ptr %p, ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_thrd_create(ptr %p, i64 %t) {
  %r = call i32 @thrd_create(ptr %p, ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_thrd_join(
; CHECK-NEXT: %r = call i32 @covsched_thrd_join(i64 %t, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_thrd_join(ptr %p, i64 %t) {
  %r = call i32 @thrd_join(i64 %t, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_thrd_detach(
; CHECK-NEXT: %r = call i32 @covsched_thrd_detach(i64 %t, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_thrd_detach(ptr %p, i64 %t) {
  %r = call i32 @thrd_detach(i64 %t)
  ret void
}

; CHECK-LABEL: define void @calls_thrd_exit(
; CHECK-NEXT: call void @covsched_thrd_exit(i32 3, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_thrd_exit(ptr %p, i64 %t) {
  call void @thrd_exit(i32 3)
  unreachable
}

; CHECK-LABEL: define void @calls_mtx_init(
; CHECK-NEXT: %r = call i32 @covsched_mtx_init(ptr %p, i32 4, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_mtx_init(ptr %p, i64 %t) {
  %r = call i32 @mtx_init(ptr %p, i32 4)
  ret void
}

; CHECK-LABEL: define void @calls_mtx_destroy(
; CHECK-NEXT: call void @covsched_mtx_destroy(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_mtx_destroy(ptr %p, i64 %t) {
  call void @mtx_destroy(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_mtx_lock(
; CHECK-NEXT: %r = call i32 @covsched_mtx_lock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_mtx_lock(ptr %p, i64 %t) {
  %r = call i32 @mtx_lock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_mtx_trylock(
; CHECK-NEXT: %r = call i32 @covsched_mtx_trylock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_mtx_trylock(ptr %p, i64 %t) {
  %r = call i32 @mtx_trylock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_mtx_timedlock(
; CHECK-NEXT: %r = call i32 @covsched_mtx_timedlock(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_mtx_timedlock(ptr %p, i64 %t) {
  %r = call i32 @mtx_timedlock(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_mtx_unlock(
; CHECK-NEXT: %r = call i32 @covsched_mtx_unlock(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_mtx_unlock(ptr %p, i64 %t) {
  %r = call i32 @mtx_unlock(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_cnd_init(
; CHECK-NEXT: %r = call i32 @covsched_cnd_init(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_cnd_init(ptr %p, i64 %t) {
  %r = call i32 @cnd_init(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_cnd_destroy(
; CHECK-NEXT: call void @covsched_cnd_destroy(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_cnd_destroy(ptr %p, i64 %t) {
  call void @cnd_destroy(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_cnd_wait(
; CHECK-NEXT: %r = call i32 @covsched_cnd_wait(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_cnd_wait(ptr %p, i64 %t) {
  %r = call i32 @cnd_wait(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_cnd_timedwait(
; CHECK-NEXT: %r = call i32 @covsched_cnd_timedwait(ptr %p, ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_cnd_timedwait(ptr %p, i64 %t) {
  %r = call i32 @cnd_timedwait(ptr %p, ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_cnd_signal(
; CHECK-NEXT: %r = call i32 @covsched_cnd_signal(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_cnd_signal(ptr %p, i64 %t) {
  %r = call i32 @cnd_signal(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_cnd_broadcast(
; CHECK-NEXT: %r = call i32 @covsched_cnd_broadcast(ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_cnd_broadcast(ptr %p, i64 %t) {
  %r = call i32 @cnd_broadcast(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_call_once(
; CHECK-NEXT: call void @covsched_call_once(ptr %p, ptr %p, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_call_once(ptr %p, i64 %t) {
  call void @call_once(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_exit(
; CHECK-NEXT: call void @covsched_exit(i32 3, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_exit(ptr %p, i64 %t) {
  call void @exit(i32 3)
  unreachable
}

; CHECK-LABEL: define void @calls__exit(
; CHECK-NEXT: call void @covsched__exit(i32 3, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls__exit(ptr %p, i64 %t) {
  call void @_exit(i32 3)
  unreachable
}

; CHECK-LABEL: define void @calls__Exit(
; CHECK-NEXT: call void @covsched__Exit(i32 3, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls__Exit(ptr %p, i64 %t) {
  call void @_Exit(i32 3)
  unreachable
}

; CHECK-LABEL: define void @calls_quick_exit(
; CHECK-NEXT: call void @covsched_quick_exit(i32 3, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_quick_exit(ptr %p, i64 %t) {
  call void @quick_exit(i32 3)
  unreachable
}

; CHECK-LABEL: define void @calls_std_thread_start(
; CHECK-NEXT: call void @covsched_std_thread_start(ptr %p, ptr %p, ptr %p, ptr @_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_std_thread_start(ptr %p) {
  call void @_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(ptr %p, ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_std_thread_join(
; CHECK-NEXT: call void @covsched_std_thread_join(ptr %p, ptr @_ZNSt6thread4joinEv, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_std_thread_join(ptr %p) {
  call void @_ZNSt6thread4joinEv(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_std_thread_detach(
; CHECK-NEXT: call void @covsched_std_thread_detach(ptr %p, ptr @_ZNSt6thread6detachEv, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_std_thread_detach(ptr %p) {
  call void @_ZNSt6thread6detachEv(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_std_cond_construct(
; CHECK-NEXT: call void @covsched_std_cond_construct(ptr %p, ptr @_ZNSt18condition_variableC1Ev, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_std_cond_construct(ptr %p) {
  call void @_ZNSt18condition_variableC1Ev(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_std_cond_destruct(
; CHECK-NEXT: call void @covsched_std_cond_destruct(ptr %p, ptr @_ZNSt18condition_variableD1Ev, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_std_cond_destruct(ptr %p) {
  call void @_ZNSt18condition_variableD1Ev(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_std_cond_wait(
; CHECK-NEXT: call void @covsched_std_cond_wait(ptr %p, ptr %p, ptr @_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_std_cond_wait(ptr %p) {
  call void @_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(ptr %p, ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_std_cond_notify_one(
; CHECK-NEXT: call void @covsched_std_cond_notify_one(ptr %p, ptr @_ZNSt18condition_variable10notify_oneEv, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_std_cond_notify_one(ptr %p) {
  call void @_ZNSt18condition_variable10notify_oneEv(ptr %p)
  ret void
}

; CHECK-LABEL: define void @calls_std_cond_notify_all(
; CHECK-NEXT: call void @covsched_std_cond_notify_all(ptr %p, ptr @_ZNSt18condition_variable10notify_allEv, i64 {{-?[0-9]+}}) #[[NOMERGE]]
define void @calls_std_cond_notify_all(ptr %p) {
  call void @_ZNSt18condition_variable10notify_allEv(ptr %p)
  ret void
}

; CHECK: attributes #[[NOMERGE]] = { nomerge }

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_tryjoin_np(i64, ptr)
declare i32 @pthread_timedjoin_np(i64, ptr, ptr)
declare i32 @pthread_clockjoin_np(i64, ptr, i32, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_kill(i64, i32)
declare i32 @pthread_cancel(i64)
declare void @pthread_exit(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_destroy(ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_trylock(ptr)
declare i32 @pthread_mutex_timedlock(ptr, ptr)
declare i32 @pthread_mutex_clocklock(ptr, i32, ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_destroy(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_clockwait(ptr, ptr, i32, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_barrier_init(ptr, ptr, i32)
declare i32 @pthread_barrier_destroy(ptr)
declare i32 @pthread_barrier_wait(ptr)
declare i32 @pthread_rwlock_init(ptr, ptr)
declare i32 @pthread_rwlock_destroy(ptr)
declare i32 @pthread_rwlock_rdlock(ptr)
declare i32 @pthread_rwlock_tryrdlock(ptr)
declare i32 @pthread_rwlock_timedrdlock(ptr, ptr)
declare i32 @pthread_rwlock_clockrdlock(ptr, i32, ptr)
declare i32 @pthread_rwlock_wrlock(ptr)
declare i32 @pthread_rwlock_trywrlock(ptr)
declare i32 @pthread_rwlock_timedwrlock(ptr, ptr)
declare i32 @pthread_rwlock_clockwrlock(ptr, i32, ptr)
declare i32 @pthread_rwlock_unlock(ptr)
declare i32 @pthread_spin_init(ptr, i32)
declare i32 @pthread_spin_destroy(ptr)
declare i32 @pthread_spin_lock(ptr)
declare i32 @pthread_spin_trylock(ptr)
declare i32 @pthread_spin_unlock(ptr)
declare i32 @sem_init(ptr, i32, i32)
declare i32 @sem_destroy(ptr)
declare ptr @sem_open(ptr, i32, ...)
declare i32 @sem_close(ptr)
declare i32 @sem_wait(ptr)
declare i32 @sem_trywait(ptr)
declare i32 @sem_timedwait(ptr, ptr)
declare i32 @sem_clockwait(ptr, i32, ptr)
declare i32 @sem_post(ptr)
declare i32 @sem_getvalue(ptr, ptr)
declare i32 @pthread_once(ptr, ptr)
declare i32 @thrd_create(ptr, ptr, ptr)
declare i32 @thrd_join(i64, ptr)
declare i32 @thrd_detach(i64)
declare void @thrd_exit(i32)
declare i32 @mtx_init(ptr, i32)
declare void @mtx_destroy(ptr)
declare i32 @mtx_lock(ptr)
declare i32 @mtx_trylock(ptr)
declare i32 @mtx_timedlock(ptr, ptr)
declare i32 @mtx_unlock(ptr)
declare i32 @cnd_init(ptr)
declare void @cnd_destroy(ptr)
declare i32 @cnd_wait(ptr, ptr)
declare i32 @cnd_timedwait(ptr, ptr, ptr)
declare i32 @cnd_signal(ptr)
declare i32 @cnd_broadcast(ptr)
declare void @call_once(ptr, ptr)
declare void @exit(i32)
declare void @_exit(i32)
declare void @_Exit(i32)
declare void @quick_exit(i32)
declare void @_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(ptr, ptr, ptr)
declare void @_ZNSt6thread4joinEv(ptr)
declare void @_ZNSt6thread6detachEv(ptr)
declare void @_ZNSt18condition_variableC1Ev(ptr)
declare void @_ZNSt18condition_variableD1Ev(ptr)
declare void @_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(ptr, ptr)
declare void @_ZNSt18condition_variable10notify_oneEv(ptr)
declare void @_ZNSt18condition_variable10notify_allEv(ptr)
