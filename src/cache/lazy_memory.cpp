#include "cache/lazy_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cache/state.hpp"
#include "os/memory.hpp"

namespace hob::cache {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
/// So much of a range is backed by small pages: what needs little takes little. A huge page costs
/// what some seventy small ones do, so the rest is backed by these.
constexpr std::uint64_t kSmallPart = std::uint64_t{512} << 10;
static_assert(LazyMemory::kMostKeptBytes == kSmallPart && kSmallPart < kHugePage);
/// Shorter ranges have small pages alone.
constexpr std::uint64_t kLongRange = 4 * kHugePage;

/// A huge page for a few bytes more than kSmallPart is memory that may never be used: so many
/// ranges of the process have one at a time.
constexpr int kMostEarly = 8;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// What all of them may have together before each gets less: 64 GB, of the 128 TB that a process
/// has. One more always gets 16 MB, a quarter of a million entries.
constexpr std::uint64_t kShared = std::uint64_t{64} << 30;
constexpr std::uint64_t kLeastShare = std::uint64_t{16} << 20;
/// Of what is left, one may take a quarter.
constexpr std::uint64_t kPart = 4;

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

/// Ranges that ended. Never destroyed.
struct Kept {
  struct Range {
    std::byte* base = nullptr;
    std::uint64_t reserved = 0, backed = 0;
  };
  std::atomic_flag busy;
  std::array<Range, LazyMemory::kMostKept> ranges{};  ///< those with a base
};

/// What all lazy memory of the process has. Global, since address space is the process's.
struct AllRanges {
  std::atomic<int> early_pages{0};
  std::atomic<std::uint64_t> set_aside{0};  ///< bytes of addresses
  Kept kept;
};
constinit AllRanges all;

/// What may be set aside beside what is where the process's addresses are limited; else kNoLimit.
std::uint64_t left_by_limit() {
  const std::uint64_t taken = all.set_aside.load(std::memory_order_relaxed);
  const std::uint64_t most = os::addresses_to_spare(taken);
  if (most == kNoLimit) return kNoLimit;
  return most > taken ? most - taken : 0;
}

class KeptGuard {
 public:
  KeptGuard() {
    while (all.kept.busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~KeptGuard() { all.kept.busy.clear(std::memory_order_release); }
  KeptGuard(const KeptGuard&) = delete;
  KeptGuard& operator=(const KeptGuard&) = delete;
};

}  // namespace

bool LazyMemory::take_kept(std::uint64_t bytes) noexcept {
  const KeptGuard guard;
  for (Kept::Range& range : all.kept.ranges) {
    if (range.base == nullptr || range.reserved != bytes) continue;
    base_ = range.base;
    reserved_ = bytes;
    backed_ = range.backed;
    range = {};
    return true;
  }
  return false;
}

/// Where addresses are limited, the program may want them.
bool LazyMemory::keep() noexcept {
  if (base_ == nullptr || backed_ == 0 || observed_ || left_by_limit() != kNoLimit) return false;
  committed_ = backed_;
  trim(kMostKeptBytes);
  const KeptGuard guard;
  for (Kept::Range& range : all.kept.ranges) {
    if (range.base != nullptr) continue;
    range = {base_, reserved_, backed_};
    return true;
  }
  return false;
}

/// Addresses for so many bytes; in a long range, whole huge pages come after kSmallPart.
std::byte* LazyMemory::map(std::uint64_t bytes) noexcept {
  const std::uint64_t more = bytes >= kLongRange ? kHugePage : 0;
  void* const begin =
      mmap(nullptr, bytes + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  auto* const front = static_cast<std::byte*>(begin);
  if (more == 0) return front;
  const auto address = reinterpret_cast<std::uint64_t>(begin) + kSmallPart;
  const std::uint64_t skipped = round_up(address, kHugePage) - address;
  if (skipped != 0) munmap(front, skipped);
  if (skipped != more) munmap(front + skipped + bytes, more - skipped);
  return front + skipped;
}

/// The end of a commit that wishes for so many bytes, of `most` that are ever needed: that of a
/// huge page, if there may be one.
std::uint64_t LazyMemory::whole_pages(std::uint64_t wish, std::uint64_t most) noexcept {
  if (wish <= kSmallPart || reserved_ < kLongRange || !os::gives_huge_pages()) return wish;
  const std::uint64_t end = kSmallPart + round_up(wish - kSmallPart, kHugePage);
  if (end > std::min(most, reserved_)) return wish;
  if (wish < kHugePage && !early_) {
    if (all.early_pages.fetch_add(1, std::memory_order_relaxed) >= kMostEarly) {
      all.early_pages.fetch_sub(1, std::memory_order_relaxed);
      return wish;
    }
    early_ = true;
  }
  return end;
}

std::uint64_t LazyMemory::share(std::uint64_t most, std::uint64_t begin) noexcept {
  const std::uint64_t taken = all.set_aside.load(std::memory_order_relaxed);
  const std::uint64_t left = taken < kShared ? kShared - taken : 0;
  if (const std::uint64_t limited = left_by_limit(); limited != kNoLimit)
    return std::min({most, std::max(begin, limited / kPart), limited});
  return std::min(most, std::max({begin, left / kPart, kLeastShare}));
}

bool LazyMemory::reserve(std::uint64_t bytes, std::uint64_t least) noexcept {
  bytes = round_up(std::max<std::uint64_t>(bytes, 1), os::page_bytes());
  least = round_up(std::max<std::uint64_t>(least, 1), os::page_bytes());
  const std::uint64_t most = left_by_limit();
  for (;; bytes = std::max(least, round_up(bytes / 2, os::page_bytes()))) {
    if (base_ == nullptr && bytes <= most && take_kept(bytes)) {
      all.set_aside.fetch_add(bytes, std::memory_order_relaxed);
      return true;
    }
    if (std::byte* const base = bytes <= most ? map(bytes) : nullptr) {
      unmap();
      base_ = base;
      reserved_ = bytes;
      all.set_aside.fetch_add(bytes, std::memory_order_relaxed);
      return true;
    }
    if (bytes <= least) return false;
  }
}

bool LazyMemory::commit(std::uint64_t bytes, std::uint64_t most) noexcept {
  if (bytes <= committed_) return true;
  if (bytes > reserved_) return false;
  const std::uint64_t need = round_up(bytes, os::page_bytes());
  // Growing by half keeps the calls rare; where there is not that much, what is needed will do.
  const std::uint64_t more = std::min(round_up(committed_ / 2, os::page_bytes()), kMostAhead);
  const std::uint64_t wish =
      whole_pages(std::min(reserved_, std::max(need, committed_ + more)), most);
  if (committed_ < backed_) {
    const std::uint64_t there = std::min(std::max(wish, need), backed_);
    std::memset(base_ + committed_, 0, there - committed_);
    committed_ = there;
    if (need <= committed_) return true;
  }
  for (const std::uint64_t target : {wish, need}) {
    std::byte* const begin = base_ + committed_;
    const std::uint64_t length = target - committed_;
    if (mprotect(begin, length, PROT_READ | PROT_WRITE) != 0) continue;
    if (target > kSmallPart && reserved_ >= kLongRange) {
      std::byte* const front = base_ + kSmallPart;
      const std::uint64_t skipped = committed_ > kSmallPart ? committed_ - kSmallPart : 0;
      const std::uint64_t first = round_up(skipped, kHugePage);
      const std::uint64_t end = (target - kSmallPart) / kHugePage * kHugePage;
      if (first < end) madvise(front + first, end - first, MADV_HUGEPAGE);
    }
#ifdef MADV_POPULATE_WRITE
    if (madvise(begin, length, MADV_POPULATE_WRITE) != 0 && (errno == ENOMEM || errno == EFAULT)) {
      mprotect(begin, length, PROT_NONE);
      continue;
    }
#endif
    committed_ = backed_ = target;
    return true;
  }
  return false;
}

void LazyMemory::trim(std::uint64_t bytes) noexcept {
  bytes = round_up(bytes, os::page_bytes());
  if (bytes >= committed_) return;
  madvise(base_ + bytes, backed_ - bytes, MADV_DONTNEED);
  mprotect(base_ + bytes, backed_ - bytes, PROT_NONE);
  committed_ = backed_ = bytes;
}

void LazyMemory::observe() noexcept {
  if (index_observer == nullptr || committed_ == 0 || observed_) return;
  observed_ = true;
  index_observer->added(base_, committed_);
}

void LazyMemory::unmap() noexcept {
  all.set_aside.fetch_sub(reserved_, std::memory_order_relaxed);
  if (keep()) {
    base_ = nullptr;
  } else if (observed_) {
    // Its size goes with it: whoever looks at it last unmaps it.
    std::memcpy(base_, &reserved_, sizeof reserved_);
    index_observer->removed(base_, committed_, [](void* address) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, address, sizeof bytes);
      munmap(address, bytes);
    });
  } else if (base_ != nullptr) {
    munmap(base_, reserved_);
  }
  if (early_) all.early_pages.fetch_sub(1, std::memory_order_relaxed);
  base_ = nullptr;
  reserved_ = committed_ = backed_ = 0;
  observed_ = early_ = false;
}

}  // namespace hob::cache
