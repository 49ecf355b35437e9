// How much is recalled, and whether phases are recorded at all. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pay/backoff.hpp"
#include "pay/budget.hpp"
#include "pay/price.hpp"
#include "pay/trial.hpp"

namespace hob::recall {

/// What things cost at present, in any unit of time.
struct Prices {
  double latency = 8000;  ///< of a get that is waited for
  double issue = 700;     ///< of one more get before the same wait, with what the wait lasts longer
  double batch = 1000;    ///< of issuing what is recalled
  double per_byte = 0.25;  ///< of copies that a recalled byte takes and another does not
  /// Of each byte that a get brings and nobody has asked for.
  double far_byte = 0.25;
  double scattered = 20000;  ///< of a get of places with others between them, and its wait
  double each = 0;           ///< of each of these places
  bool spans = false;        ///< what lies between them may be fetched, too
  bool measured = true;      ///< false: nothing is known of gets that are waited for together

  /// Of recalling places of a target, of so many bytes in a stretch of `from_to` bytes, without
  /// what the bytes themselves take: as one get of all of the stretch, or of the places alone.
  double span(std::uint64_t bytes, std::uint64_t from_to) const {
    return latency + static_cast<double>(from_to - std::min(bytes, from_to)) * far_byte;
  }
  double scatter(std::uint64_t places) const {
    return scattered + static_cast<double>(places) * each;
  }
  bool span_is_cheaper(std::uint64_t places, std::uint64_t bytes, std::uint64_t from_to) const {
    return spans && span(bytes, from_to) <= scatter(places);
  }
};

/// What a phase was.
struct PhaseSum {
  std::uint64_t asked_bytes = 0;  ///< that the program asked for
  std::uint64_t places = 0;       ///< in so many places
  std::uint64_t used = 0;         ///< of which so many had been recalled
  std::uint64_t vain_bytes = 0;   ///< recalled, and not asked for
  double spent = 0;               ///< time that the program waited, and that recalling took
};

/// One window's. Not thread safe.
class Policy {
 public:
  /// Places that are recalled first of what has not proved itself; doubled as they are used.
  static constexpr pay::Backoff<std::uint32_t>::Config kPlaces{.first = 8, .longest = 1u << 24};

  bool records() const { return trial_.trying(); }
  /// Not while phases go without, to compare.
  bool recalls() const { return comparing_ == 0; }

  /// Bytes that may be recalled in vain now; less than 0: owed.
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
      if (--comparing_ == 0) compare();
    } else if (phase.used != 0 && 4 * phase.used >= phase.places) {
      with_.add(each);
      if (clear()) return trial_.paid();
      trial_.go_on();
      if (--until_comparison_ == 0) comparing_ = kMeasured + kUnmeasured;
    } else {
      if (phase.used == 0 && phase.places > 1) without_.add(each);
      trial_.passed();
    }
  }

  /// Whether recalling so many places of a phase with so many waits of the program takes clearly
  /// less than the program's own gets. Of those between two waits, only the issue is spared, and
  /// large ones are copied more often. `added`: what recalling them takes longer than the get that
  /// it goes with.
  static bool pays(const Prices& price, std::uint32_t places, std::uint32_t waits,
                   std::uint64_t bytes, double added) {
    const double trips = std::min(places, waits != 0 ? waits - 1 : 0);
    const double spared = trips * price.latency + (places - trips) * price.issue;
    const double copies = static_cast<double>(bytes) * price.per_byte;
    return spared > (price.measured ? kClearly : kPerhaps) * (copies + price.batch + added);
  }

 private:
  static constexpr double kShare = 0.1;     ///< of the bytes asked for
  static constexpr double kClearly = 1.25;  ///< chosen
  /// Where prices are not measured: phases with and without are compared.
  static constexpr double kPerhaps = 0.5;
  static constexpr double kFirst = 16'384, kMost = 1 << 20;
  /// Phases without, to compare. Of the first ones nothing is known: readahead, which has learned
  /// nothing meanwhile, learns again.
  static constexpr std::uint32_t kMeasured = 5, kUnmeasured = 3;

  /// No comparison is needed: phases take half of what those took in which nothing was recalled.
  bool clear() const { return !without_.empty() && 2 * with_.median() <= without_.median(); }

  void compare() {
    if (with_.median() <= without_.median()) {
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

  pay::Budget vain_{{.share = kShare, .first = kFirst, .most = kMost}};
  /// 32 phases, so that eight kinds of them come four times; then 64 to 8,192 are left alone.
  pay::Trial trial_{
      {.tries = {.first = 32, .longest = 128}, .rests = {.first = 64, .longest = 8192}}};
  pay::Recent<kMeasured> with_, without_;
  /// Phases in which places are recalled and that are not clearly quicker, until a comparison.
  pay::Backoff<std::uint32_t> comparisons_{{.first = 16, .longest = 256, .times = 4}};
  std::uint32_t until_comparison_ = comparisons_.next();
  std::uint32_t comparing_ = 0;
};

}  // namespace hob::recall
