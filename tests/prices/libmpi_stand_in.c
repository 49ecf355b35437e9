/* Stands for an MPI library: what is counted calls it, and it calls back. */
#include "prices/counted.h"

int stand_in_work(int rounds) {
  volatile int done = 0;
  for (int i = 0; i < rounds; ++i) done += i;
  return done;
}

int stand_in_calls_back(int times) {
  for (int i = 0; i < times; ++i) counted_plain();
  return stand_in_work(times);
}
