// How much is recalled, and whether phases are recorded. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "pay/backoff.hpp"
#include "pay/budget.hpp"
#include "pay/price.hpp"
#include "pay/trial.hpp"

namespace hob::recall {

/// Present prices, in any unit of time.
struct Prices {
  /// Bytes. A longer stretch takes more time for each byte, since it does not fit into a core's
  /// cache. Chosen.
  static constexpr std::uint64_t kLongestStretch = std::uint64_t{2} << 20;

  double latency = 8000;   ///< of a get and its wait
  double issue = 700;      ///< of one more get before the same wait, the longer wait included
  double batch = 1000;     ///< of issuing recalled places
  double per_byte = 0.25;  ///< of copying a recalled byte once more than another
  /// Of each byte that a get brings without being asked for.
  double far_byte = 0.25;
  double scattered = 20000;   ///< of a get of scattered places, and its wait
  double each = 0;            ///< of each scattered place
  double first = 0;           ///< of the first get of scattered places, beside these
  std::uint64_t longest = 0;  ///< stretch in which the bytes between places may be fetched, too
  bool measured = true;       ///< false: no gets with a common wait were measured
  bool rate_seen = true;      ///< false: nor of bytes that are fetched unasked
  /// Places. More become too old before they are asked for.
  std::uint32_t at_once = ~std::uint32_t{0};
  bool scatters = true;  ///< false: no get of scattered places may be made

  /// Of recalling places of a target that have `bytes` bytes in a stretch of `from_to` bytes, by
  /// one get of the stretch or by one of the places alone. The time of the places' own bytes is
  /// left out of both.
  double span(std::uint64_t bytes, std::uint64_t from_to) const {
    return latency + static_cast<double>(from_to - std::min(bytes, from_to)) * far_byte;
  }
  double scatter(std::uint64_t places) const {
    if (!scatters) return std::numeric_limits<double>::infinity();
    return scattered + first + static_cast<double>(places) * each;
  }
  bool span_is_cheaper(std::uint64_t places, std::uint64_t bytes, std::uint64_t from_to) const {
    return from_to <= longest && span(bytes, from_to) <= scatter(places);
  }
};

/// A phase that has ended.
struct PhaseSum {
  std::uint64_t asked_bytes = 0;  ///< that the program read
  std::uint64_t places = 0;       ///< in so many places
  std::uint64_t used = 0;         ///< of these, recalled before
  std::uint64_t vain_bytes = 0;   ///< of places that were recalled and not read
  double spent = 0;               ///< time: waits of the program, and recalling
  bool learning = false;          ///< the size of readahead's blocks changed
};

/// One window's. Not thread safe.
class Policy {
 public:
  /// Places that are recalled first of a record that is not trusted; doubled as they are used.
  static constexpr pay::Backoff<std::uint32_t>::Config kPlaces{.first = 8, .longest = 1u << 24};

  bool records() const { return trial_.trying(); }
  /// False for phases that are measured without recalling, to compare.
  bool recalls() const { return comparing_ == 0; }

  /// Bytes that may now be recalled without being read; less than 0: that were too many.
  double affordable() const { return vain_.left(); }

  /// A phase is over.
  void closed(const PhaseSum& phase) {
    vain_.earned(kShare * static_cast<double>(phase.asked_bytes));
    vain_.spent(static_cast<double>(phase.vain_bytes));
    const double each =
        phase.places != 0 ? phase.spent / static_cast<double>(phase.places) : phase.spent;
    if (!records()) {
      trial_.passed();
    } else if (!recalls()) {
      if (comparing_ <= kMeasured) without_.add(each);
      if (--comparing_ == 0 || (comparing_ + kEnough <= kMeasured && clearly_slower())) compare();
    } else if (phase.used != 0 && 4 * phase.used >= phase.places) {
      if (!phase.learning) with_.add(each);
      if (clear()) return trial_.paid();
      trial_.go_on();
      if (--until_comparison_ == 0) begin_comparison();
    } else {
      if (phase.used == 0 && phase.places > 1 && !phase.learning) without_.add(each);
      trial_.passed();
    }
  }

