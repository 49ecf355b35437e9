// The words for a saving of time, whatever saved it.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace hob::report {

/// Nanoseconds that one mechanism saved on each rank of a job. The truth is thought to lie between
/// `least` and `most`; anywhere above `usual`, where `most` is less than that.
struct Saved {
  double least = 0, usual = 0, most = 0;
  int ranks = 1;
  int rank = -1;       ///< that gained most; -1: unknown
  double on_rank = 0;  ///< the saving there
};

/// A sentence that comes before all others of a summary: a gain, or a fault.
struct Verdict {
  std::string text;
  /// Nanoseconds on each rank. kWrong: not a gain but a fault, which comes first. 0: something was
  /// done, and what it saved is unknown.
  double saved = 0;
};
inline constexpr double kWrong = std::numeric_limits<double>::infinity();

/// What verdicts say, with faults and the greatest gain first.
std::vector<std::string> texts_of(std::vector<Verdict> verdicts);

/// "about 148 ms saved on each rank", "about 148 ms saved on the average rank (296 ms on rank 0)".
std::string saved_text(const Saved& saved);

}  // namespace hob::report
