// Whether a batch is cheaper than its operations one by one, as measured.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "pay/price.hpp"
#include "pay/trial.hpp"

namespace hob::batch {

/// The prices of one kind of operation on one window, in ticks for each operation, and what follows
/// from them. Bursts are batched first: if one costs less for each operation than issuing alone
/// took natively, that is certain to pay. Otherwise some bursts are left to the library to compare.
/// Not thread safe.
class Trial {
 public:
  /// Bursts in a row that are too dear before the library is compared with, and bursts that are
  /// compared before a verdict.
  static constexpr std::uint32_t kBursts = 4;
  /// Bursts are left to the library after a verdict against batching.
  static constexpr pay::Trial::Config kTrial{.tries = {.first = kBursts, .longest = kBursts},
                                             .rests = {.first = 64, .longest = 1 << 16},
                                             .compares = kBursts};

  /// Whether the next burst is batched.
  bool batches() const { return trial_.trying(); }
  /// Whether native operations are timed.
  bool timing() const { return trial_.step() == Step::comparing || native_issue_ == kUnknown; }

  /// One operation was issued natively, which took so long. Its completion is not included.
  void issued_natively(std::uint64_t ticks) {
    native_issue_ = std::min(native_issue_, static_cast<double>(ticks));
  }

  /// A burst of `operations` > 0 is complete that went out natively, or in batches (`batched`):
  /// `ticks` in all, 0 if that is not known.
  void complete(bool batched, std::uint64_t operations, std::uint64_t ticks) {
    if (trial_.step() == Step::resting) {
      trial_.passed();
      return;
    }
    if (ticks == 0 || batched != batches()) return;
    const double price = static_cast<double>(ticks) / static_cast<double>(operations);
    if (batched) {
      batch_.add(price);
      price_ = batch_.median();
      // Each burst for itself: one that the machine held up would spoil an average for long.
      if (price <= certain()) return trial_.paid();
      trial_.passed();
      if (!batches()) native_ = kUnknown;
      return;
    }
    native_ = std::min(native_, price);
    if (!trial_.passed()) return;
    if (batch_.least() < kMargin * native_)
      trial_.go_on();
    else
      trial_.rest();
    batch_.clear();
    price_ = 0;
  }

  /// Ticks that an operation takes in a batch, its share of the completion included; 0: not
  /// known.
  double batch_price() const { return price_; }

 private:
  using Step = pay::Trial::Step;
  static constexpr double kUnknown = std::numeric_limits<double>::max();
  static constexpr double kMargin = 0.9;  ///< a batch has to be so much cheaper

  /// What a burst may cost that is certain to pay.
  double certain() const {
    return std::max(native_issue_ == kUnknown ? 0 : native_issue_,
                    native_ == kUnknown ? 0 : kMargin * native_);
  }

  pay::Trial trial_{kTrial};
  double native_issue_ = kUnknown;  ///< the least that issuing one took
  double native_ = kUnknown;        ///< completion included
  pay::Recent<8> batch_;            ///< since the last verdict
  double price_ = 0;                ///< their median
};

}  // namespace hob::batch
