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
/// numbers, unless that is more. Copies made before keep_in() are as they were; else it never
/// changes, so that several threads may read it.
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
      made->own.assign(each.begin(), each.end());
    } else {
      made->own.reserve(runs);
      made->first.reserve(runs);
      for (std::size_t i = 0; i < each.size(); ++i) {
        if (i != 0 && each[i] == each[i - 1]) continue;
        made->own.push_back(each[i]);
        made->first.push_back(static_cast<std::uint32_t>(i));
      }
    }
    made->numbers = made->own.data();
    runs_ = std::move(made);
  }

  std::uint64_t of(int rank) const {
    return runs_ == nullptr ? common_ : runs_->of(static_cast<std::size_t>(rank));
  }

  /// The numbers, where one is kept for each of more than kListed ranks; else nothing.
  std::span<const std::uint64_t> long_list() const {
    if (runs_ == nullptr || !runs_->first.empty() || runs_->own.size() <= kListed) return {};
    return runs_->own;
  }
  /// Gives long_list() back: `list` holds the same numbers, and is kept as long as this is.
  void keep_in(std::shared_ptr<const std::uint64_t> list) {
    auto made = std::make_shared<Runs>();
    made->numbers = list.get();
    made->kept_elsewhere = std::move(list);
    runs_ = std::move(made);
  }

  /// 0 where all are equal. Copies count the same memory. Without what keep_in() was given.
  std::size_t memory_bytes() const {
    return runs_ == nullptr ? 0
                            : sizeof(Runs) + runs_->own.capacity() * sizeof(std::uint64_t) +
                                  runs_->first.capacity() * sizeof(std::uint32_t);
  }

 private:
  struct Runs {
    const std::uint64_t* numbers = nullptr;  ///< `own`, or what is kept elsewhere
    std::vector<std::uint64_t> own;
    std::shared_ptr<const std::uint64_t> kept_elsewhere;
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
