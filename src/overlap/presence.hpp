// Who may be inside a library that serves one thread at a time: the program, or one helper thread
// that enters only while the program is outside. An asymmetric form of Dekker's algorithm: the
// program stores and loads without a fence, and the helper pays for both.
#pragma once

#include <atomic>
#include <cstdint>

namespace hob::overlap {

/// The program's threads call enter() and leave(), one thread at a time, as it must be for
/// their calls of the library; with set_shared(), any number of them at once. One helper thread
/// calls try_claim() and release().
class Presence {
 public:
  /// `asymmetric`: the helper's fence counts for both sides; needs prepare_asymmetric().
  constexpr explicit Presence(bool asymmetric = false) : asymmetric_(asymmetric) {}

  /// Before any thread uses it.
  void set_asymmetric(bool on) { asymmetric_ = on; }

  /// Several threads of the program may be inside at once (MPI_THREAD_MULTIPLE): the helper enters
  /// only while none is, and both sides need fences. Before any thread uses it.
  void set_shared(bool on) { shared_ = on; }

  /// The program enters. Waits while the helper is inside, which takes one poll.
  void enter() {
    if (shared_) return enter_shared();
    const std::uint64_t visit = visits_.load(std::memory_order_relaxed) + 1;
    if (asymmetric_) {
      visits_.store(visit, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      visits_.exchange(visit, std::memory_order_seq_cst);
    }
    const auto order = asymmetric_ ? std::memory_order_acquire : std::memory_order_seq_cst;
    if (claimed_.load(order) != 0) [[unlikely]]
      wait();
  }

  /// The program leaves.
  void leave() {
    if (shared_) return leave_shared();
    visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// Whether the program is inside: with set_shared(), any of its threads. Without, exact in its
  /// own threads; elsewhere it may be late.
  bool inside() const { return inside_at(visits()); }

  /// The same, at the time of these visits().
  bool inside_at(std::uint64_t visits) const { return (visits & (shared_ ? kThreads : 1)) != 0; }

  /// Changes with every enter() and every leave(): equal values mean that the program has stayed
  /// where it was. From any thread.
  std::uint64_t visits() const { return visits_.load(std::memory_order_relaxed); }

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
  void enter_shared();
  void leave_shared();
  void wait();

  /// With set_shared(), so many low bits of visits_ count the threads inside.
  static constexpr std::uint64_t kThreads = (1 << 16) - 1;

  // Each side writes a line of its own.
  alignas(64) std::atomic<std::uint64_t> visits_{0};  // not shared: odd if the program is inside
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> waited_ns_{0};
  bool asymmetric_;
  bool shared_ = false;
  alignas(64) std::atomic<int> claimed_{0};
};

/// Asks the system for the helper's fence (membarrier, Linux 4.14), once for the process. Returns
/// false where there is none: then both sides need fences.
bool prepare_asymmetric();

}  // namespace hob::overlap
