// Every register is as it was after a check, a re-acquire and a slot, errno too, and with an update under way.
#include "loomed.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

LOOM_UNIT(0x1001, 2, 2, 1)

static _Atomic int stop;
static _Atomic long calls;

typedef struct {
    unsigned long general[14];
    unsigned char vectors[16][32];
    unsigned short control;
    unsigned modes;
} State;

// Calls a function with all registers set from `before`, and stores what they are afterwards. r11 may change.
void call_with_state(void *function, const State *before, State *after, void *argument, void *second);
__asm__(".globl call_with_state\n"
        "call_with_state:\n"
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "push %rdx\n"        // after
        "push %rdi\n"        // function
        "push %rcx; push %r8\n" // arguments: rdi and rsi get these
        "mov %rsi, %rax\n"
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "vmovdqu 112+32*\\i(%rax), %ymm\\i\n"
        ".endr\n"
        "mov 8(%rax), %rbx; mov 16(%rax), %rcx; mov 24(%rax), %rdx; mov 32(%rax), %rbp\n"
        "mov 40(%rax), %r8; mov 48(%rax), %r9; mov 56(%rax), %r10\n"
        "mov 72(%rax), %r12; mov 80(%rax), %r13; mov 88(%rax), %r14; mov 96(%rax), %r15\n"
        "mov 0(%rax), %rax\n"
        "pop %rsi; pop %rdi; pop %r11\n"
        "sub $8, %rsp\n"
        "call *%r11\n"
        "add $8, %rsp\n"
        "pop %r11\n"
        "mov %rax, 0(%r11); mov %rbx, 8(%r11); mov %rcx, 16(%r11); mov %rdx, 24(%r11); mov %rbp, 32(%r11)\n"
        "mov %r8, 40(%r11); mov %r9, 48(%r11); mov %r10, 56(%r11)\n"
        "mov %r12, 72(%r11); mov %r13, 80(%r11); mov %r14, 88(%r11); mov %r15, 96(%r11)\n"
        ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "vmovdqu %ymm\\i, 112+32*\\i(%r11)\n"
        ".endr\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "vzeroupper\n"
        "ret\n");

static void *body(void *argument) {
    State before, after;
    for (unsigned i = 0; i < sizeof before; i++) ((unsigned char *)&before)[i] = (unsigned char)(i * 37 + (long)argument);
    before.general[8] = before.general[13] = 0;
    while (!stop) {
        after = before;
        errno = 123;
        void *place = (void *)&loom_locations[0];
        if (loom_functions[0]) call_with_state(covsched_loom_check, &before, &after, place, 0);
        covsched_loom_at = (unsigned long)place;
        covsched_loom_at = 1;
        if (memcmp(&before, &after, sizeof before)) abort();
        call_with_state(covsched_loom_reacquire, &before, &after, place, 0);
        if (memcmp(&before, &after, sizeof before)) abort();
        if (loom_functions[0] & 1) call_with_state(covsched_loom_slot, &before, &after, loom_slots, 0);
        if (memcmp(&before, &after, sizeof before)) abort();
        if (errno != 123) abort();
        calls++;
    }
    return 0;
}

static void *thread(void *argument) {
    Outer outer;
    covsched_loom_enter(&outer);
    body(argument);
    covsched_loom_leave(&outer);
    return 0;
}

int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, thread, (void *)i);
    printf("ready %d\n", getpid());
    fflush(stdout);
    getchar();
    stop = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("%ld rounds\n", (long)calls);
    return 0;
}
