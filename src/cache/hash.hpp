#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "cache/cache.hpp"

namespace hob::cache {

using hob::Random;

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

}  // namespace hob::cache
