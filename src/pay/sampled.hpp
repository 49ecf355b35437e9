// A few of many values, in fixed memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random.hpp"

namespace hob::pay {

/// Keeps `most` of the values that it is given, each as likely as the others. Not thread safe.
template <class Value, std::size_t most>
class Sampled {
 public:
  void add(const Value& value) noexcept {
    const std::uint64_t place = seen_ < most ? seen_ : random_.below(seen_ + 1);
    ++seen_;
    if (place < most) kept_[static_cast<std::size_t>(place)] = value;
  }

  std::span<const Value> kept() const noexcept {
    return std::span(kept_).first(static_cast<std::size_t>(std::min<std::uint64_t>(seen_, most)));
  }

 private:
  std::array<Value, most> kept_{};
  std::uint64_t seen_ = 0;
  Random random_{1};
};

}  // namespace hob::pay
