#include "validation/store_tracker.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "os/memory.hpp"
#include "os/own_descriptor.hpp"

namespace hob::validation {
namespace {

// Of newer headers than those that Hob is compiled with.
constexpr std::uint64_t kUserModeOnly = 1;                    // UFFD_USER_MODE_ONLY
constexpr std::uint64_t kWriteProtectShared = 1u << 12;       // UFFD_FEATURE_WP_HUGETLBFS_SHMEM
constexpr std::uint64_t kWriteProtectUnpopulated = 1u << 13;  // UFFD_FEATURE_WP_UNPOPULATED
constexpr std::uint64_t kWriteProtectAsync = 1u << 15;        // UFFD_FEATURE_WP_ASYNC
constexpr std::uint64_t kFeatures =
    kWriteProtectShared | kWriteProtectUnpopulated | kWriteProtectAsync;
constexpr std::uint64_t kPageIsWritten = 1u << 1;  // PAGE_IS_WRITTEN

struct PageRegion {
  std::uint64_t start, end, categories;
};

struct ScanArguments {  // struct pm_scan_arg
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArguments);  // PAGEMAP_SCAN

/// What the kernel gives a process to track its pages with. After fork() they still speak of the
/// parent's memory, so they are the process's alone that opened them.
struct Tracker {
  os::OwnDescriptor faults;
  os::OwnDescriptor pages;
  pid_t owner = ::getpid();

  Tracker() {
    faults = os::OwnDescriptor(
        static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly)));
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = kFeatures;
    if (::ioctl(faults.get(), UFFDIO_API, &api) != 0) return;
    pages = os::OwnDescriptor(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  }

  bool usable() const {
    return faults.get() >= 0 && pages.get() >= 0 && owner == ::getpid() && can_scan();
  }

 private:
  bool can_scan() const {
    static const bool can = [this] {
      const auto page = os::page_bytes();
      const auto here = reinterpret_cast<std::uintptr_t>(this) / page * page;
      PageRegion region{};
      ScanArguments scan{};
      scan.size = sizeof scan;
      scan.start = here;
      scan.end = here + page;
      scan.vec = reinterpret_cast<std::uintptr_t>(&region);
      scan.vec_len = 1;
      scan.category_mask = scan.return_mask = kPageIsWritten;
      return ::ioctl(pages.get(), kScan, &scan) >= 0;
    }();
    return can;
  }
};

const Tracker& tracker() {
  static const auto* const one = new Tracker;  // windows may outlive static objects
  return *one;
}

}  // namespace

bool StoreTracker::available(Tracking tracking) {
  switch (tracking) {
    case Tracking::write_protection:
      return tracker().usable();
    case Tracking::soft_dirty:
      return SoftDirty::available();
    case Tracking::promised:
      return true;
    case Tracking::none:
      break;
  }
  return false;
}

Tracking StoreTracker::best(bool threads) {
  if (available(Tracking::write_protection)) return Tracking::write_protection;
  if (!threads && available(Tracking::soft_dirty)) return Tracking::soft_dirty;
  return Tracking::none;
}

StoreTracker::StoreTracker(const void* base, std::uint64_t bytes, Tracking tracking)
    : tracking_(tracking) {
  const auto page = os::page_bytes();
  const auto first = reinterpret_cast<std::uintptr_t>(base);
  begin_ = first / page * page;
  end_ = bytes == 0 ? begin_ : (first + bytes + page - 1) / page * page;
  dirty_.begin = begin_;
  dirty_.end = end_;
}

StoreTracker::~StoreTracker() {
  if (dirty_.watched) SoftDirty::process().forget(dirty_);
  if (!registered_ || !available(Tracking::write_protection)) return;
  uffdio_range range{begin_, end_ - begin_};
  ::ioctl(tracker().faults.get(), UFFDIO_UNREGISTER, &range);
}

bool StoreTracker::register_pages() {
  uffdio_register all{};
  all.range = {begin_, end_ - begin_};
  all.mode = UFFDIO_REGISTER_MODE_WP;
  return registered_ = ::ioctl(tracker().faults.get(), UFFDIO_REGISTER, &all) == 0;
}

bool StoreTracker::protect_pages() const {
  uffdio_writeprotect all{};
  all.range = {begin_, end_ - begin_};
  all.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  return ::ioctl(tracker().faults.get(), UFFDIO_WRITEPROTECT, &all) == 0;
}

bool StoreTracker::track(std::uint64_t moment) {
  active_ = false;
  if (refused_ || !available(tracking_)) return false;
  if (begin_ == end_ || tracking_ == Tracking::promised) return active_ = true;
  if (tracking_ == Tracking::soft_dirty) {
    active_ = SoftDirty::process().track(dirty_, moment);
  } else {
    // A watch that ended may have had a page of this one, and taken it along.
    active_ = (registered_ && protect_pages()) || (register_pages() && protect_pages());
  }
  refused_ = !active_;
  return active_;
}

/// Pages that were stored to since track(), at least one if any was; -1 if the kernel does not say.
std::int64_t StoreTracker::scan() const {
  if (!available(tracking_)) return -1;
  if (tracking_ == Tracking::soft_dirty) return SoftDirty::process().pages_written(dirty_);
  std::array<PageRegion, 64> regions;
  ScanArguments scan{};
  scan.size = sizeof scan;
  scan.start = begin_;
  scan.end = end_;
  scan.vec = reinterpret_cast<std::uintptr_t>(regions.data());
  scan.vec_len = regions.size();
  scan.category_mask = scan.return_mask = kPageIsWritten;
  const long found = ::ioctl(tracker().pages.get(), kScan, &scan);
  if (found < 0) return -1;
  const auto page = os::page_bytes();
  std::uint64_t pages = 0;
  for (long i = 0; i < found; ++i) {
    const PageRegion& region = regions[static_cast<std::size_t>(i)];
    pages += (region.end - region.start) / page;
  }
  return static_cast<std::int64_t>(pages);
}

bool StoreTracker::written() {
  if (!active_) return true;
  if (begin_ == end_ || tracking_ == Tracking::promised) return false;
  const std::int64_t pages = scan();
  if (pages == 0) return false;
  active_ = false;
  if (tracking_ == Tracking::soft_dirty)
    SoftDirty::process().forget(dirty_);
  else if (pages > 0)
    faults_ += static_cast<std::uint64_t>(pages);
  return true;
}

std::uint64_t StoreTracker::take_faults() {
  if (tracking_ == Tracking::soft_dirty) return SoftDirty::process().take_faults();
  return std::exchange(faults_, 0);
}

bool is_private_memory(const void* base, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t end = begin + bytes;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return false;
  std::uintptr_t covered = begin;  // up to here, all of it is private
  std::array<char, 4096> line;
  while (covered < end && std::fgets(line.data(), static_cast<int>(line.size()), maps)) {
    std::uintptr_t first = 0, last = 0;
    char flags[5] = {};
    if (std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %4s", &first, &last, flags) != 3)
      continue;
    if (last <= covered) continue;
    if (first > covered || flags[3] != 'p') break;
    covered = last;
  }
  std::fclose(maps);
  return covered >= end;
}

}  // namespace hob::validation
