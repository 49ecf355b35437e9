#pragma once

// What a trip costs, learned from single gets: a latency, and a time for each byte. Bytes' share is
// assumed until a long get was seen. Follows what gets cheaper quickly and what gets dearer slowly,
// since a process that is put to sleep makes a get look dear.

#include <algorithm>
#include <cstdint>

namespace hob::cache {

/// Times are in any unit, of the caller's choice. Not thread safe.
class TripCost {
 public:
  static constexpr std::uint64_t kSmall = 1024;  ///< bytes: up to here, latency is all
  static constexpr std::uint64_t kLarge = 4096;  ///< bytes: from here on, their share shows

  TripCost(double latency, double per_byte) : latency_(latency), per_byte_(per_byte) {}

  /// One get of `bytes`, from its call to the end of its flush.
  void add(std::uint64_t bytes, std::uint64_t spent) {
    const auto time = static_cast<double>(spent);
    const auto size = static_cast<double>(bytes);
    if (bytes <= kSmall) {
      latency_ = seen_ ? towards(latency_, time) : time;
      seen_ = true;
    } else if (!seen_) {
      learn_without_small(size, time);
    } else if (bytes >= kLarge && seen_) {
      const double rate = std::max(time - latency_, 0.0) / size;
      const double weight = std::min(size / kCertain, 1.0);
      per_byte_ = std::max(per_byte_ + (towards(per_byte_, rate) - per_byte_) * weight,
                           kLeastPerByte * latency_);
      rate_seen_ = true;
    }
  }

  double latency() const { return latency_; }
  double per_byte() const { return per_byte_; }
  /// Whether per_byte() was measured; it is assumed before.
  bool rate_seen() const { return rate_seen_; }
  /// The latency as bytes that could be transferred in that time.
  std::uint64_t latency_bytes() const { return static_cast<std::uint64_t>(latency_ / per_byte_); }

 private:
  /// Gets of about one size.
  struct Alike {
    double bytes = 0, time = 0;

    /// Takes one in, or begins anew with it if it is `further` out.
    void add(double size, double spent, bool further) {
      if (further || bytes == 0)
        *this = {size, spent};
      else
        time = towards(time, spent);
    }
  };
  static constexpr double kAlike = 1.25;

  /// Of a program that fetches nothing small, how much of a get's time is the bytes' is seen once
  /// two sizes were. Until then it is what they are assumed to take, half of the time at most.
  void learn_without_small(double size, double time) {
    if (shorter_.bytes == 0 || size <= kAlike * shorter_.bytes)
      shorter_.add(size, time, size * kAlike < shorter_.bytes);
    else if (size * kAlike >= longer_.bytes)
      longer_.add(size, time, size > kAlike * longer_.bytes);
    if (longer_.bytes >= 2 * shorter_.bytes && longer_.time > shorter_.time) {
      per_byte_ = (longer_.time - shorter_.time) / (longer_.bytes - shorter_.bytes);
      per_byte_ = std::min(per_byte_, kMostOfAll * shorter_.time / shorter_.bytes);
      latency_ = shorter_.time - per_byte_ * shorter_.bytes;
    } else {
      per_byte_ = std::min(per_byte_, time / size / 2);
      latency_ = std::min(latency_, time - per_byte_ * size);
    }
  }

  static constexpr double kMostOfAll = 0.9;

  /// Of the latency: a megabyte costs at least a tenth of a trip.
  static constexpr double kLeastPerByte = 1e-7;

  /// Bytes. Of a shorter get, latency's own deviations are much of what seems to be the bytes'
  /// time: it counts for as much less.
  static constexpr double kCertain = 65536;

  static double towards(double now, double sample) {
    return now + (std::min(sample, 4 * now) - now) / (sample < now ? 4 : 16);
  }

  double latency_;
  double per_byte_;
  Alike shorter_, longer_;  ///< as long as no small get was seen
  bool seen_ = false;       ///< a small get
  bool rate_seen_ = false;  ///< a large one
};

}  // namespace hob::cache
