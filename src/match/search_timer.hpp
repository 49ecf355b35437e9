#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "pay/backoff.hpp"

namespace hob::match {

/// Finds out, from how long it takes to post receives, that the MPI library searches a long queue
/// of unexpected messages. Some receives are timed: fewer while all are fast, more of long ones,
/// and many after a slow one. After some slow ones, the library's unexpected messages are better
/// dequeued; if these were few, the alarm was false, and fewer receives are timed from then on.
///
/// A long one may be slow because its message is there, and is copied. Then a later one is probed
/// for beforehand, and the probe is timed. Probes make progress: where two processes stream to each
/// other, one that receives the other's messages before it has sent its own makes both wait. So
/// probes become rarer while they are fast, and after false alarms.
///
/// Knows no clock: the caller times, and says whether it was slow. Not thread safe.
class SearchTimer {
 public:
  struct Config {
    /// One in so many receives is timed: at first, after a slow one (of which more after false
    /// alarms), and at least, while short and long ones are fast. A timed receive costs about 30 ns
    /// more; long ones take longer anyway.
    std::uint32_t at_first = 32;
    pay::Backoff<std::uint32_t>::Config while_slow{.first = 8, .longest = 1u << 16, .times = 4};
    std::uint32_t while_fast = 128;
    std::uint32_t while_long = 64;
    /// A receive of n times so many elements counts as n + 1, up to `heaviest`: so much longer it
    /// takes than looking for its message, and so many fewer there are in the same time.
    std::uint64_t long_elements = 65536;
    std::uint32_t heaviest = 16;
    /// Slow receives, more than fast ones, after which the library's messages are dequeued.
    std::uint32_t patience = 4;
    /// With fewer messages, the alarm was false.
    std::uint64_t worth_dequeuing = 64;
    /// Timed long receives that were slow after which one is probed for; more where it was fast.
    pay::Backoff<std::uint32_t>::Config doubt{.first = 1, .longest = 64, .times = 2};
  };

  SearchTimer() : SearchTimer(Config{}) {}
  explicit SearchTimer(const Config& config)
      : config_(config),
        one_in_(config.at_first),
        untimed_(config.at_first - 1),
        while_slow_(config.while_slow),
        doubt_(config.doubt) {}

  /// The next receive is to be timed.
  bool due() const { return untimed_ == 0; }

  /// A long one that is timed is to be probed for.
  bool probes() const { return probes_; }

  /// How many receives are not to be timed before that.
  std::uint32_t untimed() const { return untimed_; }

  /// A receive of so many elements goes to the library. After due() was asked.
  void started(std::uint64_t elements) {
    if (untimed_ == 0) untimed_ = one_in_;
    const auto weight = 1 + static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                elements / config_.long_elements, config_.heaviest - 1));
    untimed_ -= std::min(untimed_, weight);
  }

  /// So many short ones went there, untimed.
  void started_short(std::uint32_t receives) { untimed_ -= std::min(untimed_, receives); }

  /// A timed one, or its probe, was fast. `is_long`: it was one whose copying takes long.
  void was_fast(bool is_long) {
    if (slow_ != 0) --slow_;
    if (is_long) {
      if (std::exchange(probes_, false)) doubt_.lengthen();
      if (unclear_ != 0) --unclear_;
    }
    one_in_ = std::min(2 * one_in_, std::max(is_long ? config_.while_long : config_.while_fast,
                                             while_slow_.now()));
  }

  /// A timed long one was slow without a probe, or so long that it may have been copied.
  void was_unclear() {
    if (++unclear_ < doubt_.now()) return;
    unclear_ = 0;
    probes_ = true;
    untimed_ = while_slow_.now() - 1;
  }

  /// A timed one, or its probe, was slow. True: the library's messages are to be dequeued now, and
  /// emptied() says how many there were.
  bool was_slow() {
    one_in_ = while_slow_.now();
    untimed_ = one_in_ - 1;
    if (++slow_ < config_.patience) return false;
    slow_ = 0;
    return true;
  }

  void emptied(std::uint64_t messages) {
    if (messages < config_.worth_dequeuing) return while_slow_.lengthen();
    while_slow_.reset();
    doubt_.reset();
  }

 private:
  Config config_;
  std::uint32_t one_in_;
  std::uint32_t untimed_;
  std::uint32_t slow_ = 0;  ///< of those timed, slow ones lately
  pay::Backoff<std::uint32_t> while_slow_;
  bool probes_ = false;
  std::uint32_t unclear_ = 0;  ///< of those timed, long ones that were slow without a probe lately
  pay::Backoff<std::uint32_t> doubt_;
};

}  // namespace hob::match
