#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hob::cache {

/// What decides who leaves the cache, and with which index and storage it works.
enum class Policy : std::uint8_t {
  standard,    ///< Hob's default ("default"): bucket index, segregated fit, value-based eviction
  paper,       ///< the paper's configuration: cuckoo, best fit, positional x temporal
  temporal,    ///< the paper's, victims by temporal score alone
  positional,  ///< the paper's, victims by positional score alone
  lru,         ///< least recently used, exact
  sieve,       ///< SIEVE
  s3fifo       ///< S3-FIFO
};

/// Names as users type them, in the order of the enumeration.
inline constexpr std::array<std::string_view, 7> kPolicyNames = {
    "default", "paper", "temporal", "positional", "lru", "sieve", "s3fifo"};

/// The policy of a name; nothing if there is none.
constexpr std::optional<Policy> parse_policy(std::string_view name) {
  for (std::size_t i = 0; i < kPolicyNames.size(); ++i)
    if (kPolicyNames[i] == name) return static_cast<Policy>(i);
  return std::nullopt;
}
constexpr std::string_view policy_name(Policy policy) {
  return kPolicyNames[static_cast<std::size_t>(policy)];
}

/// Online adaptation of |I_w| and |S_w| (paper III-E1). Ratios are taken over the gets since the
/// last adjustment or the last window of `interval` gets.
struct Adaptation {
  bool enabled = true;
  std::uint64_t interval = 1024;  ///< gets between two looks at the signals, at least 16

  double conflict_threshold = 0.05;    ///< conflicting / gets above it: I_w grows
  double index_increase_factor = 2.0;  ///< > 1
  double sparsity_threshold = 0.1;     ///< q (non-empty / visited) below it: I_w shrinks
  double index_decrease_factor = 2.0;  ///< > 1

  double capacity_threshold = 0.05;     ///< (capacity + failing) / gets above it: S_w grows
  double memory_increase_factor = 2.0;  ///< > 1
  double stable_threshold = 0.8;        ///< hits / gets above it, and
  double free_threshold = 0.5;          ///< free / |S_w| above it: S_w shrinks
  double memory_decrease_factor = 2.0;  ///< > 1

  std::uint64_t min_index_slots = 256;
  std::uint64_t max_index_slots = std::uint64_t{1} << 22;
  std::uint64_t min_storage_bytes = std::uint64_t{256} << 10;
  std::uint64_t max_storage_bytes = std::uint64_t{1} << 30;
};

/// The settings of one cache. Defaults are those of settings.def
/// (tests/unit/mpi/defaults_test.cpp).
struct Config {
  Policy policy = Policy::standard;
  std::uint64_t index_slots = 4096;                       ///< |I_w|, entries that can be indexed
  std::uint64_t storage_bytes = std::uint64_t{64} << 20;  ///< |S_w|, in bytes
  Adaptation adaptation{};
  std::uint32_t sample = 16;  ///< M: entries looked at to find a victim (paper III-D), 1..256
  std::uint64_t seed = 1;     ///< of every random choice; equal seeds give equal runs
  /// Fixed cost of a fetch in bytes that could be transferred in that time (latency x bandwidth).
  std::uint64_t latency_bytes = 32768;
};

}  // namespace hob::cache
