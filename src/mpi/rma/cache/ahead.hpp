// Fetching more than was asked for: what one window needs for it (docs/consistency.md, "Fetched
// ahead").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "cache/readahead.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/cache/terms.hpp"
#include "pay/price.hpp"

namespace hob::mpi {

/// The size of blocks changed; 0: nothing is fetched ahead.
struct BlockChange {
  std::uint64_t get = 0;  ///< of the window, counted from the first
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

/// Readahead of one window. Not thread safe.
struct Ahead {
  Ahead(const cache::Readahead::Config& config, std::unique_ptr<ExposedSizes> sizes,
        const PollGuard::Config& age, double latency_ticks, double ticks_per_byte)
      : readahead(config),
        other(config),
        exposed(std::move(sizes)),
        guard(age),
        cost(latency_ticks, ticks_per_byte),
        block(readahead.block_bytes()) {}

  /// What the next trips cost: as measured, or what a get takes in a batch, in ticks (0: it does
  /// not go out in one). Before on_miss().
  void price(double in_batch) {
    // A flush sees what the target's copies cost only where it has nothing else to do.
    readahead.set_cost(in_batch != 0 ? in_batch : cost.latency(),
                       cost.per_byte() + tuning::gets::kCopiesAhead * copying_per_byte);
  }

  /// Blocks of so many bytes were taken into the cache in `spent` ticks, after the flush that
  /// brought them: time that its end does not include.
  void taken_in(std::uint64_t bytes, std::uint64_t spent) {
    if (bytes < pay::Price::kLarge) return;
    const double rate = static_cast<double>(spent) / static_cast<double>(bytes);
    const double most = copying_per_byte == 0 ? rate : tuning::gets::kCopyMost * copying_per_byte;
    copying_per_byte += (std::min(rate, most) - copying_per_byte) * tuning::gets::kCopyWeight;
  }

  /// Whether most of what the program reads is recalled (src/recall). What is left of a phase then
  /// says nothing of other phases, and they say nothing of it: each is learned by itself.
  /// `hits`: first hits on bytes that were fetched ahead, so far.
  void beside_recalled(bool yes, std::uint64_t hits) {
    if (yes == is_beside) return;
    is_beside = yes;
    readahead.on_hits(hits);
    std::swap(readahead, other);
    readahead.go_on(hits);
    block = readahead.block_bytes();
  }
  std::uint64_t block_changes() const { return readahead.changes() + other.changes(); }
  /// For good.
  void end() {
    readahead.end();
    other.end();
  }

  /// A trip was made for `bytes`, of which `asked` were asked for, by the window's get of that
  /// number.
  void trip(std::uint64_t bytes, std::uint64_t asked, std::uint64_t get) noexcept {
    constexpr std::size_t kMostChanges = 256;
    readahead.on_trip(bytes, asked);
    const std::uint64_t before = std::exchange(block, readahead.block_bytes());
    if (block == before || changes.size() == kMostChanges) [[likely]]
      return;
    try {
      changes.push_back({get, before, block});
    } catch (const std::bad_alloc&) {
      // One line of the report fewer.
    }
  }

  std::uint64_t memory_bytes() const {
    return sizeof(*this) + readahead.memory_bytes() + other.memory_bytes() +
           exposed->memory_bytes() + pool.memory_bytes();
  }

  cache::Readahead readahead;  ///< of phases as the present one
  cache::Readahead other;      ///< of the others
  bool is_beside = false;      ///< most of the present phase is recalled
  std::unique_ptr<ExposedSizes> exposed;
  PollGuard guard;  ///< of bytes that were fetched ahead and are asked for the first time
  pay::Price cost;
  double copying_per_byte = 0;  ///< ticks
  AheadPool pool;
  std::uint64_t block;               ///< the size of blocks at the last trip; 0: none
  std::vector<BlockChange> changes;  ///< the first ones
};

}  // namespace hob::mpi
