// How often Hob polls while the program waits for many requests of Hob's. Private to the request
// layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/progress/progress.hpp"

namespace hob::mpi::requests {

/// Where a poll asks the kernel, it also holds up the senders that share the machine, and the
/// messages that come meanwhile are cheaper to fetch together: while many are missing, Hob lets
/// some time pass between polls without a result (docs/developers/takeover.md).
class PollPacing {
 public:
  /// `awaited`: all need nothing but that messages are found (Operation::awaited).
  explicit PollPacing(bool awaited) : awaited_(awaited) {}

  /// advance(), and the time to let pass. So many are missing.
  void poll(std::size_t missing) {
    if (!awaited_ || missing < tuning::kManyMissing) return advance();
    const std::uint64_t found = own_progress.messages_found.load(std::memory_order_relaxed);
    const std::uint64_t before = ticks();
    advance();
    if (own_progress.messages_found.load(std::memory_order_relaxed) != found) return;
    const std::uint64_t took = ticks() - before;
    // Libraries that look at shared memory ask the kernel, too, but only now and then.
    const bool first = quickest_ == UINT64_MAX;
    quickest_ = std::min(quickest_, took);
    if (first || quickest_ < ticks_in(tuning::kKernelPoll)) return;
    const std::uint64_t until = before + took + ticks_in(tuning::kRestBetweenPolls);
    while (ticks() < until) relax();
  }

 private:
  bool awaited_;
  std::uint64_t quickest_ = UINT64_MAX;
};

}  // namespace hob::mpi::requests
