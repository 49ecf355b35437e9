// Whether operations come in bursts that are worth batching.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hob::batch {

/// Operations of one kind to one target between two completions. A short burst goes out operation
/// by operation; a long one is batched, from its first operation on if the one before was long,
/// too. Waits for requests of the library's are not seen: what looks like a long burst may be
/// operations each of which was waited for. So a burst that a wait ends when little of it is
/// batched makes the next ones begin later, twice as late each time. Not thread safe.
class Burst {
 public:
  /// An operation comes. Whether it is to be batched, where bursts of `least` are worth it.
  bool batches(std::uint32_t least) {
    const std::uint32_t enough = least << doubled_;
    return ++now_ > enough || before_ >= enough;
  }

  /// The operations so far are complete.
  void complete() {
    if (now_ == 0) return;  // other targets' or other kinds' completions say nothing
    before_ = now_;
    now_ = 0;
    doubled_ = 0;
  }

  /// The same by a wait for requests, of which `batched` had been batched. Whether these were
  /// worth it.
  bool complete_by_wait(std::size_t batched, std::uint32_t least) {
    const bool worth_it = kLittle * batched >= least;
    const std::uint32_t doubled = worth_it ? 0 : std::min(doubled_ + 1, kMostDoubled);
    complete();
    doubled_ = doubled;
    return worth_it;
  }

  /// A batch of writes was sent, whose requests are complete at once. Where several batches in a
  /// row had few operations, and the program waited for none of them (`awaited`), which would have
  /// spared it the wait, the burst is over, and the next ones begin later.
  void sent(std::size_t batched, bool awaited, std::uint32_t least) {
    if (awaited || kLittle * batched >= least) {
      short_ = 0;
    } else if (++short_ >= kShortInARow) {
      short_ = 0;
      complete_by_wait(batched, least);
      before_ = 0;
    }
  }

  std::uint32_t length() const { return now_; }

 private:
  static constexpr std::uint32_t kMostDoubled = 12;
  static constexpr std::uint32_t kLittle = 4;  ///< less than this part of `least`
  static constexpr std::uint32_t kShortInARow = 4;

  std::uint32_t now_ = 0;
  std::uint32_t before_ = 0;
  std::uint32_t doubled_ = 0;
  std::uint32_t short_ = 0;  ///< batches of few operations in a row
};

}  // namespace hob::batch
