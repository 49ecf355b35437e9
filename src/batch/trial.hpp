// Whether a batch is cheaper than its operations one by one, as measured.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace hob::batch {

/// The prices of one kind of operation on one window, in ticks for each operation, and what follows
/// from them. Bursts are gathered first: if one costs less for each operation than issuing alone
/// took natively, that is certain to pay. Otherwise some bursts are left to the library to compare.
/// Not thread safe.
class Trial {
 public:
  /// Bursts in a row that are too dear before the library is compared with, and bursts that are
  /// compared before a verdict.
  static constexpr std::uint32_t kBursts = 4;
  /// Bursts that are left to the library after a verdict against gathering; doubled whenever it
  /// stays, up to the second.
  static constexpr std::uint32_t kPause = 64, kLongestPause = 1 << 16;

  enum class State : std::uint8_t { gather, compare, rest };

  /// Whether the next burst is gathered.
  bool gathers() const { return state_ == State::gather; }
  /// Whether native operations are timed.
  bool timing() const { return state_ == State::compare || native_issue_ == kUnknown; }

  /// One operation was issued natively, which took so long. Its completion is not included.
  void issued_natively(std::uint64_t ticks) {
    const auto price = static_cast<double>(ticks);
    native_issue_ = native_issue_ == kUnknown ? price : std::min(native_issue_, price);
  }

  /// A burst of `operations` > 0 is complete that went out natively, or in batches (`gathered`):
  /// `ticks` in all, 0 if nobody knows.
  void complete(bool gathered, std::uint64_t operations, std::uint64_t ticks) {
    if (ticks == 0 && state_ != State::rest) return;
    const double price = static_cast<double>(ticks) / static_cast<double>(operations);
    switch (state_) {
      case State::gather:
        if (!gathered) return;
        batch_ = batch_ == kUnknown ? price : batch_ + (price - batch_) / kMemory;
        best_batch_ = std::min(best_batch_, price);
        // Each burst for itself: one that the machine held up would spoil an average for long.
        if (price <= std::max(native_issue_ == kUnknown ? 0 : native_issue_, worth())) {
          bursts_ = 0;
          pause_ = kPause;
        } else if (++bursts_ >= kBursts) {
          state_ = State::compare;
          bursts_ = 0;
          native_ = kUnknown;
        }
        return;
      case State::compare:
        if (gathered) return;
        native_ = std::min(native_, price);
        if (++bursts_ < kBursts) return;
        bursts_ = 0;
        if (best_batch_ < kMargin * native_) {
          state_ = State::gather;
        } else {
          state_ = State::rest;
          left_ = pause_;
          pause_ = std::min(2 * pause_, kLongestPause);
        }
        batch_ = best_batch_ = kUnknown;
        return;
      case State::rest:
        if (--left_ == 0) state_ = State::gather;
        return;
    }
  }

  /// Ticks that an operation takes in a batch, its share of the completion included; 0: nobody
  /// knows.
  double batch_price() const { return batch_ == kUnknown ? 0 : batch_; }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::max();
  static constexpr double kMemory = 8;    ///< bursts that an average remembers
  static constexpr double kMargin = 0.9;  ///< a batch has to be so much cheaper

  /// What a burst may cost after a comparison that it won.
  double worth() const { return native_ == kUnknown ? 0 : kMargin * native_; }

  State state_ = State::gather;
  std::uint32_t bursts_ = 0;
  std::uint32_t left_ = 0;
  std::uint32_t pause_ = kPause;
  double native_issue_ = kUnknown;  ///< the least that issuing one took
  double native_ = kUnknown;        ///< completion included
  double batch_ = kUnknown, best_batch_ = kUnknown;
};

}  // namespace hob::batch
