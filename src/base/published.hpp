// A small value that is written under a lock and read without it.
#pragma once

#include <atomic>

namespace hob {

/// What one thread at a time writes, since it holds a lock, and others read at any time. They see
/// the last value or an older one, and learn nothing else from it. Costs what a plain one does.
template <class T>
class Published {
 public:
  constexpr Published() = default;
  explicit constexpr Published(T value) : value_(value) {}

  T get() const { return value_.load(std::memory_order_relaxed); }
  void set(T value) { value_.store(value, std::memory_order_relaxed); }

  /// Whoever holds the lock.
  void add(T more) { set(static_cast<T>(get() + more)); }

 private:
  std::atomic<T> value_{};
};

}  // namespace hob
