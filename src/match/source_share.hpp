#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "match/envelope.hpp"

namespace hob::match {

/// Which share of a communicator's posted receives a library would search for a message that keeps
/// a queue for each source, and one for receives from any (Open MPI). Sources share a few counters,
/// so it may come out too high. Not thread safe.
class SourceShare {
 public:
  void add(std::int32_t source) { ++of(source); }
  void remove(std::int32_t source) { --of(source); }

  /// Of all receives that were added, those that a message from this source may pass: in (0, 1].
  double of_message(std::int32_t source, std::uint64_t all) const {
    if (all == 0) return 1;
    const std::uint64_t passed = counts_[bucket(source)] + any_;
    return passed >= all ? 1 : static_cast<double>(passed) / static_cast<double>(all);
  }

 private:
  static std::size_t bucket(std::int32_t source) {
    return static_cast<std::size_t>(static_cast<std::uint32_t>(source)) % kCounters;
  }
  std::uint32_t& of(std::int32_t source) {
    return source == kAnySource ? any_ : counts_[bucket(source)];
  }

  static constexpr std::size_t kCounters = 64;
  std::array<std::uint32_t, kCounters> counts_{};
  std::uint32_t any_ = 0;
};

}  // namespace hob::match
