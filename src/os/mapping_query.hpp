// PROCMAP_QUERY of Linux 6.11 and later, which newer headers than those that Hob is compiled with
// have.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>

namespace hob::os {

struct MappingQuery {  // struct procmap_query
  std::uint64_t size, query_flags, query_addr;
  std::uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
  std::uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
  std::uint64_t vma_name_addr, build_id_addr;
};

inline constexpr unsigned long kQueryMapping = _IOWR('f', 17, MappingQuery);

/// What mappings are: PROCMAP_QUERY_VMA_...
namespace mapping_is {
inline constexpr std::uint64_t kReadable = 1U << 0U, kShared = 1U << 3U;
}

}  // namespace hob::os
