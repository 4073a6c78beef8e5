#pragma once
// What both units have their own copy of.

extern int inside_both, inside_each[4];
void other_unit(long round);
void count_failure();
void take_time();

inline __attribute__((noinline)) void in_both(int id) {
  if (__atomic_fetch_add(&inside_each[id], 1, __ATOMIC_SEQ_CST))
    count_failure();
  take_time();
  __atomic_fetch_sub(&inside_each[id], 1, __ATOMIC_SEQ_CST);
}

inline void inlined_in_both(long round) {
  if (__atomic_fetch_add(&inside_both, 1, __ATOMIC_SEQ_CST))
    count_failure();
  take_time();
  __atomic_fetch_sub(&inside_both, (int)(round != 0), __ATOMIC_SEQ_CST);
}
