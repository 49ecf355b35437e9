// How busy a ghost was when: a fixed number of intervals that grow with the run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hob::ghost {

/// Lives in shared memory, written by one ghost and read by others after it said that it is done.
struct Timeline {
  static constexpr std::size_t kBuckets = 256;
  std::uint64_t bucket_ns = 100'000;
  std::array<std::uint64_t, kBuckets> busy_ns{};

  /// Adds work from `begin` to `end`, nanoseconds since the start of the run.
  void add(std::uint64_t begin, std::uint64_t end) {
    while (end / bucket_ns >= kBuckets) halve();
    while (begin < end) {
      const std::uint64_t bucket = begin / bucket_ns;
      const std::uint64_t until = (bucket + 1) * bucket_ns < end ? (bucket + 1) * bucket_ns : end;
      busy_ns[bucket] += until - begin;
      begin = until;
    }
  }

 private:
  void halve() {
    for (std::size_t i = 0; i < kBuckets / 2; ++i) busy_ns[i] = busy_ns[2 * i] + busy_ns[2 * i + 1];
    for (std::size_t i = kBuckets / 2; i < kBuckets; ++i) busy_ns[i] = 0;
    bucket_ns *= 2;
  }
};

}  // namespace hob::ghost
