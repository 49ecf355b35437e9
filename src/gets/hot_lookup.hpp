// Gets that are like one served before: looked up without the questions whose answers have not
// changed since. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cache/cache.hpp"
#include "gets/target_state.hpp"

namespace hob::gets {

/// Two rows for each of a few targets say what gets of it with one datatype need to be served. The
/// owner opens it with a hit that has passed all questions, and closes all rows wherever one of the
/// answers may change: whenever anything but a hit is done about the window. Not thread safe.
class HotLookup {
 public:
  struct Config {
    /// Hits that are served here for each one that is not, where the owner looks at the clock: as
    /// long as the times of these are at most so many ticks apart.
    std::uint32_t hits = 3;
    std::uint64_t ticks = 0;
  };

  /// What a row is opened with.
  struct Row {
    int target = -1;
    bool idle = false;        ///< nothing is outstanding there: a flush has nothing to do
    bool cheap = false;       ///< the owner's to know
    std::uint64_t type = 0;   ///< bits of the handle, of both buffers
    std::uint64_t types = 0;  ///< a number that changes when handles may be given again
    std::uint64_t bytes = 0;  ///< of an element; any number of them is one block
    std::int64_t low = 0;     ///< where its bytes begin
    std::int64_t unit = 1;    ///< of displacements
    TargetState* state = nullptr;
  };

  /// A get as the program has asked for it, of as many elements of a type as it has room for.
  struct Asked {
    void* buffer;
    std::int64_t count;
    std::uint64_t type;
    std::int64_t displacement;
    int target;
  };

  /// What a get that was served is to be counted as.
  struct Served {
    const Row* row = nullptr;  ///< null: it was not served, and is not counted
    std::uint8_t what = 0;     ///< as of FullHit
    std::uint64_t displacement = 0;
    std::uint64_t bytes = 0;
  };

  HotLookup(const Config& config, cache::Cache& cache) : config_(config), cache_(cache) {}

  /// A hit that the owner served at time `now`. `terms` are true until close().
  void looked(std::uint64_t now, const cache::HitTerms& terms) {
    left_ = now - looked_ <= config_.ticks ? config_.hits : 0;
    looked_ = now;
    terms_ = terms;
  }
  /// Gets like that one are served from now on.
  void open(const Row& row) {
    Rows& rows = rows_[place_of(row.target)];
    const bool other = is_open(rows[0], row.target) && rows[0].type != row.type;
    rows[other ? 1 : 0] = {row, closings_};
  }
  void close() { ++closings_; }

  /// Serves a get, or does nothing. `types`: see Row.
  [[gnu::always_inline]] Served serve(const Asked& get, std::uint64_t types) noexcept {
    const Rows& rows = rows_[place_of(get.target)];
    const Opened& row = rows[rows[0].type == get.type ? 0 : 1];
    if (!is_open(row, get.target) || row.type != get.type || row.types != types || left_ == 0 ||
        get.count <= 0)
      return {};
    const std::uint64_t bytes = row.bytes * static_cast<std::uint64_t>(get.count);
    const auto displacement = static_cast<std::uint64_t>(get.displacement * row.unit + row.low);
    const cache::FullHit hit =
        cache_.find_full({static_cast<std::uint32_t>(get.target), displacement, 0}, bytes, terms_);
    if (!hit.data) return {};
    --left_;
    std::memcpy(static_cast<std::byte*>(get.buffer) + row.low, hit.data, bytes);
    ++row.state->hits;
    return {&row, hit.what, displacement, bytes};
  }

  /// Whether a flush of the target has nothing to do, and comes after hits; these are flushed then.
  [[gnu::always_inline]] bool flush(int target) noexcept {
    const Rows& rows = rows_[place_of(target)];
    const Opened& row = rows[is_open(rows[0], target) ? 0 : 1];
    if (!is_open(row, target) || !row.idle || !row.state->hits_to_flush()) return false;
    row.state->flushed_hits = row.state->hits;
    return true;
  }

 private:
  static constexpr std::size_t kTargets = 8;

  struct Opened : Row {
    std::uint64_t closings = 0;  ///< when it was opened
  };
  using Rows = std::array<Opened, 2>;

  static std::size_t place_of(int target) { return static_cast<std::size_t>(target) % kTargets; }
  bool is_open(const Opened& row, int target) const {
    return row.target == target && row.closings == closings_;
  }

  Config config_;
  cache::Cache& cache_;
  cache::HitTerms terms_{};
  std::uint64_t closings_ = 1;
  std::uint64_t looked_ = 0;
  std::uint32_t left_ = 0;  ///< hits until the owner is to look at the clock
  std::array<Rows, kTargets> rows_{};
};

}  // namespace hob::gets
