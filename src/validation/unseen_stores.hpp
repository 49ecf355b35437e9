// Whether stores may reach this process's memory without its page tables.
#pragma once

#include <string>

namespace hob::validation {

/// Who may store to pages that this process's page tables protect; empty if none. A device, or
/// the kernel for it, stores to pages that were pinned before they were protected. Whatever pins
/// pages later shows as a store. Asked:
///
/// - pages that are pinned now (VmPin): buffers of io_uring, memory registered with an adapter;
/// - descriptors through which they may be: rings of io_uring, files opened with O_DIRECT, whose
///   reads go on while other threads run or until a reader asks for them, devices, sockets of
///   adapters, page-fault handlers other than Hob's. What is not known to be harmless counts.
///
/// `adapter`: there is one that the MPI library uses. Its descriptors, and what it pins, do not
/// count: what it stores is known otherwise (incoming.hpp). Some 50 us, and one for each
/// descriptor. Not seen: what goes on after its descriptor was closed.
std::string who_stores_unseen(bool adapter);

}  // namespace hob::validation
