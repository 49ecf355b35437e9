#include "os/thread_state.hpp"

#include <pthread.h>

namespace hob::os::detail {
namespace {

void end_of_thread(void* first) {
  for (auto* one = static_cast<Lent*>(first); one != nullptr;) {
    Lent* const next = one->next_of_thread;
    one->give_back(*one);
    one = next;
  }
}

/// The values of keys are given back after thread_local objects, and in further rounds if they are
/// set again meanwhile.
struct Key {
  pthread_key_t number{};
  bool made = ::pthread_key_create(&number, end_of_thread) == 0;
};

}  // namespace

void give_back_at_end(Lent& one) noexcept {
  static const Key key;
  if (!key.made) return;
  one.next_of_thread = static_cast<Lent*>(::pthread_getspecific(key.number));
  ::pthread_setspecific(key.number, &one);
}

}  // namespace hob::os::detail
