// One number for each rank of a window. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace hob {

/// Takes no memory where all are equal, as they nearly always are. Where they are not, copies share
/// it: eight bytes for each of up to kListed ranks; of more ranks twelve for each run of equal
/// numbers, unless that is more. Never changes, so thread safe.
class PerRank {
 public:
  static constexpr std::size_t kListed = 4096;

  PerRank() = default;
  explicit PerRank(std::uint64_t common) : common_(common) {}

  /// By rank; not empty.
  explicit PerRank(std::span<const std::uint64_t> each) : common_(each.front()) {
    std::size_t runs = 1;
    for (std::size_t i = 1; i < each.size(); ++i) runs += each[i] != each[i - 1] ? 1 : 0;
    if (runs == 1) return;
    auto made = std::make_shared<Runs>();
    constexpr std::size_t kRun = sizeof(std::uint64_t) + sizeof(std::uint32_t);
    if (each.size() <= kListed || runs * kRun >= each.size_bytes()) {
      made->numbers.assign(each.begin(), each.end());
    } else {
      made->numbers.reserve(runs);
      made->first.reserve(runs);
      for (std::size_t i = 0; i < each.size(); ++i) {
        if (i != 0 && each[i] == each[i - 1]) continue;
        made->numbers.push_back(each[i]);
        made->first.push_back(static_cast<std::uint32_t>(i));
      }
    }
    runs_ = std::move(made);
  }

  std::uint64_t of(int rank) const {
    return runs_ == nullptr ? common_ : runs_->of(static_cast<std::size_t>(rank));
  }

  /// 0 where all are equal. Copies count the same memory.
  std::size_t memory_bytes() const {
    return runs_ == nullptr ? 0
                            : sizeof(Runs) + runs_->numbers.capacity() * sizeof(std::uint64_t) +
                                  runs_->first.capacity() * sizeof(std::uint32_t);
  }

 private:
  struct Runs {
    std::vector<std::uint64_t> numbers;
    std::vector<std::uint32_t> first;  ///< the first rank of each run; empty: a number each

    std::uint64_t of(std::size_t rank) const {
      if (first.empty()) return numbers[rank];
      const auto after = std::upper_bound(first.begin(), first.end(), rank);
      return numbers[static_cast<std::size_t>(after - first.begin()) - 1];
    }
  };

  std::uint64_t common_ = 0;
  std::shared_ptr<const Runs> runs_;
};

}  // namespace hob
