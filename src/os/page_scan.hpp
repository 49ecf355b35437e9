// PAGEMAP_SCAN of Linux 6.7 and later, which newer headers than those that Hob is compiled with
// have.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>

namespace hob::os {

struct ScanRegion {  // struct page_region
  std::uint64_t start, end, categories;
};

struct ScanArguments {  // struct pm_scan_arg
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

inline constexpr unsigned long kScanPages = _IOWR('f', 16, ScanArguments);

/// What pages are: PAGE_IS_...
namespace page_is {
inline constexpr std::uint64_t kWatched = 1U << 0U, kWritten = 1U << 1U, kOfFile = 1U << 2U,
                               kPresent = 1U << 3U, kSwapped = 1U << 4U, kZero = 1U << 5U;
}

}  // namespace hob::os
