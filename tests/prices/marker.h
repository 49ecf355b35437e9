/* How a program tells step_counter what to count. */
#ifndef HOB_TESTS_PRICES_MARKER_H
#define HOB_TESTS_PRICES_MARKER_H

#include <stdlib.h>
#include <sys/prctl.h>

/* What a mark has in rax, beside its command in rdi and the name of what is counted in rsi. */
#define HOB_MARK 0x686f622d6d61726bL

enum { HOB_COUNT_END, HOB_COUNT_BEGIN, HOB_COUNT_BEGIN_LIBRARY_TOO };

/* The counter sets this variable for what it runs; without it, nobody is there who takes traps. */
static inline int is_counted(void) {
  static int counted = -1;
  if (counted < 0) counted = getenv("PRICES_COUNTED") != NULL;
  return counted;
}

static inline void mark(long command, const char* name) {
  if (!is_counted()) return;
#if defined(__x86_64__)
  __asm__ volatile("int3" : : "a"(HOB_MARK), "D"(command), "S"(name) : "memory");
#else
  (void)command, (void)name;
#endif
}

/* From now on, the clock is the processor's or the counter's. Reading the counter's takes some 10
 * us. */
static inline void use_clock_of_counter(int counters) {
  if (is_counted()) prctl(PR_SET_TSC, counters ? PR_TSC_SIGSEGV : PR_TSC_ENABLE);
}

#endif
