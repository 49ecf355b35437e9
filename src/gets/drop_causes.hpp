// Which MPI calls ended the life of what a window's cache held. Pure: knows neither MPI nor the
// cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hob::gets {

/// Not thread safe.
class DropCauses {
 public:
  struct Row {
    std::string_view call;
    std::uint64_t times = 0;
    std::uint64_t bytes = 0;  ///< fetched since the drop before, and lost
  };

  /// Everything was dropped, since `call` may have told of others' writes. `call` is a literal.
  void add(std::string_view call, std::uint64_t bytes) noexcept {
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
  }

  /// In the order in which they were first seen; what came after the first fifteen is one row.
  std::span<const Row> rows() const noexcept { return {rows_.data(), used_}; }

 private:
  static constexpr std::size_t kMost = 16;

  std::array<Row, kMost> rows_{};
  std::size_t used_ = 0;
};

}  // namespace hob::gets
