// Records which places a process reads in a window, and says which of them to fetch again when the
// next phase begins as a recorded one did. A phase lasts from one acquire that drops copies to the
// next. Pure: knows neither MPI nor the cache (docs/caching.md, "Fetching again places that were
// read before").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recall/phase_log.hpp"
#include "recall/phase_series.hpp"
#include "recall/policy.hpp"
#include "recall/record.hpp"
#include "recall/room.hpp"

namespace hob::recall {

/// Of one window. Not thread safe; nothing throws.
///
///     if (recall.recording()) recall.missed(target, displacement, bytes);
///     for (index : recall.choose(target, displacement, bytes, ...))
///       ... fetch recall.place(index), remember recall.tag(index) with it; recall.fetched(index);
///     recall.used(tag);          // the program asked for it
///     recall.phase_ended();      // everything that was fetched is dropped
class Recall {
 public:
  struct Config {
    /// A phase of more places is not recorded.
    std::size_t most_places = std::size_t{1} << 20;
    /// Nor is one of more than these, if it is kMuchLonger times as long as any phase that has
    /// ended: it may never end.
    std::size_t most_at_first = 4096;
    /// In the unit of Prices. Places that took less each, blocks of readahead that brought them
    /// included, would take as long if they were recalled.
    double least_each = 0;
    /// Whether what a phase took without recalling limits what is recalled in others like it.
    bool judged = true;
    /// Of a phase of more places that comes for the first time, a sample is kept.
    std::size_t small_phase = 128;
  };
  static constexpr std::size_t kMostRecords = 16;
  static constexpr std::size_t kMuchLonger = 64;
  /// Places that a program may ask for before it waits for the block that brings them. Chosen.
  static constexpr std::size_t kBeforeWait = 256;

  /// `room` outlives the object.
  Recall(const Config& config, Room& room)
      : config_(config), room_(room), log_(room, config.most_at_first) {}

  /// Whether missed() is to be called.
  bool recording() const { return recording_ && !log_.overflowed(); }

  /// A get was a miss, or was the first one of bytes that readahead had fetched.
  void missed(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes) {
    log_.add(target, displacement, bytes);
  }

  /// The same for the first get of bytes that readahead had fetched. Where so many came with a
  /// block that each took next to nothing, no recalling can be quicker: the rest of the phase is
  /// not recorded.
  bool recording_fetched_ahead() {
    if (!recording()) return false;
    if (log_.size() < kBeforeWait ||
        spent_ >= config_.least_each * static_cast<double>(log_.size()))
      return true;
    if (current_ == kNone) log_.give_up();
    return false;
  }

  /// The program waited for gets, or would have waited without Hob.
  void completed() { ++completions_; }
  /// The program waited for this time, or recalling took it; in the unit of Prices.
  void spent(double time) { spent_ += time; }

  /// A get of these bytes is a miss: returns the places to fetch with it, of its target or of `all`
  /// targets, `most` bytes at most. Valid until the next call. Clears `prices.first` if these
  /// places are worth a dear first get.
  std::span<const std::uint32_t> choose(std::uint32_t target, std::uint64_t displacement,
                                        std::uint64_t bytes, bool all, std::uint64_t most,
                                        Prices& prices) noexcept;

  /// None of them could be fetched.
  void chosen_in_vain() { looked_in_vain_ += chosen_.size(); }

  const Place& place(std::uint32_t index) const { return records_[current_][index]; }
  /// This place is being fetched.
  void fetched(std::uint32_t index) {
    records_[current_][index].set(Place::kRecalled);
    ++recalled_;
    ++recalled_in_all_;
  }
  /// This place is in the cache already, so that used() will not be called for it: counts as read.
  void present(std::uint32_t index) {
    records_[current_][index].set(Place::kRecalled);
    records_[current_][index].set(Place::kAsked);
  }

  /// A number for a place in this phase; never 0.
  std::uint64_t tag(std::uint32_t index) const {
    return std::uint64_t{phase_} << 32 | (index + std::uint64_t{1});
  }
  /// The program reads a recalled place for the first time. Returns its bytes; 0 for a tag of an
  /// earlier phase, or if it was read before.
  std::uint64_t used(std::uint64_t tag);

  /// `learning`: the size of readahead's blocks changed in the phase, so that its time says nothing
  /// about other phases.
  void phase_ended(bool learning = false) noexcept;

  /// Whether most gets of this phase are, or are expected to be, of recalled places.
  bool reads_recalled() const;

  /// Places of all records.
  std::uint64_t places() const;
  std::size_t records() const { return records_.size(); }
  std::uint64_t memory_bytes() const;

  /// The phases that were recorded.
  const std::vector<PhasePoint>& phases() const { return series_.points(); }

 private:
  static constexpr std::uint32_t kNone = Record::kNone;

  bool match(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes);
  void read(std::uint32_t index, std::uint64_t bytes);
  void leave_wrong_one();
  std::span<const std::uint32_t> choose_of(Record& record, std::uint32_t target,
                                           std::uint64_t displacement, std::uint64_t bytes,
                                           Record::Range range, std::uint64_t most, Prices& prices);
  void collect(const Record& record, Record::Range range, bool sure, std::uint32_t at_once);
  double added(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes,
               const Prices& prices) const;
  double keeping(std::uint64_t places) const;
  static std::uint32_t alike(std::span<const Place> log, const std::vector<Record>& records,
                             bool same);
  void close_phase(bool learning);
  void close_as(Record& record, PhaseSum& sum);
  void close_unknown();
  double share_seen_before();
  void settle(Record& record, const Record::Outcome& outcome);
  void add_record(std::span<const Place> places, double came_before);
  void follow(std::uint32_t record);
  void begin_phase();

  Config config_;
  Room& room_;
  PhaseLog log_;
  Policy policy_;
  std::vector<Record> records_;
  std::vector<Record> seen_;           ///< samples of large phases that came once, the oldest first
  std::vector<std::uint32_t> chosen_;  ///< of the current record
  std::vector<Place> rest_;
  PhaseSeries series_;
  bool recording_ = true;
  std::size_t longest_ = 0;  ///< places of a phase that has ended; most_places: more than were kept

  // The present phase.
  std::uint32_t phase_ = 1;
  std::uint32_t current_ = kNone;   ///< the record that it is like
  std::uint32_t previous_ = kNone;  ///< the one that the phase before was like
  bool cautious_ = false;           ///< several records begin so
  double without_first_ = 0;  ///< not 0: what the first get of scattered places costs, from which
                              ///< phases like this one would gain
  double first_paid_ = 0;     ///< that was made in this phase
  double at_best_ = 0;        ///< what this phase would take with it
  std::uint32_t attempts_ = 0, foreign_ = 0, completions_ = 0;
  std::uint32_t amount_ = Policy::kPlaces.first;
  std::uint64_t recalled_ = 0, used_ = 0;
  std::uint64_t recalled_in_all_ = 0;  ///< the same of all records that the phase seemed to be like
  std::uint64_t looked_in_vain_ = 0;   ///< places that were looked at, and then none was recalled
  double spent_ = 0;
  std::uint64_t vain_elsewhere_ = 0;  ///< bytes, recalled by a record that the phase was not like
};

}  // namespace hob::recall
