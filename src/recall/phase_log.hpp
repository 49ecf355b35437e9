// The places that the present phase had to fetch. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recall/place.hpp"
#include "recall/room.hpp"

namespace hob::recall {

/// Takes one store for each miss. Not thread safe; nothing throws.
class PhaseLog {
 public:
  PhaseLog(Room& room, std::size_t most) : log_(room), most_(most) {}

  void add(std::uint32_t target, std::uint64_t displacement, std::uint64_t bytes) {
    if (log_.places.size() == log_.places.capacity() && !grow()) [[unlikely]] {
      overflowed_ = true;
      return;
    }
    if (!Place::fits(displacement, bytes)) [[unlikely]]
      return;
    log_.places.push_back(Place(target, displacement, bytes, log_.places.size()));
  }

  /// So many places are kept from now on.
  void keep(std::size_t most) { most_ = most; }
  /// Not all places of this phase are kept.
  void give_up() { overflowed_ = true; }
  /// There were more places than may be kept, or some were left out: the log is not a whole phase.
  bool overflowed() const { return overflowed_; }
  std::size_t size() const { return log_.places.size(); }
  /// The places as they were read.
  std::span<const Place> places() const { return log_.places; }

  /// The places in the order of records, without those that lie within another one.
  std::span<const Place> sorted();

  /// About one in kSampled of the places, in the order of records: the same ones of the same
  /// places, in whatever order these were read.
  static constexpr std::uint64_t kSampled = 8;
  void sample(std::vector<Place>& into) const;

  void clear() {
    log_.places.clear();
    overflowed_ = false;
  }
  void free() {
    log_.free();
    overflowed_ = false;
  }
  std::uint64_t memory_bytes() const { return log_.memory_bytes(); }

 private:
  bool grow();

  Roomy<std::vector<Place>> log_;
  std::size_t most_;
  bool overflowed_ = false;
};

}  // namespace hob::recall
