// The turns of the calling thread on its core.
#pragma once

#include <cstdint>

namespace hob::os {

/// How often so far the calling thread, able to run, has made room for another one, by
/// sched_yield or because its turn was over. Takes 0.2 to 0.5 us.
std::uint64_t turns_lost();

}  // namespace hob::os
