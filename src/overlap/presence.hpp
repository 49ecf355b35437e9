// Who may be inside a library that serves one thread at a time: the program, or one helper thread
// that enters only while the program is outside. An asymmetric form of Dekker's algorithm: the
// program stores and loads without a fence, and the helper pays for both.
#pragma once

#include <atomic>
#include <cstdint>

namespace hob::overlap {

/// The program's threads call enter() and leave(): one at a time on the one slot that is there, as
/// it must be for their calls of the library, or any number of them, each on a slot of its own from
/// take_slot(). One helper thread calls try_claim() and release().
class Presence {
 public:
  /// One writes it, and only the helper reads it: a line of its own.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> visits{0};  ///< odd: inside
    std::atomic<bool> taken{false};
    Slot* next = nullptr;
  };

  /// `asymmetric`: the helper's fence counts for both sides; needs prepare_asymmetric().
  constexpr explicit Presence(bool asymmetric = false) : asymmetric_(asymmetric) {}

  /// Before any thread uses it.
  void set_asymmetric(bool on) { asymmetric_ = on; }

  /// For one more thread of the program's, from that thread; the slot of one that gave it back is
  /// used again. Never null; without memory the process ends (std::terminate), since a thread that
  /// is not known of must not go on.
  Slot* take_slot() noexcept;

  /// The thread is outside and will not enter any more.
  static void give_back(Slot& slot);

  /// The program enters. Waits while the helper is inside, which takes one poll.
  void enter() { enter(only_); }
  void enter(Slot& slot) {
    const std::uint64_t visit = slot.visits.load(std::memory_order_relaxed) + 1;
    if (asymmetric_) [[likely]] {
      slot.visits.store(visit, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (claimed_.load(std::memory_order_acquire) == 0) [[likely]]
        return;
    } else {
      slot.visits.exchange(visit, std::memory_order_seq_cst);
      if (claimed_.load(std::memory_order_seq_cst) == 0) return;
    }
    wait();
  }

  /// The program leaves.
  void leave() { leave(only_); }
  static void leave(Slot& slot) {
    slot.visits.store(slot.visits.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// Whether the thread of this slot is inside. Exact in that thread.
  static bool inside(const Slot& slot) {
    return (slot.visits.load(std::memory_order_relaxed) & 1) != 0;
  }

  /// Whether the program is inside, any of its threads. It may be late.
  bool inside() const { return any_inside(std::memory_order_relaxed); }

  /// The same where the program has one thread, and exact in that.
  bool inside_alone() const { return inside(only_); }

  /// Changes with every enter() and every leave(): equal values mean that the program has stayed
  /// where it was. From any thread.
  std::uint64_t visits() const;

  /// The helper enters, if the program is outside. If it is inside, false, and nothing has
  /// happened. What the program did before its last leave() is visible here.
  bool try_claim();

  /// The helper leaves.
  void release();

  /// In a child after fork(), which has no helper: it is not inside.
  void forget_helper() { claimed_.store(0, std::memory_order_relaxed); }

  /// Times that enter() had to wait, and for how long in all. Of the program's threads.
  std::uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  std::uint64_t waited_ns() const { return waited_ns_.load(std::memory_order_relaxed); }

 private:
  bool any_inside(std::memory_order order) const;
  [[gnu::noinline, gnu::cold]] void wait();

  Slot only_;
  bool asymmetric_;
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> waited_ns_{0};
  std::atomic<Slot*> slots_{nullptr};  // of take_slot(); never freed
  // The helper writes a line of its own.
  alignas(64) std::atomic<int> claimed_{0};
};

/// Asks the system for the helper's fence (membarrier, Linux 4.14), once for the process. Returns
/// false where there is none: then both sides need fences.
bool prepare_asymmetric();

/// After prepare_asymmetric() has returned true: a fence of all threads of the process, some
/// microseconds. What each has stored before is visible here, and earlier stores here are
/// visible to each of its loads from now on.
void fence_all_threads();

}  // namespace hob::overlap
