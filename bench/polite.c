/* For jobs with more ranks than cores: a process that polls its sockets and finds nothing gives its
   core away. Without it each operation between such ranks takes a slice of the scheduler
   (milliseconds), since the MPI library's own waiting does not yield in one-sided calls. Preloaded
   in front of the programs of `hob bench` and `hob demo`, with and without Hob alike. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <sys/epoll.h>

int epoll_wait(int epfd, struct epoll_event* events, int maxevents, int timeout) {
  static int (*real)(int, struct epoll_event*, int, int);
  if (!real) real = (int (*)(int, struct epoll_event*, int, int))dlsym(RTLD_NEXT, "epoll_wait");
  const int found = real(epfd, events, maxevents, timeout);
  if (found == 0 && timeout == 0) sched_yield();
  return found;
}
