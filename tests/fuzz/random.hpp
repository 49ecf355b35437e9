// The random numbers of the fuzz programs: the same on every rank, machine and MPI library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fuzz {

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ull); }

  /// A number in [0, n); 0 if n is not positive.
  int below(int n) { return n > 0 ? static_cast<int>(next() % static_cast<std::uint64_t>(n)) : 0; }

  /// True in `percent` of 100 calls.
  bool chance(int percent) { return below(100) < percent; }

  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(static_cast<int>(i)))]);
  }

  /// A random divisor of n >= 1.
  int divisor(int n) {
    int d = 1 + below(n);
    while (n % d != 0) --d;
    return d;
  }

 private:
  std::uint64_t state_;
};

}  // namespace fuzz
