int part(void);
int plain(void);

int main(void) { return part() + plain(); }
