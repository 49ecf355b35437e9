// State of a thread that is never destroyed.
#pragma once

#include <atomic>

namespace hob::os {

namespace detail {

/// What a thread has, and gives back when it ends.
struct Lent {
  void (*give_back)(Lent& one) noexcept = nullptr;
  Lent* next_of_thread = nullptr;
};

/// Calls one.give_back when the calling thread ends, after its thread_local objects are destroyed.
/// Never where the thread ends by the end of the process, nor where the system gives no key.
void give_back_at_end(Lent& one) noexcept;

}  // namespace detail

/// One State for each thread and each type State. A thread_local object with a destructor is gone
/// while a program still calls MPI: in destructors of other thread_local objects and of static
/// ones, in exit handlers, and in destructors of pthread keys. This one is there whenever the
/// thread asks for it.
///
/// A State is made at a thread's first use. When the thread ends, the State is lent to the next
/// thread that needs one, as it is, after state.thread_ended() if there is such a function. If the
/// thread uses it once more after that, it borrows one again. States are never destroyed, so there
/// are as many as there were threads at once.
template <class State>
class PerThread {
 public:
  /// That of the calling thread. Throws std::bad_alloc at most while the thread has none.
  static State& here() {
    Record*& record = own();
    if (record == nullptr) [[unlikely]]
      record = &borrow();
    return record->state;
  }

  /// Calls act(State&) for that of each thread that has one, and of those that threads to come will
  /// use again. From any thread, while theirs go on.
  template <class Act>
  static void each(Act act) {
    for (Record* one = all().load(std::memory_order_acquire); one != nullptr; one = one->next)
      act(one->state);
  }

 private:
  struct Record : detail::Lent {
    State state;
    std::atomic<bool> taken{true};
    Record* next = nullptr;
  };

  /// Of the calling thread. Without a destructor, it is there as long as the thread.
  static Record*& own() {
    static constinit thread_local Record* record __attribute__((tls_model("initial-exec"))) =
        nullptr;
    return record;
  }

  static std::atomic<Record*>& all() {
    static constinit std::atomic<Record*> first{nullptr};
    return first;
  }

  static void give_back(detail::Lent& one) noexcept {
    auto& record = static_cast<Record&>(one);
    if constexpr (requires { record.state.thread_ended(); }) record.state.thread_ended();
    own() = nullptr;
    record.taken.store(false, std::memory_order_release);
  }

  static Record& free_or_new() {
    for (Record* one = all().load(std::memory_order_acquire); one != nullptr; one = one->next)
      if (!one->taken.exchange(true, std::memory_order_acquire)) return *one;
    auto* const made = new Record;
    made->give_back = give_back;
    made->next = all().load(std::memory_order_relaxed);
    while (!all().compare_exchange_weak(made->next, made, std::memory_order_release)) continue;
    return *made;
  }

  [[gnu::noinline, gnu::cold]] static Record& borrow() {
    Record& one = free_or_new();
    detail::give_back_at_end(one);
    return one;
  }
};

}  // namespace hob::os
