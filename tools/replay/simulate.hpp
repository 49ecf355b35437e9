#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/cache.hpp"
#include "report/trace.hpp"

namespace hob::replay {

/// What a get costs on the network.
struct Latency {
  double fixed_us = 8;         ///< per get
  double bytes_per_us = 4000;  ///< 4 GB/s

  double of(std::uint64_t bytes) const {
    return bytes == 0 ? 0 : fixed_us + static_cast<double>(bytes) / bytes_per_us;
  }
  /// The fixed cost as bytes.
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(fixed_us * bytes_per_us); }
};

/// What replaying one trace gave.
struct Outcome {
  std::uint64_t gets = 0;
  std::uint64_t hits = 0;              ///< full and pending ones
  double native_us = 0;                ///< network time without a cache
  double network_us = 0;               ///< network time with it
  std::uint64_t slots = 0;             ///< |I_w| that was used
  std::uint64_t trips = 0;             ///< gets given to the network
  std::uint64_t bytes = 0;             ///< fetched
  std::uint64_t ahead_bytes = 0;       ///< of these, not asked for when they were fetched
  std::uint64_t ahead_used_bytes = 0;  ///< of these, asked for later
  std::uint64_t recalled = 0;          ///< places fetched again at the beginning of a phase
  std::uint64_t recall_used = 0;       ///< of these, asked for
  std::uint64_t selections = 0;        ///< searches for a victim
  std::uint64_t visited = 0;           ///< by these: slots of the index, or entries
  std::uint64_t visited_nonempty = 0;  ///< of these, with an entry
  double used_bytes = 0;               ///< of the storage, summed over the later half of the gets
  double storage_bytes = 0;            ///< the same of its size

  double hit_ratio() const {
    return gets == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(gets);
  }
  /// Share of the storage that is in use in the later half of the gets.
  double occupied() const { return storage_bytes == 0 ? 0 : used_bytes / storage_bytes; }
  /// For each victim.
  double visits() const {
    return selections == 0 ? 0 : static_cast<double>(visited) / static_cast<double>(selections);
  }
  /// Share of the entries visited.
  double empty() const {
    return visited == 0 ? 0
                        : 1 - static_cast<double>(visited_nonempty) / static_cast<double>(visited);
  }
  double saved() const { return native_us == 0 ? 0 : 1 - network_us / native_us; }
};

/// What a trace is, for people and for budgets in per cent.
struct Shape {
  std::uint64_t gets = 0;
  std::uint64_t distinct = 0;         ///< different keys
  std::uint64_t footprint_bytes = 0;  ///< sum of the longest get of every key
  std::uint64_t windows = 0;
};
Shape shape_of(const std::vector<report::TraceRecord>& records);

/// How much more than was asked for is fetched, see cache::Readahead and recall::Recall.
struct Ahead {
  bool enabled = false;
  std::uint64_t fixed_bytes = 0;  ///< 0: measured
  bool recall = false;  ///< phases end where everything was dropped; each get is waited for alone
};

/// Runs a trace through caches of that configuration, one for each window, each with its share of
/// the budget `bytes` (shared out by footprint). With fixed sizes; the index has room for the
/// entries that the budget can hold. Fetches complete at once.
Outcome replay(const std::vector<report::TraceRecord>& records, cache::Config config,
               std::uint64_t bytes, const Latency& latency, Ahead ahead = {});

/// The same with the index size that serves best of a few; what a user who tunes |I_w| would get.
Outcome replay_tuned(const std::vector<report::TraceRecord>& records, const cache::Config& config,
                     std::uint64_t bytes, const Latency& latency);

/// The same with an index of that many slots in each window.
Outcome replay_indexed(const std::vector<report::TraceRecord>& records, const cache::Config& config,
                       std::uint64_t bytes, std::uint64_t slots, const Latency& latency);

/// The paper's comparator "native": fixed blocks, direct mapped. A missing block is fetched whole;
/// blocks missing side by side are one get. Saves nothing where not one block fits.
Outcome replay_blocks(const std::vector<report::TraceRecord>& records, std::uint64_t block_bytes,
                      std::uint64_t bytes, const Latency& latency);

/// The same with the block size, from 256 B to 1 MiB, that serves best.
Outcome replay_best_blocks(const std::vector<report::TraceRecord>& records, std::uint64_t bytes,
                           const Latency& latency);

/// An upper bound of what any policy can save with `bytes` bytes, knowing the future (PFOO-U;
/// Berger, Beckmann, Harchol-Balter 2018): the intervals between two gets of a key with the highest
/// saving for each byte and time are kept, as long as they fit on average. Gets of equal keys only.
Outcome bound(const std::vector<report::TraceRecord>& records, std::uint64_t bytes,
              const Latency& latency);

/// What blocks of one size save at best: missing blocks are fetched whole, neighbours by one get,
/// and the block goes whose next use is farthest away (Belady's MIN), the new one perhaps. Own
/// writes and drops of one target are left out.
Outcome bound_of_blocks(const std::vector<report::TraceRecord>& records, std::uint64_t block_bytes,
                        std::uint64_t bytes, const Latency& latency);

/// The same with the block size, from 256 B to 1 MiB, that saves most.
Outcome bound_of_best_blocks(const std::vector<report::TraceRecord>& records, std::uint64_t bytes,
                             const Latency& latency);

}  // namespace hob::replay
