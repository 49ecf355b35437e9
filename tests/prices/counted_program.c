/* Calls each function of libcounted between marks, and a few times at full speed. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prices/counted.h"
#include "prices/marker.h"

static volatile int alarms;
static void on_alarm(int signal) {
  (void)signal;
  ++alarms;
}

#define COUNT(name, ...)                                               \
  for (int i = 0; i < 3; ++i) {                                        \
    mark(i < 2 ? HOB_COUNT_BEGIN : HOB_COUNT_BEGIN_LIBRARY_TOO, name); \
    __VA_ARGS__;                                                       \
    mark(HOB_COUNT_END, name);                                         \
  }

int main(int argc, char** argv) {
  static char from[4096], to[4096];
  unsigned long at_full_speed, when_stepped = 0;
  signal(SIGALRM, on_alarm);
  COUNT("plain", counted_plain());
  COUNT("twice", counted_plain(), counted_plain());
  COUNT("calls", counted_calls(100));
  COUNT("ends in call", counted_ends_in_call(100));
  COUNT("called back", counted_called_back(3));
  COUNT("copies", counted_copies(to, from, sizeof to));
  COUNT("string", counted_string(to, from, 64));
  COUNT("signal", counted_calls(10), raise(SIGALRM));
  use_clock_of_counter(1);
  at_full_speed = counted_clock();
  COUNT("clock", when_stepped = counted_clock());
  use_clock_of_counter(0);
  printf("%s clock, %d alarms\n", at_full_speed == when_stepped ? "one" : "another", alarms);
  return argc > 1 && strcmp(argv[1], "fails") == 0;
}
