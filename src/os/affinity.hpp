// The processors that threads may run on. Any number of them: cpu_set_t holds 1,024.
#pragma once

#include <thread>
#include <vector>

namespace hob::os {

/// Those that the calling thread may run on; none if the system does not say.
std::vector<int> own_cpus();

/// Binds the calling thread to these; does nothing if there are none.
void bind_to(const std::vector<int>& cpus);

/// Binds a thread to one processor (>= 0). False if the system refuses.
bool bind_thread(std::thread& thread, int cpu);

}  // namespace hob::os
