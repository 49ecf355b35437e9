#pragma once

#include <cstdint>

#include "cache/cache.hpp"

namespace hob::cache {

__extension__ typedef unsigned __int128 uint128;

/// Product of two words folded to one: every input bit reaches every output bit.
inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
  const uint128 product = static_cast<uint128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// 64 well mixed bits of two words; regular strides included.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return fold_multiply(fold_multiply(a ^ 0x9e3779b97f4a7c15u, b ^ 0xe7037ed1a0b428dbu) ^ a,
                       0xa0761d6478bd642fu);
}

inline std::uint64_t hash_key(const Key& key) {
  return mix(key.displacement, key.target ^ (key.layout * 0xd6e8feb86659fd93u));
}

/// Maps a hash evenly to [0, count): by its high bits.
inline std::uint64_t to_range(std::uint64_t hash, std::uint64_t count) {
  return static_cast<std::uint64_t>((static_cast<uint128>(hash) * count) >> 64);
}

/// A small fast generator (xorshift64*); not for anything that must be hard to guess.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {
    if (state_ == 0) state_ = 1;
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  /// Even in [0, count), count > 0.
  std::uint64_t below(std::uint64_t count) { return to_range(next(), count); }

 private:
  std::uint64_t state_;
};

}  // namespace hob::cache
