// The turns of threads on their cores.
#pragma once

#include <cstdint>

namespace hob::os {

/// How often so far the calling thread, able to run, has made room for another one, by
/// sched_yield or because its turn was over. Takes 0.2 to 0.5 us.
std::uint64_t turns_lost();

/// The calling thread's number in the system.
int thread_number();

/// ns for which this thread of the process has waited so far for a core that others had, as known
/// since it last got one. 0 if the system does not say. Takes some microseconds.
std::uint64_t waited_for_core(int thread);

}  // namespace hob::os
