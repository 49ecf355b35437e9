// What waits for targets say: whether these attend to one-sided operations, or compute meanwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace hob::gets {

/// Follows the calls of one window that complete operations (flushes and unlocks). One is late
/// where it took longer than `kAttentiveNs` and than its bytes take on a slow network; the rest of
/// its time is put down to targets that did not attend, or held a lock.
///
/// Bytes are counted by whoever issues operations, which costs time. So they are counted only once
/// long waits take a share of the time that is worth an advice; until then no wait is called late.
///
/// Knows no clock: times are in ticks of the caller's, at the given rate. From several threads,
/// counts may get lost, nothing else.
class WaitMeter {
 public:
  /// An attentive target of today's networks answers within a tenth of this.
  static constexpr std::uint64_t kAttentiveNs = 100'000;
  /// 100 MB/s: slower than any network that MPI is used on.
  static constexpr std::uint64_t kNsPerByte = 10;
  /// Share of the window's life that long waits take before bytes are counted: 1 of so many.
  static constexpr std::uint64_t kWorthWatching = 50;
  /// Long waits before that: fewer are the operating system's.
  static constexpr std::uint64_t kFewest = 4;

  WaitMeter(std::uint64_t now, double ticks_per_ns)
      : born_(now),
        timed_(now),
        ticks_per_ns_(ticks_per_ns),
        attentive_(static_cast<std::uint64_t>(ticks_per_ns * kAttentiveNs)) {}

  /// Whether issued() is to be called for each operation.
  bool measuring() const { return measuring_.load(std::memory_order_relaxed); }
  void issued(std::uint64_t bytes) { add(bytes_, bytes); }

  /// A call that completes operations took `spent`. It stands for `alike` calls, of which only this
  /// one was timed. `ahead()`: all bytes that readahead has fetched in this window so far. True:
  /// the caller counts bytes and times every wait from now on.
  template <class Ahead>
  bool waited(std::uint64_t spent, std::uint64_t now, std::uint64_t alike, Ahead ahead) {
    add(waits_, alike);
    const std::uint64_t before = timed_.load(std::memory_order_relaxed);
    timed_.store(now, std::memory_order_relaxed);
    if (!is_long(spent)) return false;
    // All of them together took no longer than the time since the one timed before: one long wait
    // among a thousand short ones is not a thousand long ones.
    const std::uint64_t all = std::max(spent, std::min(spent * alike, now - before));
    return waited_long(spent, now, all, ahead());
  }

  /// Whether a wait of so many ticks says something, or all do.
  bool is_long(std::uint64_t spent) const { return spent > attentive_ || measuring(); }

  std::uint64_t waits() const { return waits_; }
  std::uint64_t late_waits() const { return late_waits_; }
  /// Of long waits before bytes were counted, as large a share is taken for late as of those after.
  std::uint64_t late_ns() const {
    if (late_ == 0) return 0;
    const auto unjudged = static_cast<double>(unjudged_);
    const auto judged = static_cast<double>(judged_);
    return static_cast<std::uint64_t>(static_cast<double>(late_) * (1 + unjudged / judged) /
                                      ticks_per_ns_);
  }

 private:
  using Count = std::atomic<std::uint64_t>;

  static void add(Count& count, std::uint64_t more) {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  bool waited_long(std::uint64_t spent, std::uint64_t now, std::uint64_t all, std::uint64_t ahead) {
    const std::uint64_t bytes = bytes_.exchange(0) + (ahead - ahead_.exchange(ahead));
    if (spent <= attentive_) return false;
    if (!measuring()) {
      add(unjudged_, all);
      add(long_waits_, 1);
      const bool worth = long_waits_ >= kFewest && unjudged_ * kWorthWatching >= now - born_;
      measuring_.store(worth, std::memory_order_relaxed);
      return worth;
    }
    add(judged_, spent);
    const auto transfer =
        static_cast<std::uint64_t>(ticks_per_ns_ * static_cast<double>(bytes * kNsPerByte));
    if (spent > attentive_ + transfer) {
      add(late_waits_, 1);
      add(late_, spent - attentive_ - transfer);
    }
    return false;
  }

  std::uint64_t born_;
  Count timed_;  ///< end of the wait that was timed last
  double ticks_per_ns_;
  std::uint64_t attentive_;  ///< kAttentiveNs in ticks
  std::atomic<bool> measuring_{false};
  Count bytes_{0};  ///< of operations issued since the last completion
  Count ahead_{0};  ///< until then
  Count waits_{0}, late_waits_{0};
  Count long_waits_{0};  ///< before bytes were counted
  Count unjudged_{0};    ///< ticks that they took
  Count judged_{0};      ///< ticks of long waits since
  Count late_{0};        ///< of these, ticks that were too many
};

}  // namespace hob::gets
