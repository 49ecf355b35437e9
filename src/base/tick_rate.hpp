// How many ticks of a counter a nanosecond of the system's clock has: measured at first, and again
// ever more precisely. Both are functions here, so that tests bring their own.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hob {

/// Whether the processor says that its counter has one rate, whatever the core does. `leaf`: the
/// highest that CPUID knows beyond 0x80000000; `edx`: of leaf 0x80000007.
constexpr bool says_invariant(std::uint32_t leaf, std::uint32_t edx) {
  return leaf >= 0x80000007U && (edx & (1U << 8U)) != 0;
}

/// Both clocks at one moment, the counter within half of `width`.
struct ClockReading {
  std::uint64_t ticks = 0;
  std::uint64_t nanoseconds = 0;
  std::uint64_t width = std::numeric_limits<std::uint64_t>::max();
};

/// The closest of several looks: whoever loses the core in one of them sees a wide one.
template <class Counter, class Clock>
ClockReading read_clocks(Counter counter, Clock clock) {
  constexpr int kLooks = 8;
  ClockReading closest;
  for (int i = 0; i < kLooks; ++i) {
    const std::uint64_t before = counter();
    const std::uint64_t nanoseconds = clock();
    const std::uint64_t width = counter() - before;
    if (width < closest.width) closest = {before + width / 2, nanoseconds, width};
  }
  return closest;
}

/// Thread safe, but for begin() and calibrate(), which come first.
class TickRate {
 public:
  /// Of a counter that counts the clock's nanoseconds.
  constexpr TickRate() = default;

  /// A first look at the clocks. The millisecond for which calibrate() waits begins here. Nothing
  /// after calibrate().
  template <class Counter, class Clock>
  void begin(Counter counter, Clock clock) {
    if (counts_nanoseconds_) begin_ = read_clocks(counter, clock);
  }

  /// Takes a millisecond, or what is left of it since begin(), and several where the core is lost
  /// in all looks at the clocks.
  template <class Counter, class Clock>
  void calibrate(Counter counter, Clock clock) {
    constexpr int kAttempts = 5;
    constexpr double kGood = 1e-3;
    for (int i = 0; i < kAttempts && uncertainty_ > kGood; ++i) {
      const bool begun = i == 0 && begin_.ticks != 0;
      const ClockReading first = begun ? begin_ : read_clocks(counter, clock);
      while (clock() - first.nanoseconds < kShortest) {
      }
      const ClockReading last = read_clocks(counter, clock);
      const Measured measured = rate_between(first, last);
      if (i == 0) begin_ = first;
      if (measured.uncertainty >= uncertainty_) continue;
      begin_ = first;
      measured_ns_ = last.nanoseconds - first.nanoseconds;
      uncertainty_ = measured.uncertainty;
      lines_[0] = {.ticks_per_ns = measured.rate, .ns_per_tick = 1 / measured.rate};
    }
    counts_nanoseconds_ = false;
  }

  /// Measures the rate over all the time since, if this is at least twice what it was measured over
  /// before. Half a microsecond at most; nothing while another thread does the same.
  template <class Counter, class Clock>
  void correct(Counter counter, Clock clock) {
    if (counts_nanoseconds_ || busy_.test_and_set(std::memory_order_acquire)) return;
    if (clock() - begin_.nanoseconds >= 2 * measured_ns_) correct_by(read_clocks(counter, clock));
    busy_.clear(std::memory_order_release);
  }

  [[nodiscard]] double ticks_per_nanosecond() const { return newest()->ticks_per_ns; }

  /// Nanoseconds since some moment, at these ticks, which were read before this is called. Never
  /// less than at fewer ticks, in any thread, whatever is corrected meanwhile.
  [[nodiscard]] std::uint64_t nanoseconds_at(std::uint64_t ticks) const {
    const Line* line = newest();
    while (ticks < line->from && line->before) line = line->before;
    return line->nanoseconds_at(ticks);
  }

 private:
  static constexpr std::uint64_t kShortest = 1'000'000;  // ns
  /// What the system itself changes its clock's rate by at most, to follow others' clocks.
  static constexpr double kSlewed = 1e-3;
  /// A new rate holds from a moment that no thread can have read yet: whoever reads the ticks first
  /// and the rate then knows all rates that hold for them.
  static constexpr double kAhead = 1e5;  // ns

  struct Measured {
    double rate = 1;
    double uncertainty = std::numeric_limits<double>::infinity();
  };

  /// From these ticks on, until those from which the next one holds.
  struct Line {
    double ticks_per_ns = 1;
    double ns_per_tick = 1;
    std::uint64_t from = 0;
    std::uint64_t nanoseconds = 0;
    const Line* before = nullptr;

    [[nodiscard]] std::uint64_t nanoseconds_at(std::uint64_t ticks) const {
      return nanoseconds +
             static_cast<std::uint64_t>(
                 static_cast<double>(static_cast<std::int64_t>(ticks - from)) * ns_per_tick);
    }
  };

  static Measured rate_between(const ClockReading& first, const ClockReading& last) {
    const auto ticks = static_cast<double>(static_cast<std::int64_t>(last.ticks - first.ticks));
    const auto nanoseconds = static_cast<double>(last.nanoseconds - first.nanoseconds);
    if (ticks <= 0 || nanoseconds <= 0) return {};
    const double widths = static_cast<double>(first.width) + static_cast<double>(last.width);
    return {ticks / nanoseconds, widths / 2 / ticks};
  }

  [[nodiscard]] const Line* newest() const {
    const Line* line = newest_.load(std::memory_order_acquire);
    return line ? line : lines_.data();
  }

  void correct_by(const ClockReading& now) {
    const double known = ticks_per_nanosecond();
    const Measured measured = rate_between(begin_, now);
    const double differs = std::abs(measured.rate / known - 1);
    // The counter has another rate, or one of the two stood still: earlier readings are of no use.
    if (begun_anew_ ? measured.uncertainty > kSlewed
                    : differs > uncertainty_ + measured.uncertainty + kSlewed) {
      begin_ = now;
      measured_ns_ = kShortest / 2;
      begun_anew_ = true;
      return;
    }
    if (!begun_anew_ && measured.uncertainty > uncertainty_) return;
    begun_anew_ = false;
    measured_ns_ = now.nanoseconds - begin_.nanoseconds;
    uncertainty_ = measured.uncertainty;
    holds_from(now.ticks + static_cast<std::uint64_t>(kAhead * known), measured.rate);
  }

  void holds_from(std::uint64_t ticks, double rate) {
    const Line& last = *newest();
    if (used_ + 1 == lines_.size() || ticks <= last.from) return;
    lines_[++used_] = {rate, 1 / rate, ticks, last.nanoseconds_at(ticks), &last};
    newest_.store(&lines_[used_], std::memory_order_release);
  }

  std::array<Line, 64> lines_{};  // each but those after a change is measured over twice the time
  std::atomic<const Line*> newest_{nullptr};  // null: the first
  std::size_t used_ = 0;
  bool counts_nanoseconds_ = true;
  // Of the corrections, one at a time.
  std::atomic_flag busy_;
  ClockReading begin_;
  std::uint64_t measured_ns_ = 0;
  double uncertainty_ = std::numeric_limits<double>::infinity();
  bool begun_anew_ = false;
};

}  // namespace hob
