#pragma once

// How much to fetch around a get that is missing. One for each window; knows neither the network
// nor the cache, and asks neither of anything:
//
//     const Readahead::Plan plan = readahead.on_miss(target, displacement, size, exposed, storage,
//     ...); if (plan) ... fetch [plan.begin, plan.end) as blocks of 1 << plan.shift bytes ...
//
// It watches the program's gets, all of them for a while, then none until trips have paid for more
// or the cache has become full, and at growing intervals where nothing changes; and models what
// each block size, and no blocks at all, would make of them in a cache of this size, or of the size
// that a small one is taken to grow to (MissShadow): trips times their latency, bytes times theirs.
// The real cost of the same gets says how far the model is off for what is done now. The cheapest
// is taken if it is clearly cheaper than what is done now. So nothing is widened before the gets
// have shown that it pays, and what does not pay shrinks and stops.
//
// Beside that, streams: a trip that begins where the last one of a stream ended doubles the
// stream's window.
//
// Who asks waits for all that is fetched. So that few gets take longer than without Hob, a trip
// costs at most a few times what the get alone does, unless it brings enough for a hundred of them.
//
// Blocks are a bet on later gets. What may be lost on them is bounded by a budget: the time of some
// trips at first, then what hits on such bytes have spared and a small share of what the gets cost.
// A program that gains nothing by blocks, or no longer does, pays no more than that.
//
// Not thread safe.

#include <array>
#include <cstdint>

#include "cache/miss_shadow.hpp"
#include "pay/backoff.hpp"
#include "pay/budget.hpp"

namespace hob::cache {

class Readahead {
 public:
  struct Config {
    bool enabled = true;
    std::uint64_t fixed_bytes = 0;  ///< always blocks of so many bytes, a power of two; 0: measured
    double latency = 8000;          ///< of a trip, in any unit of time
    double per_byte = 0.25;         ///< in the same unit
    std::uint32_t first_look = 16;  ///< trips watched before the first decision
    std::uint32_t longest_look = 512;  ///< trips watched between two decisions, at most
    std::uint32_t credit = 4;          ///< gets that may be watched for each trip
    double widen = 0.75;   ///< from no blocks to blocks: only if it costs at most this share
    double change = 0.87;  ///< from one block size to another: likewise
    std::uint32_t first_budget = 384;  ///< trips whose time may be lost on blocks at first
    std::uint32_t most_budget = 2048;  ///< likewise, whatever was spared before
    double budget_share = 1.0 / 128;   ///< of what gets that miss cost, that may be lost on blocks
    /// A block is at most this share of the storage.
    std::uint64_t storage_share = 1;
    std::uint64_t longest_stream = std::uint64_t{1} << 20;  ///< bytes fetched at once, at most
    /// Likewise, whatever the reason. Blocks are at most half as large, since a get may lie in two.
    std::uint64_t longest_fetch = ~std::uint64_t{0};
  };

  /// Blocks of 1 << shift bytes from `begin` on; the last one ends at `end`, where the exposed
  /// memory may end.
  struct Plan {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t shift = 0;  ///< 0: fetch the bytes asked for, and no more
    /// Only where nothing has to be evicted for it: bytes that were not asked for yet are worth
    /// less than what the cache holds. Not where the user set the block size.
    bool into_free_room = true;
    explicit operator bool() const { return shift != 0; }
  };
  static constexpr std::uint32_t kMostBlocks = 8;  ///< of one plan

  /// Bytes [begin, end) of a target's memory.
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  explicit Readahead(const Config& config);

  /// A get is not in the cache. `exposed`: bytes of the target's memory. `readable`: which of them
  /// may be read because of this get, itself included; blocks that would not lie in it are smaller.
  /// `storage`: bytes that the cache holds now. `most_storage`: that it may grow to. A small cache
  /// is modelled as if it had: growing loses nothing, and blocks that will fit are to be fetched
  /// before the gets that they would spare.
  Plan on_miss(std::uint32_t target, std::uint64_t displacement, std::uint64_t size,
               std::uint64_t exposed, Range readable, std::uint64_t storage,
               std::uint64_t most_storage) noexcept;

  /// A trip was made for `bytes`: what on_miss() said, or less. The program asked for `asked`.
  void on_trip(std::uint64_t bytes, std::uint64_t asked) noexcept;

  /// The number of gets in all that found bytes not asked for before. To be called before
  /// on_miss().
  void on_hits(std::uint64_t total) noexcept;

  /// The gets since on_hits() were another one's to judge, with so many such hits in all: what is
  /// here is not known.
  void go_on(std::uint64_t total) noexcept {
    hits_ = total;
    on_drop();
  }

