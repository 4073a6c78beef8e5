// In both units; the linker keeps the code of one.
void by_name(int depth);

__attribute__((noinline)) inline void in_both(int depth) {
  if (depth > 0)
    in_both(depth - 1);
  else
    by_name(0);
}
