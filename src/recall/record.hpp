// The places of one phase that came at least once. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recall/place.hpp"
#include "recall/room.hpp"

namespace hob::recall {

/// A set with an order. Not thread safe; nothing throws.
class Record {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Places that touch become one where that is so long at least, and no longer than the second:
  /// of shorter ones, each is found at once by the get that asks for it.
  static constexpr std::uint64_t kShortestRun = 512, kLongestRun = 4096;

  explicit Record(Room& room) : places_(room) {}

  /// The place that contains these bytes, or kNone.
  std::uint32_t find(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes) const;

  Place& operator[](std::uint32_t index) { return places_.places[index]; }
  const Place& operator[](std::uint32_t index) const { return places_.places[index]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(places_.places.size()); }
  std::uint64_t memory_bytes() const { return places_.memory_bytes(); }

  /// The places of a target: [first, end).
  struct Range {
    std::uint32_t first, end;
  };
  Range of(std::uint32_t target) const;

  /// What a phase of this kind was, once it is over.
  struct Outcome {
    std::uint32_t known = 0;        ///< places of before, at targets that the phase read
    std::uint32_t asked = 0;        ///< of these, asked for
    std::uint32_t fresh = 0;        ///< places that came in the last phase for the first time
    std::uint32_t fresh_asked = 0;  ///< of these, asked for
    std::uint64_t asked_bytes = 0;  ///< of places of before
    std::uint64_t vain_bytes = 0;   ///< recalled and not asked for
    std::uint32_t entered = 0;      ///< places that came for the first time
    bool whole = true;              ///< there was room for all that came
  };

  /// Marks what `log` has of it as asked for. What is left of the log, in its order, is `rest`.
  void mark(std::span<const Place> log, std::vector<Place>& rest);

  /// Closes a phase: what was recalled in vain twice leaves (once, if `strict`), and `rest` enters.
  Outcome close(std::span<const Place> rest, bool strict);

  /// Forgets which were recalled, and asked for, in this phase. Bytes that were recalled in vain.
  std::uint64_t abandon();

  /// What is known of it. The owner's.
  std::uint64_t last_phase = 0;   ///< the number of the last phase of this kind
  std::uint32_t next = kNone;     ///< the record that came after it last
  bool trusted = false;           ///< phases of this kind do read its places
  bool newcomers_return = true;   ///< places that came once mostly came again
  std::uint32_t completions = 0;  ///< waits of the program in such a phase
  float vain_share = 0;           ///< of its places, not asked for in the last phase

 private:
  void join();

  Roomy<std::vector<Place>> places_;
};

}  // namespace hob::recall
