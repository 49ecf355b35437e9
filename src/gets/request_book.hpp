// How gets under way are named towards those who watch their requests, and which of them failed.
// Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "gets/gets_under_way.hpp"

namespace hob::gets {

/// A name, a "cookie", is of one get and never given again. Not thread safe.
class RequestBook {
 public:
  explicit RequestBook(GetsUnderWay& under_way) : under_way_(under_way) {}

  std::uint64_t cookie_of(std::uint32_t index) const {
    return (std::uint64_t{under_way_[index].birth} << 32) | index;
  }
  static std::uint32_t index_of(std::uint64_t cookie) { return static_cast<std::uint32_t>(cookie); }

  /// The get of that name, or null: it is complete.
  PendingGet* find(std::uint64_t cookie) {
    if (!under_way_.has(index_of(cookie))) return nullptr;
    PendingGet& pending = under_way_[index_of(cookie)];
    return pending.birth == cookie >> 32 ? &pending : nullptr;
  }

  /// It ended with this error. The first ones are remembered: others that wait for the same get
  /// hear of it.
  void failed(std::uint64_t cookie, int error) noexcept {
    constexpr std::size_t kMost = 64;
    try {
      if (failed_.size() < kMost) failed_.emplace_back(cookie, error);
    } catch (const std::bad_alloc&) {
      // They do not hear of it.
    }
  }
  /// The error with which it ended; `success` where none is known.
  int error_of(std::uint64_t cookie, int success) const {
    const auto found = std::find_if(failed_.begin(), failed_.end(),
                                    [&](const auto& each) { return each.first == cookie; });
    return found == failed_.end() ? success : found->second;
  }

 private:
  GetsUnderWay& under_way_;
  std::vector<std::pair<std::uint64_t, int>> failed_;
};

}  // namespace hob::gets
