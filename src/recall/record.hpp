// The places of one kind of phase. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pay/backoff.hpp"
#include "recall/place.hpp"
#include "recall/room.hpp"

namespace hob::recall {

/// A set of places that remembers in which order they were read. Not thread safe; nothing throws.
class Record {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Bytes. Places that touch become one run if it is at least as long as the first and no longer
  /// than the second. Shorter ones stay apart, since the cache finds an entry that begins where the
  /// get begins at once.
  static constexpr std::uint64_t kShortestRun = 512, kLongestRun = 4096;

  explicit Record(Room& room) : places_(room) {}

  /// The place that contains these bytes, or kNone.
  std::uint32_t find(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes) const;

  Place& operator[](std::uint32_t index) { return places_.places[index]; }
  const Place& operator[](std::uint32_t index) const { return places_.places[index]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(places_.places.size()); }
  std::uint64_t memory_bytes() const { return places_.memory_bytes(); }

  /// The places of a target are [first, end).
  struct Range {
    std::uint32_t first, end;
  };
  Range of(std::uint32_t target) const;

  /// Which places a phase of this kind read.
  struct Outcome {
    std::uint32_t known = 0;        ///< places that came twice before, at targets that it read
    std::uint32_t asked = 0;        ///< of these, read
    std::uint32_t fresh = 0;        ///< places that came in the last phase for the first time
    std::uint32_t fresh_asked = 0;  ///< of these, read
    std::uint64_t asked_bytes = 0;  ///< of all places that were known and were read
    std::uint64_t vain_bytes = 0;   ///< of places that were recalled and not read
    std::uint32_t entered = 0;      ///< places that came for the first time
    bool whole = true;              ///< there was room for all places
  };

  /// Marks the places that `log` contains as read. `rest`: the log's other places, in its order.
  void mark(std::span<const Place> log, std::vector<Place>& rest);

  /// Ends a phase. Places that were recalled twice and not read leave the record (recalled once, if
  /// `strict`); `rest` enters it.
  Outcome close(std::span<const Place> rest, bool strict);

  /// Forgets which places were recalled and read in this phase. Returns the bytes that were
  /// recalled and not read.
  std::uint64_t abandon();

  /// Facts about phases of this kind. The owner sets and reads them.
  std::uint64_t last_phase = 0;   ///< the number of the last phase of this kind
  std::uint32_t next = kNone;     ///< the record of the phase that followed the last one
  bool came_again = false;        ///< more than one phase was like it
  bool trusted = false;           ///< most of its places were read the last time
  bool was_recalled = false;      ///< most of what the last phase read was recalled
  double took = 0;                ///< time of the last phase of which most was not; 0: not known
  bool newcomers_return = true;   ///< most places that were new came again
  std::uint32_t completions = 0;  ///< waits of the program in a phase
  std::uint32_t newcomers = 0;    ///< places that the last phase read for the first time
  std::uint32_t slower = 0;       ///< phases in a row that took longer with recalled places
  std::uint32_t skips = 0;        ///< phases that are yet to go without recalling
  pay::Backoff<std::uint32_t> next_skips{{.first = 1, .longest = 256}};

 private:
  void join();

  Roomy<std::vector<Place>> places_;
};

}  // namespace hob::recall
