// Which processors are near which memory.
#pragma once

#include <string>
#include <vector>

namespace hob::os {

/// The processors of each NUMA domain that has some, as the kernel numbers them; one domain with
/// all processors if the kernel does not say. Those that this process may not use, too. `folder`:
/// where the kernel says it. (hwloc says as much, and takes 15 ms to look at a machine.)
std::vector<std::vector<int>> numa_domains(const std::string& folder = "/sys/devices/system/node");

/// "0-3,8" as {0, 1, 2, 3, 8}. Empty if it is no such list.
std::vector<int> numbers_in(const std::string& list);

}  // namespace hob::os
