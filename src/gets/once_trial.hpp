// Whether gets of a window are asked for once each. Pure: knows neither MPI nor the cache.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::gets {

struct OnceTrialConfig {
  /// Gets that miss, and none that came back among them, after which the others are left to the
  /// library. Whenever one comes back later, the next trial is kLonger times as long, up to the
  /// longest: what is asked for twice between two drops may be much at a time.
  std::uint32_t trial = 0, longest_trial = 0;
  /// Only where the program waits once for this many gets or more.
  std::uint32_t gets_per_wait = 0;
  /// Fewer hits than one for this many misses count as none: of places at random, some come twice.
  /// 0: each counts, and so does each get that storage would have had room for.
  std::uint32_t misses_per_hit = 0;
  /// Gets in order that are farther apart than this multiple of their bytes are left, too: blocks
  /// spare nothing there. 0: however far they are apart, they are not.
  std::uint64_t longest_step = 0;
};

/// Stops looking up gets while none of them comes back. What Hob does for a get that misses takes
/// around a microsecond where the network's copies have emptied the processor's caches, and a
/// program that issues a burst does not read what arrives meanwhile: a TCP connection whose receive
/// buffer is just large enough then stalls, and each get takes 2 us longer. Some places are looked
/// up all the same, and some gets in a row, so that reuse and blocks are seen as programs change.
/// Not thread safe.
class OnceTrial {
 public:
  using Config = OnceTrialConfig;
  /// From here on, gets are judged as large.
  static constexpr std::uint64_t kLarge = std::uint64_t{16} << 10;
  static constexpr Config kLargeGets{.trial = 384, .longest_trial = 512};
  /// Small gets are cheap to keep, and may come in blocks: only those that share a wait with others
  /// take little more time than a miss. The trial is as long as a first phase that recall records.
  static constexpr Config kSmallGets{.trial = 4096,
                                     .longest_trial = std::uint32_t{1} << 22,
                                     .gets_per_wait = 4,
                                     .misses_per_hit = 16,
                                     .longest_step = 8};
  static constexpr std::uint32_t kLonger = 8;
  /// Then one place in so many is looked up whenever it is asked for: its reuse is that of all.
  static constexpr std::uint32_t kSample = 64;
  /// And the first so many gets of each so many: neighbours show what blocks would spare.
  static constexpr std::uint32_t kLook = 8, kBetweenLooks = 1024;

  explicit OnceTrial(const Config& config) : config_(config), trial_(config.trial) {}

  /// A get of so many bytes comes. Whether it is left to the library. One that is as far from the
  /// one before as that was from its own is not: blocks may spare its trip, unless it is
  /// `hidden` (TargetState::hides_trip()).
  bool leaves(std::uint32_t target, std::uint64_t place, std::uint64_t bytes, bool hidden = false) {
    if (!resting_) [[likely]]
      return false;
    const std::uint64_t step = place - last_;
    const std::uint64_t reach = config_.longest_step * bytes;
    const bool in_order = step == step_ && (reach == 0 || step + reach <= 2 * reach);
    last_ = place;
    step_ = step;
    return ++asked_ % kBetweenLooks >= kLook && (hidden || !in_order) && !is_sampled(target, place);
  }

  /// One was looked up, and had to be fetched, when so many had been looked up in all.
  /// `reused_since(number)`: whether one came back among those from that number on.
  template <class ReusedSince>
  void missed(std::uint64_t number, ReusedSince reused_since) {
    const bool any = config_.misses_per_hit == 0;
    if (resting_) {
      if (any && reused_since(began_)) start_anew();
      if (hits_worth_ != 0) --hits_worth_;
      return;
    }
    if (misses_++ == 0) {
      began_ = number;
      waits_ = hits_worth_ = 0;
    }
    if (misses_ < trial_) return;
    const bool reused = any ? reused_since(began_) : hits_worth_ > trial_;
    resting_ = waits_ * config_.gets_per_wait <= trial_ && !reused;
    misses_ = 0;
    hits_worth_ = 0;
    asked_ = kLook - 1;  // the look has been
  }

  /// The program has waited for what it had asked for.
  void waited() { ++waits_; }

  /// One was served, at least in part.
  void served() {
    constexpr std::uint64_t kEnough = 4;
    hits_worth_ += config_.misses_per_hit;
    if (resting_ && hits_worth_ >= kEnough * config_.misses_per_hit) [[unlikely]]
      start_anew();
  }

 private:
  static bool is_sampled(std::uint32_t target, std::uint64_t place) {
    const std::uint64_t mixed = (place + (std::uint64_t{target} << 40)) * 0x9e3779b97f4a7c15u;
    return (mixed >> 32) % kSample == 0;
  }
  void start_anew() {
    resting_ = false;
    misses_ = 0;
    trial_ = std::min(kLonger * trial_, config_.longest_trial);
  }

  Config config_;
  bool resting_ = false;
  std::uint32_t trial_;
  std::uint32_t misses_ = 0;
  std::uint64_t waits_ = 0;       ///< since the trial began
  std::uint64_t hits_worth_ = 0;  ///< misses; while it rests, less those that there were
  std::uint32_t asked_ = 0;       ///< while it rests
  std::uint64_t began_ = 0;       ///< the first look-up of the trial
  std::uint64_t last_ = 0;        ///< while it rests: the place of the last get
  std::uint64_t step_ = 0;        ///< and how far it was from the one before
};

}  // namespace hob::gets