  /// The time that a phase with `waits` waits of the program spares if `places` places of it are
  /// recalled, less what recalling takes; above 0 only where that is clear. Of several gets before
  /// one wait only the issue is spared. A recalled byte is copied once more than another. `added`:
  /// how much longer the get takes that brings the places than the program's own. `took`: what
  /// these places took when they were not recalled, blocks of readahead that brought several of
  /// them included; no more can be spared.
  static double gain(const Prices& price, std::uint32_t places, std::uint32_t waits,
                     std::uint64_t bytes, double added,
                     double took = std::numeric_limits<double>::infinity()) {
    const double trips = std::min(places, waits != 0 ? waits - 1 : 0);
    const double spared = std::min(trips * price.latency + (places - trips) * price.issue, took);
    const double copies = static_cast<double>(bytes) * price.per_byte;
    const double doubt = price.measured                          ? kClearly
                         : price.rate_seen || price.longest == 0 ? kPerhaps
                                                                 : kAtFirst;
    return spared - doubt * (copies + price.batch + added);
  }

  /// Of a phase whose places all come by one get of scattered places.
  static double at_best(const Prices& price, std::uint64_t places, std::uint64_t bytes) {
    return price.scattered + static_cast<double>(places) * price.each + price.batch +
           static_cast<double>(bytes) * price.far_byte;
  }
  /// A phase took so much longer than that. One phase counts for a part only of `first`, what the
  /// first get of scattered places costs beside those that follow: it may have taken long by
  /// chance.
  void forgone(double first, double longer) {
    forgone_ += std::clamp(longer, 0.0, kOfFirst * first);
  }
  /// Of what that get costs, so much must come back in the phase that makes it, else it waits:
  static constexpr double kAtOnce = 0.75;  // chosen
  /// until the phases without it have lost as much.
  bool invests(double first) const { return forgone_ >= first; }

 private:
  static constexpr double kShare = 0.1;     ///< of the bytes that the program reads
  static constexpr double kClearly = 1.25;  ///< chosen
  /// Recording takes some time of each phase, with recalled places and without.
  static constexpr double kWorth = 0.95;  ///< chosen
  /// For prices that are not measured: phases with and without recalling are compared, and the
  /// first get of a stretch shows the price of its bytes.
  static constexpr double kPerhaps = 0.5, kAtFirst = 0.25;
  static constexpr double kOfFirst = 0.5;  ///< two phases at least are seen; chosen
  static constexpr double kFirst = 16'384, kMost = 1 << 20;
  /// Phases without recalling, to compare. The first one is not measured, since it finds the
  /// processor's caches as the phases before left them.
  static constexpr std::uint32_t kMeasured = 5, kUnmeasured = 1, kEnough = 2;

  /// No comparison is needed: phases take half as long as those in which nothing was recalled.
  bool clear() const {
    return !without_.empty() && !with_.empty() && 2 * with_.median() <= without_.median();
  }

  void begin_comparison() {
    comparing_ = kMeasured + kUnmeasured;
    without_.clear();
  }
  /// Each phase without recalling took twice as long.
  bool clearly_slower() const { return 2 * with_.median() <= without_.least(); }

  void compare() {
    comparing_ = 0;
    if (with_.median() <= kWorth * without_.median()) {
      trial_.paid();
      until_comparison_ = comparisons_.next();
    } else {
      trial_.rest();
      comparisons_.reset();
      until_comparison_ = comparisons_.next();
      with_.clear();
      without_.clear();
    }
  }

  double forgone_ = 0;  ///< time, without a first get of scattered places
  pay::Budget vain_{{.share = kShare, .first = kFirst, .most = kMost}};
  /// 32 phases, so that eight kinds of them come four times; then 64 to 8,192 are not recorded.
  pay::Trial trial_{
      {.tries = {.first = 32, .longest = 128}, .rests = {.first = 64, .longest = 8192}}};
  pay::Recent<kMeasured> with_, without_;
  /// Phases with recalled places that are not clearly quicker, until a comparison.
  pay::Backoff<std::uint32_t> comparisons_{{.first = 16, .longest = 256, .times = 4}};
  std::uint32_t until_comparison_ = comparisons_.next();
  std::uint32_t comparing_ = 0;
};

}  // namespace hob::recall
