// What is behind a range of this process's addresses, as the kernel says.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace hob::os {

/// What /proc/self/maps says of a mapping.
struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t file = 0;  ///< its inode; 0: none
  bool readable = false;
  bool shared = false;
  std::string_view name;
};

/// How mappings are looked up: one by one from Linux 6.11 on, else, or as asked, in the text.
enum class MapsBy : std::uint8_t { query, text };

/// Calls visit() with each mapping in [begin, end), the first one from `begin` on, until it says
/// false. Whether these cover the range without a hole, and visit() was never false. A few
/// microseconds; by text, up to a millisecond with many mappings. Other threads may change them at
/// any time.
bool each_mapping(std::uintptr_t begin, std::uintptr_t end,
                  const std::function<bool(const Mapping&)>& visit, MapsBy by = MapsBy::query);

/// Whether the address is in memory that other processes may map, too.
bool is_shared(const void* address);

/// Pages that were never touched and may be read nevertheless.
enum class Untouched : std::uint8_t {
  none,
  ordinary,  ///< those of anonymous memory that is this process's alone: reading takes no memory
  any,       ///< shared ones as well
};

/// Whether the whole range can be read without a signal, and no page comes into being but those
/// allowed. A page that is swapped out is not known to be readable, since guard regions
/// (MADV_GUARD_INSTALL) look alike. Asks /proc/self/maps and pagemap; false where these cannot be
/// read. As of now: mappings may change later.
bool is_readable(const void* base, std::uint64_t bytes, Untouched allowed);

/// Bytes of memory that the machine has.
std::uint64_t memory_of_machine();

}  // namespace hob::os
