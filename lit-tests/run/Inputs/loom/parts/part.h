// What two threads must not do to one record at a time: write both numbers. Gives whether somebody else did meanwhile.
struct record {
  volatile long first, second;
};
int part_step(struct record *record, long value, void (*pause)(void));
