// Why gets are left to the library without being looked up. Pure.
#pragma once

#include <cstdint>

namespace hob::gets {

enum class SkipReason : std::uint8_t {
  bypassed,
  off,
  no_memory,
  device,
  irregular,
  atomic,
  own_rank,
  short_lived,
  not_reused
};

/// The reason in words, for "gets are not cached: ...".
constexpr const char* words_of(SkipReason why) {
  constexpr const char* words[] = {"the target answers as fast as the cache would",
                                   "the mode is off",
                                   "there is no memory for the datatype's layout",
                                   "the buffer is in an accelerator's memory",
                                   "the datatypes are too irregular, or the counts do not match",
                                   "atomic reads may show writes of others",
                                   "the target is the process itself",
                                   "copies were always invalidated before they were used",
                                   "of gets like it, none came back"};
  return words[static_cast<int>(why)];
}

}  // namespace hob::gets
