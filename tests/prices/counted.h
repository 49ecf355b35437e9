/* A library whose instructions are known, what it calls, and a program that calls it. */
#ifndef HOB_TESTS_PRICES_COUNTED_H
#define HOB_TESTS_PRICES_COUNTED_H

#include <stddef.h>

/* libcounted */
void counted_plain(void);             /* 2 + 2 * 100 instructions */
int counted_calls(int rounds);        /* 4, and the stand-in's */
int counted_ends_in_call(int rounds); /* 1, and the stand-in's */
int counted_called_back(int times);   /* 4, and back from the stand-in counted_plain() */
unsigned long counted_clock(void);    /* from one look at the clock to the next */
void counted_copies(void* to, const void* from, size_t bytes); /* 4, and libc's */
void counted_string(void* to, const void* from, size_t bytes); /* 3, however many bytes */

/* libmpi_stand_in */
int stand_in_work(int rounds);
int stand_in_calls_back(int times);

#endif
