#pragma once

#include <cstdint>
#include <vector>

#include "base/histogram.hpp"

namespace hob::cache {

/// One point of the occupancy series (paper Fig. 10).
struct Occupancy {
  std::uint64_t get = 0;       ///< index in the sequence of gets
  std::uint64_t used = 0;      ///< bytes of S_w in use
  std::uint64_t capacity = 0;  ///< |S_w|
  std::uint64_t entries = 0;
  std::uint64_t slots = 0;  ///< |I_w|
};

/// A series of bounded length: when full, every other point is dropped and the step doubles.
class OccupancySeries {
 public:
  static constexpr std::size_t kMaxPoints = 512;

  /// The get at which the next point is due.
  std::uint64_t next() const { return next_; }
  void add(const Occupancy& point) noexcept;
  const std::vector<Occupancy>& points() const { return points_; }

 private:
  std::vector<Occupancy> points_;
  std::uint64_t next_ = 0;
  std::uint64_t step_ = 16;
};

enum class Reason : std::uint8_t {
  conflicts,        ///< I_w grew: too many conflicting accesses
  sparse,           ///< I_w shrank: victims were hard to find
  capacity,         ///< S_w grew: too many capacity and failing accesses
  stable_and_free,  ///< S_w shrank: hits are stable and much is free
  requested,        ///< resize() was called
  out_of_memory     ///< the system gave no more memory
};
const char* reason_text(Reason reason);

/// One change of a size.
struct Adjustment {
  std::uint64_t get = 0;   ///< index in the sequence of gets
  bool of_index = false;   ///< I_w (slots), else S_w (bytes)
  std::uint64_t from = 0;  ///< slots or bytes
  std::uint64_t to = 0;
  Reason reason = Reason::requested;
};

/// What happened so far. gets = hits_full + hits_partial + hits_pending + missing. Every reserve()
/// is one of direct, conflicting, capacity and failing; an extend() is extended or failing.
struct Stats {
  std::uint64_t gets = 0;            ///< find() calls of at least one byte
  std::uint64_t hits_full = 0;       ///< contained ones included
  std::uint64_t hits_partial = 0;    ///< a prefix was there
  std::uint64_t hits_pending = 0;    ///< wholly under way
  std::uint64_t hits_contained = 0;  ///< of hits_full and hits_pending: at another displacement
  std::uint64_t missing = 0;
  std::uint64_t direct = 0;
  std::uint64_t conflicting = 0;
  std::uint64_t capacity = 0;
  std::uint64_t failing = 0;
  std::uint64_t extended = 0;            ///< extend() calls that succeeded
  std::uint64_t evictions = 0;           ///< entries evicted
  std::uint64_t selections = 0;          ///< searches for a victim
  std::uint64_t visited = 0;             ///< index slots or entries visited by these searches
  std::uint64_t visited_nonempty = 0;    ///< of these, live entries
  std::uint64_t moved = 0;               ///< entries moved by resizing
  std::uint64_t lost = 0;                ///< entries that did not fit after resizing
  std::uint64_t bytes_from_cache = 0;    ///< pending hits included
  std::uint64_t bytes_from_network = 0;  ///< asked for and neither here nor under way
  std::uint64_t blocks = 0;              ///< entries reserved that are blocks
  std::uint64_t ahead_bytes = 0;         ///< of these, bytes that no get had asked for yet
  std::uint64_t ahead_used_bytes =
      0;                         ///< of ahead_bytes, those asked for later, to a 64th of a block
  std::uint64_t ahead_hits = 0;  ///< hits on bytes fetched ahead, the first ones: trips spared

  Log2Histogram get_size;  ///< bytes per get
  Log2Histogram reuse;     ///< entries by their number of gets: the first one and every hit
  OccupancySeries occupancy;
  std::vector<Adjustment> adjustments;  ///< the first 256
  std::uint64_t adjustment_count = 0;   ///< all of them
};

}  // namespace hob::cache