  /// Whether on_get() is to be called for the next get, found in the cache or not: after the trip
  /// that it makes, if any, since that takes long enough to do it meanwhile.
  bool recording() const { return recording_; }
  void on_get(std::uint32_t target, std::uint64_t displacement, std::uint64_t size) noexcept;
  /// In place of that, for a get whose bytes were here for another reason than that a get like it
  /// came before, as they would have been without blocks: no trip that blocks could spare.
  void on_other_hit(std::uint32_t target, std::uint64_t displacement) noexcept;

  /// The cache was dropped: all of it, or what overlaps these bytes of a target.
  void on_drop() noexcept;
  void on_drop(std::uint32_t target, std::uint64_t begin, std::uint64_t bytes) noexcept;

  /// What a trip costs, as measured.
  void set_cost(double latency, double per_byte) noexcept {
    config_.latency = latency;
    config_.per_byte = per_byte;
    // The saving from the time when trips were dear is no budget for blocks once they are cheap.
    budget_.limit(config_.most_budget * latency);
  }

  /// For good: nothing is widened any more.
  void end() noexcept { config_.enabled = recording_ = false; }
  bool enabled() const { return config_.enabled; }

  std::uint64_t block_bytes() const { return shift_ == 0 ? 0 : std::uint64_t{1} << shift_; }
  std::uint64_t changes() const { return changes_; }
  std::uint64_t memory_bytes() const { return sizeof(*this) + shadow_.memory_bytes(); }

 private:
  /// The sizes of MissShadow, of which the first is no blocks.
  static constexpr std::size_t kChoices = MissShadow::kSizes;

  struct Stream {
    std::uint32_t target = 0;
    std::uint32_t length = 0;  ///< trips that continued it; 0: unused
    std::uint64_t next = 0;    ///< where the last trip ended
    std::uint64_t window = 0;  ///< bytes fetched then
    std::uint64_t used = 0;    ///< number of the trip
  };

  bool fits(std::uint32_t shift) const { return config_.longest_fetch >> shift >= 2; }
  double cost_of(double trips, double bytes) const {
    return trips * config_.latency + bytes * config_.per_byte;
  }
  std::uint64_t longest_trip(double size, std::uint64_t most) const;
  double modelled(std::size_t choice) const;
  void forget_costs();
  void look_anew();
  void decide();
  bool size_shadow();
  bool affordable(std::size_t choice, double blocks) const;
  double not_risked() const;
  void choose(std::size_t choice);
  Stream& stream_of(std::uint32_t target, std::uint64_t displacement);
  Plan plan_of(std::uint64_t displacement, std::uint64_t size, std::uint64_t exposed,
               Range readable, std::uint32_t shift, std::uint64_t wish) const;

  Config config_;
  MissShadow shadow_;
  // Since the last decision, older gets counting less.
  std::array<double, kChoices> costs_{};  ///< as modelled, of the gets that the record stands for
  std::array<double, kChoices> seen_{};   ///< how many these were
  double looked_at_ = 0;                  ///< gets, all of them
  double paid_ = 0;
  /// The real cost over that of the model, when that was the choice.
  std::array<double, kChoices> bias_;
  double mean_size_ = 64;  ///< of gets that missed, in bytes
  std::array<Stream, 8> streams_{};
  std::uint32_t shift_ = 0;
  std::size_t choice_ = 0;
  std::uint64_t storage_ = 0;       ///< now
  std::uint64_t most_storage_ = 0;  ///< it is taken to grow to
  bool recording_ = false;
  std::uint32_t credit_;              ///< gets that may be watched, long ones counting as several
  std::uint32_t warming_ = 0;         ///< as many are watched, but do not count yet
  std::uint32_t since_trip_ = 0;      ///< gets that were watched
  std::uint32_t drops_ = 0;           ///< ranges dropped since a get was watched
  pay::Backoff<std::uint32_t> look_;  ///< trips between two decisions
  std::uint32_t until_look_;
  std::uint64_t trips_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t fetched_ = 0;  ///< bytes, since the last change
  std::uint32_t decisions_ = 0;
  std::uint32_t unchanged_ = 0;  ///< decisions in a row
  std::uint32_t pause_ = 0;      ///< trips until gets are watched again
  /// Looks that a pause is as long as: where decisions change nothing, gets are watched ever more
  /// rarely.
  pay::Backoff<std::uint32_t> pauses_{{.first = 2, .longest = 16}};
  pay::Budget budget_;      ///< time that may be lost on blocks
  std::uint64_t hits_ = 0;  ///< that the budget knows of
};

}  // namespace hob::cache
