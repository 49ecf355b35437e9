// What things cost. While another process has the core, a thing seems to take milliseconds: that is
// not its price.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace hob::pay {

/// How an average follows its samples: a lower one counts for `down` of the difference, a higher
/// one for `up` (0..1), and none for more than `most` times the average.
struct Weights {
  double down, up;
  double most = 4;
};
constexpr double towards(double average, double sample, const Weights& weights) {
  return average + (std::min(sample, weights.most * average) - average) *
                       (sample < average ? weights.down : weights.up);
}

/// The last samples of a price, in fixed memory, of which less than half may be anything. Any unit.
/// Not thread safe.
template <std::size_t kSamples>
class Recent {
 public:
  void add(double sample) {
    samples_[next_] = sample;
    next_ = (next_ + 1) % kSamples;
    seen_ = std::min(seen_ + 1, kSamples);
  }
  void clear() { next_ = seen_ = 0; }
  bool empty() const { return seen_ == 0; }

  /// 0 where there is none.
  double median() const {
    std::array<double, kSamples> sorted = samples_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(seen_ / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(seen_));
    return seen_ == 0 ? 0 : *middle;
  }
  double least() const {
    return seen_ == 0 ? 0 : *std::min_element(samples_.begin(), samples_.begin() + seen_);
  }

 private:
  std::array<double, kSamples> samples_{};
  std::size_t next_ = 0, seen_ = 0;
};

/// What moving bytes costs: a latency, and a time for each byte, in any unit of time. Learned from
/// single transfers; the bytes' share is assumed until a long one was seen. Follows what gets
/// cheaper quickly and what gets dearer slowly. Not thread safe.
class Price {
 public:
  static constexpr std::uint64_t kSmall = 1024;  ///< bytes: up to here, latency is all
  static constexpr std::uint64_t kLarge = 4096;  ///< bytes: from here on, their share shows

  /// What is assumed at first; both above 0.
  Price(double latency, double per_byte) : latency_(latency), per_byte_(per_byte) {}

  /// A transfer of `bytes` took `spent`.
  void add(std::uint64_t bytes, std::uint64_t spent) {
    const auto time = static_cast<double>(spent);
    const auto size = static_cast<double>(bytes);
    if (bytes <= kSmall) {
      latency_ = seen_ ? towards(latency_, time, kFollows) : time;
      seen_ = true;
    } else if (!seen_) {
      learn_without_small(size, time);
    } else if (bytes >= kLarge && seen_) {
      const double rate = std::max(time - latency_, 0.0) / size;
      const double weight = std::min(size / kCertain, 1.0);
      per_byte_ = std::max(per_byte_ + (towards(per_byte_, rate, kFollows) - per_byte_) * weight,
                           kLeastPerByte * latency_);
      rate_seen_ = true;
    }
  }

  double latency() const { return latency_; }
  double per_byte() const { return per_byte_; }
  /// Whether per_byte() was measured; it is assumed before.
  bool rate_seen() const { return rate_seen_; }
  /// The latency as bytes that could be moved in that time.
  std::uint64_t latency_bytes() const { return static_cast<std::uint64_t>(latency_ / per_byte_); }

 private:
  /// Transfers of about one size.
  struct Alike {
    double bytes = 0, time = 0;

    /// Takes one in, or begins anew with it if it is `further` out.
    void add(double size, double spent, bool further) {
      if (further || bytes == 0)
        *this = {size, spent};
      else
        time = towards(time, spent, kFollows);
    }
  };
  static constexpr double kAlike = 1.25;
  static constexpr double kMostOfAll = 0.9;

  /// Where nothing small is moved, how much of a transfer's time is the bytes' is seen once there
  /// were two sizes. Until then it is what they are assumed to take, half of the time at most.
  void learn_without_small(double size, double time) {
    if (shorter_.bytes == 0 || size <= kAlike * shorter_.bytes)
      shorter_.add(size, time, size * kAlike < shorter_.bytes);
    else if (size * kAlike >= longer_.bytes)
      longer_.add(size, time, size > kAlike * longer_.bytes);
    if (longer_.bytes >= 2 * shorter_.bytes && longer_.time > shorter_.time) {
      per_byte_ = (longer_.time - shorter_.time) / (longer_.bytes - shorter_.bytes);
      per_byte_ = std::min(per_byte_, kMostOfAll * shorter_.time / shorter_.bytes);
      latency_ = shorter_.time - per_byte_ * shorter_.bytes;
      rate_seen_ = true;
    } else {
      per_byte_ = std::min(per_byte_, time / size / 2);
      latency_ = std::min(latency_, time - per_byte_ * size);
    }
  }

  static constexpr Weights kFollows{.down = 1.0 / 4, .up = 1.0 / 16};
  /// Of the latency: a megabyte costs at least a tenth of it.
  static constexpr double kLeastPerByte = 1e-7;
  /// Bytes. Of a shorter transfer, latency's own deviations are much of what seems to be the bytes'
  /// time: it counts for as much less.
  static constexpr double kCertain = 65536;

  double latency_;
  double per_byte_;
  Alike shorter_, longer_;  ///< as long as there was no small one
  bool seen_ = false;       ///< a small transfer
  bool rate_seen_ = false;  ///< a large one
};

}  // namespace hob::pay
