#pragma once

#include <cstdint>

namespace hob::heat {

/// Guesses when a program that computes and communicates in turn will next communicate, from when
/// it did before. Times are nanoseconds of any one clock. Not thread safe.
class Phases {
 public:
  /// Communication after at least `gap_ns` without any begins a new phase. Heating begins
  /// `lead_ns` before the next phase is expected.
  Phases(std::int64_t gap_ns, std::int64_t lead_ns) : gap_(gap_ns), lead_(lead_ns) {}

  /// The program has communicated at `now`.
  void active(std::int64_t now);

  /// Whether to heat at `now`: during a phase, from a little before the next is expected until it
  /// is a whole period late, and always as long as there is no period yet.
  bool heat(std::int64_t now) const;

  /// From the begin of one phase to the next, smoothed; 0: not known yet.
  std::int64_t period() const { return period_; }

 private:
  std::int64_t gap_;
  std::int64_t lead_;
  bool seen_ = false;
  std::int64_t begin_ = 0;  // of the latest phase
  std::int64_t last_ = 0;   // latest communication
  std::int64_t period_ = 0;
};

}  // namespace hob::heat
