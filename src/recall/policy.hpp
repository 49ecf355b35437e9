// How much is recalled, and whether phases are recorded at all. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pay/backoff.hpp"
#include "pay/budget.hpp"
#include "pay/trial.hpp"

namespace hob::recall {

/// What things cost at present, in any unit of time.
struct Prices {
  double latency = 8000;   ///< of a get that is waited for
  double issue = 700;      ///< of one more before the same wait
  double batch = 1000;     ///< of issuing what is recalled
  double per_byte = 0.25;  ///< of copies that a recalled byte takes and another does not
};

/// One window's. Not thread safe.
class Policy {
 public:
  /// Places that are recalled first of what has not proved itself; doubled as they are used.
  static constexpr pay::Backoff<std::uint32_t>::Config kPlaces{.first = 8, .longest = 1u << 24};

  bool records() const { return trial_.trying(); }

  /// Bytes that may be recalled in vain now; less than 0: owed.
  double affordable() const { return vain_.left(); }

  /// A phase is over in which the program asked for so many bytes, in so many places, of which
  /// `used` were recalled, and so many bytes were recalled in vain.
  void closed(std::uint64_t asked_bytes, std::uint64_t places, std::uint64_t used,
              std::uint64_t vain_bytes) {
    vain_.earned(kShare * static_cast<double>(asked_bytes));
    vain_.spent(static_cast<double>(vain_bytes));
    if (used != 0 && 4 * used >= places)
      trial_.paid();
    else
      trial_.passed();
  }

  /// Whether recalling so many places of a phase with so many waits of the program takes clearly
  /// less than the program's own gets. Of those between two waits, only the issue is spared, and
  /// large ones are copied more often.
  static bool pays(const Prices& price, std::uint32_t places, std::uint32_t waits,
                   std::uint64_t bytes) {
    const double trips = std::min(places, waits != 0 ? waits - 1 : 0);
    const double spared = trips * price.latency + places * price.issue;
    const double copies = static_cast<double>(bytes) * price.per_byte;
    return spared > kClearly * (copies + price.batch);
  }

 private:
  static constexpr double kShare = 0.1;     ///< of the bytes asked for
  static constexpr double kClearly = 1.25;  ///< chosen
  static constexpr double kFirst = 16'384, kMost = 1 << 20;

  pay::Budget vain_{{.share = kShare, .first = kFirst, .most = kMost}};
  /// 32 phases, so that eight kinds of them come four times; then 64 to 8,192 are left alone.
  pay::Trial trial_{
      {.tries = {.first = 32, .longest = 128}, .rests = {.first = 64, .longest = 8192}}};
};

}  // namespace hob::recall
