// Whether this machine has devices that write to a process's memory behind its page tables.
#pragma once

#include <string>

namespace hob::validation {

/// The first of them that is found below `root` ("" for this machine): an adapter for InfiniBand,
/// Omni-Path, Slingshot or Aries, or a kernel module through which processes map each other's
/// memory. "" if there is none. What such a device stores for a receive is not seen by
/// StoreTracker.
std::string device_that_writes(const std::string& root = "");

/// Whether this machine has one. Asked once.
bool has_device_that_writes();

}  // namespace hob::validation
