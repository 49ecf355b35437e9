#include "validation/children.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>

namespace hob::validation {
namespace {

/// This process has made a child. Global, since a handler of fork() sets it.
std::atomic<bool> forked{false};

/// Changes with each child that was waited for.
long ended_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

bool a_child_is_there() {
  siginfo_t about{};
  return ::waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

}  // namespace

bool children_may_store() {
  static const long before = [] {
    // Seen even where children are not waited for (SIGCHLD is ignored).
    ::pthread_atfork(
        nullptr, [] { forked.store(true, std::memory_order_relaxed); }, nullptr);
    return ended_children();
  }();
  return forked.load(std::memory_order_relaxed) || a_child_is_there() || ended_children() != before;
}

}  // namespace hob::validation
