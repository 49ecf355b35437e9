// What is under way: the handles of requests that a helper may advance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hob::overlap {

/// A set of handles, each any number but 0. Constant time; allocates only while it grows. Used by
/// the program's threads, one at a time. May throw std::bad_alloc in add().
class Outstanding {
 public:
  /// `forbids`: only the program may advance anything while this one is under way. A handle
  /// that is there already (its end was not seen, or is being reported) is replaced.
  void add(std::uintptr_t handle, bool forbids = false);

  /// Returns whether it was there.
  bool remove(std::uintptr_t handle);

  bool contains(std::uintptr_t handle) const;

  /// Which of all those that had this handle is there: another number for each add(). 0: none.
  std::uint64_t serial(std::uintptr_t handle) const;

  /// Whether it is there and forbids help.
  bool forbids(std::uintptr_t handle) const;

  /// Whether all of them are complete, as `is_complete(handle)` says. One that was complete is not
  /// asked for again; it stops at the first one that is not, and goes on there the next time.
  template <class IsComplete>
  bool all_complete(IsComplete is_complete) {
    while (open_ != 0) {
      Slot& slot = slots_[cursor_ & (slots_.size() - 1)];
      if (slot.handle != 0 && !slot.complete) {
        if (!is_complete(slot.handle)) return false;
        slot.complete = true;
        --open_;
      }
      ++cursor_;
    }
    return true;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Whether any of them forbids help.
  bool forbidding() const { return forbidding_ != 0; }

 private:
  struct Slot {
    std::uintptr_t handle = 0;  // 0: empty
    std::uint64_t serial = 0;
    bool forbids = false;
    bool complete = false;
  };

  std::size_t home(std::uintptr_t handle) const;
  std::size_t find(std::uintptr_t handle) const;  // its slot, or the empty one that ends its search
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t size_ = 0;
  std::size_t forbidding_ = 0;
  std::size_t open_ = 0;    // not known to be complete
  std::size_t cursor_ = 0;  // of all_complete(), modulo the slots
  std::uint64_t added_ = 0;
};

}  // namespace hob::overlap
