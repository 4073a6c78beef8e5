// What the loom pass emits, by hand: see core/src/loom/abi.rs.
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <string.h>

typedef struct Outer {
    uintptr_t at;
    const struct Outer *next;
} Outer;

typedef struct {
    uint32_t version, size;
    uint64_t hash;
    volatile uint64_t *functions; // code looks at the first byte, or at all bits above the third
    volatile uint8_t *locations;
    uintptr_t *slots;
    uintptr_t *calls;
    const uint64_t *callees, *defined;
    uint32_t function_count, location_count, slot_count, slot_base, call_count, defined_count;
} Unit;

#ifdef __cplusplus
extern "C" {
#endif
extern __thread volatile uintptr_t covsched_loom_at __attribute__((tls_model("initial-exec")));
extern volatile uint8_t covsched_loom_pending;
void covsched_loom_register(const Unit *first, const Unit *after);
void covsched_loom_enter(Outer *outer);
void covsched_loom_handler_enter(Outer *outer);
void covsched_loom_leave(Outer *outer);
#ifdef __clang__
#define PRESERVE_ALL __attribute__((preserve_all))
#else
#define PRESERVE_ALL
#endif
PRESERVE_ALL void covsched_loom_check(volatile void *location);
PRESERVE_ALL void covsched_loom_reacquire(volatile void *location);
PRESERVE_ALL void covsched_loom_slot(uintptr_t *cell, const int64_t *frame);
extern const Unit __start_covsched_loom_units[] __attribute__((visibility("hidden")));
extern const Unit __stop_covsched_loom_units[] __attribute__((visibility("hidden")));
#ifdef __cplusplus
}
#endif

// The unit: so many functions, locations besides slots, slots.
#define LOOM_UNIT(HASH, FUNCTIONS, LOCATIONS, SLOTS)                                                                   \
    static volatile uint64_t loom_functions[FUNCTIONS];                                                                \
    static volatile uint8_t loom_locations[(LOCATIONS) + (SLOTS)];                                                     \
    static uintptr_t loom_slots[SLOTS];                                                                                \
    __attribute__((section("covsched_loom_units"), used)) const Unit loom_unit = {                                     \
        2,          sizeof(Unit), HASH, loom_functions, loom_locations,         loom_slots, 0, 0, 0,                   \
        FUNCTIONS, (LOCATIONS) + (SLOTS), SLOTS, LOCATIONS, 0, 0};                                                     \
    __attribute__((constructor)) static void loom_constructor(void) {                                                  \
        covsched_loom_register(__start_covsched_loom_units, __stop_covsched_loom_units);                               \
    }

// A back edge or the entry of a function that is a place to pause, in the fast copy and in the slow one.
#define CHECK_FAST(F, L)                                                                                               \
    do {                                                                                                               \
        if (__builtin_expect(loom_functions[F] >> 3, 0)) covsched_loom_check(&loom_locations[L]);                      \
    } while (0)
#define CHECK_SLOW(F, L)                                                                                               \
    do {                                                                                                               \
        if (__builtin_expect((uint8_t)loom_functions[F] != 1, 0)) covsched_loom_check(&loom_locations[L]);             \
    } while (0)
#define IS_SLOW(F) __builtin_expect(loom_functions[F] & 1, 0)
#define SLOT(S, FRAME) covsched_loom_slot(&loom_slots[S], FRAME)
// Around a call that may block.
#define RELEASE(L) (covsched_loom_at = (uintptr_t)&loom_locations[L])
#define REACQUIRE(L)                                                                                                   \
    do {                                                                                                               \
        covsched_loom_at = 1;                                                                                          \
        if (__builtin_expect(covsched_loom_pending != 0, 0)) covsched_loom_reacquire(&loom_locations[L]);              \
    } while (0)
#define IS_OUTSIDE (covsched_loom_at != 1)
