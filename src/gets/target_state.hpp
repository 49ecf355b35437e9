// What the cache of a window knows of its targets. Pure.
#pragma once

#include <cstdint>
#include <new>
#include <unordered_map>
#include <vector>

#include "gets/target_profile.hpp"
#include "validation/write_marks.hpp"

namespace hob::gets {

struct TargetState : validation::WriteMarks {
  std::vector<std::uint32_t> pending;  ///< gets under way that the cache wants, by their index
  std::uint64_t gets = 0;              ///< given to the library since the last flush of any kind
  std::uint64_t assumed = 0;           ///< the last write that was not seen, but may have been
  std::uint64_t hits = 0;              ///< served from the cache
  std::uint64_t flushed_hits = 0;      ///< of these, before the last flush
  std::uint32_t completing = 0;        ///< threads between before_flush and after_flush of it
  std::uint32_t recalls = 0;           ///< gets under way of places that are recalled
  bool left = false;    ///< gets may be under way that were not looked up (OnceTrial)
  bool near = false;    ///< on this node
  bool closed = false;  ///< no epoch is open there: the end of the last was seen
  /// First or last bytes: 2 since the last report of the members, 1 since the time before
  /// (edges.hpp).
  std::uint8_t edges_fetched = 0;
  TargetProfile profile;
  /// Records of the node's log are true if issued from here on (docs/consistency.md); found out
  /// by a get that was issued in that epoch, as long as nothing was invalidated since.
  std::uint64_t floor = 0;
  std::uint64_t floor_epoch = 0;
  std::uint64_t invalidated = 0;  ///< its mark for InvalidationEpochs

  bool hits_to_flush() const { return hits != flushed_hits; }

  /// Whether a get of so many bytes would wait for no trip of its own, since the bytes of others
  /// are under way: a block that brings it, too, spares nothing. Measured over TCP with bursts of
  /// 64 gets of 64 KiB in order: 12 or 20 us a get with blocks, by run, and 13.4 without.
  bool hides_trip(std::uint64_t bytes) const {
    return bytes >= (std::uint64_t{64} << 10) && (left || gets != 0);
  }
};

/// The targets of a window that were used. Not thread safe.
class TargetTable {
 public:
  /// The state of a target, made at its first use by `init(TargetState&)`. Without memory, one that
  /// all such targets share, and that keeps nothing: `lacking` is set then.
  template <class Init>
  TargetState& at(int rank, bool& lacking, Init init) {
    if (rank == last_rank_) [[likely]]
      return *last_;
    try {
      const auto [place, added] = used_.try_emplace(rank);
      if (added) init(place->second);
      last_rank_ = rank;
      last_ = &place->second;
      return *last_;
    } catch (const std::bad_alloc&) {
      lacking = true;
      spare_.profile.bypass_for_good();
      return spare_;
    }
  }

  /// One that was used before.
  TargetState& used(int rank) { return used_.find(rank)->second; }

  /// act(TargetState&) for each, the shared one included.
  template <class Act>
  void each(Act act) {
    for (auto& [_, state] : used_) act(state);
    act(spare_);
  }

  /// act(int rank, TargetState&) for each that was used and has a state of its own.
  template <class Act>
  void each_used(Act act) {
    for (auto& [rank, state] : used_) act(rank, state);
  }

  /// What targets share for which there was no memory.
  TargetState& spare() { return spare_; }

  std::size_t size() const { return used_.size(); }
  std::uint64_t memory_bytes() const {
    constexpr std::uint64_t kNode = 64;  // of the map, and its bucket
    return used_.size() * (sizeof(TargetState) + kNode);
  }

 private:
  std::unordered_map<int, TargetState> used_;
  TargetState spare_;
  int last_rank_ = -1;
  TargetState* last_ = nullptr;
};

}  // namespace hob::gets
