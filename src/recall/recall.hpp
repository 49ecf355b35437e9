// What a window's process read in its last phases, and what of it to fetch at once when such a
// phase begins again. A phase is what is read between two acquires that drop copies. Pure: knows
// neither MPI nor the cache (docs/caching.md, "Fetching again what was read before").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recall/phase_log.hpp"
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
    /// Of one phase. Beyond, it is not recorded.
    std::size_t most_places = std::size_t{1} << 20;
  };
  static constexpr std::size_t kMostRecords = 16;

  /// `room` outlives the object.
  Recall(const Config& config, Room& room) : room_(room), log_(room, config.most_places) {}

  /// Whether missed() is to be told.
  bool recording() const { return recording_; }

  /// A get had to be fetched, or was served by bytes around another one.
  void missed(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes) {
    log_.add(target, displacement, bytes);
  }

  /// The program waited for what it asked for, or would have had to.
  void completed() { ++completions_; }
  /// Time, in the unit of Prices: waits of the program, and what recalling takes.
  void spent(double time) { spent_ += time; }

  /// A get of these bytes is missing: which places are fetched now. Of its target, or of `all`
  /// targets; no more bytes than `most`. Valid until the next call.
  std::span<const std::uint32_t> choose(std::uint32_t target, std::uint64_t displacement,
                                        std::uint64_t bytes, bool all, std::uint64_t most,
                                        const Prices& prices) noexcept;

  const Place& place(std::uint32_t index) const { return records_[current_][index]; }
  /// It is being fetched.
  void fetched(std::uint32_t index) {
    records_[current_][index].set(Place::kRecalled);
    ++recalled_;
  }
  /// It need not be: it is here, so that nobody will say whether the program asks for it.
  void present(std::uint32_t index) {
    records_[current_][index].set(Place::kRecalled);
    records_[current_][index].set(Place::kAsked);
  }

  /// Names a place in this phase; never 0.
  std::uint64_t tag(std::uint32_t index) const {
    return std::uint64_t{phase_} << 32 | (index + std::uint64_t{1});
  }
  /// The program asked for a place that was recalled. Of an earlier phase: nothing. Its bytes.
  std::uint64_t used(std::uint64_t tag);

  void phase_ended() noexcept;

  /// Places that are known, of all kinds of phases.
  std::uint64_t places() const;
  std::size_t records() const { return records_.size(); }
  std::uint64_t memory_bytes() const;

 private:
  static constexpr std::uint32_t kNone = Record::kNone;

  bool match(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes);
  void read(std::uint32_t index, std::uint64_t bytes);
  void leave_wrong_one();
  double added(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes,
               const Prices& prices) const;
  std::uint32_t alike(std::span<const Place> log) const;
  void close_phase();
  void settle(Record& record, const Record::Outcome& outcome);
  void add_record(std::span<const Place> places);
  void follow(std::uint32_t record);
  void begin_phase();

  Room& room_;
  PhaseLog log_;
  Policy policy_;
  std::vector<Record> records_;
  std::vector<std::uint32_t> chosen_;  ///< of the current record
  std::vector<Place> rest_;
  bool recording_ = true;

  // The present phase.
  std::uint32_t phase_ = 1;
  std::uint32_t current_ = kNone;   ///< the record that it is like
  std::uint32_t previous_ = kNone;  ///< the one that the phase before was like
  bool cautious_ = false;           ///< several records begin so
  std::uint32_t attempts_ = 0, foreign_ = 0, completions_ = 0;
  std::uint32_t amount_ = Policy::kPlaces.first;
  std::uint64_t recalled_ = 0, used_ = 0;
  double spent_ = 0;
  std::uint64_t vain_elsewhere_ = 0;  ///< bytes, recalled for a record that it was not like
};

}  // namespace hob::recall
