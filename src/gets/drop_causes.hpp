// Which MPI calls ended the life of what a window's cache held. Pure: knows neither MPI nor the
// cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace hob::gets {

/// Not thread safe.
class DropCauses {
 public:
  struct Row {
    std::string_view call;
    std::uint64_t times = 0;
    std::uint64_t bytes = 0;  ///< fetched since the drop before, and lost
  };

  /// Everything was dropped, since another process may have written and said so in `call`, a
  /// literal. `fetched`: bytes so far. Returns how many were lost; none: nothing is counted.
  std::uint64_t add(std::string_view call, std::uint64_t fetched) noexcept {
    const std::uint64_t bytes = fetched - std::exchange(fetched_, fetched);
    if (bytes == 0) return 0;
    std::size_t place = 0;
    while (place < used_ && rows_[place].call != call) ++place;
    if (place == used_) {
      if (used_ < kMost)
        rows_[used_++].call = call;
      else
        rows_[--place].call = "others";
    }
    ++rows_[place].times;
    rows_[place].bytes += bytes;
    return bytes;
  }

  /// In the order in which they were first seen; what came after the first fifteen is one row.
  std::span<const Row> rows() const noexcept { return {rows_.data(), used_}; }

 private:
  static constexpr std::size_t kMost = 16;

  std::array<Row, kMost> rows_{};
  std::size_t used_ = 0;
  std::uint64_t fetched_ = 0;  ///< before the last drop
};

}  // namespace hob::gets
