// Pages, and the memory of other processes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace hob::os {

/// Bytes of a page. Asked once.
std::uint64_t page_bytes();

/// Whether the system gives huge pages of 2 MiB to memory that asks for them. Asked once.
bool gives_huge_pages();

/// Bytes of this process's memory that are there, of whatever kind; all that an address may name if
/// the system does not say.
std::uint64_t resident_bytes();

/// Where addresses are limited (RLIMIT_AS, ulimit -v), the program needs them: Hob sets aside at
/// most this part of what is left, what it has `taken` already included. All there are without a
/// limit.
std::uint64_t addresses_to_spare(std::uint64_t taken);

/// Has the system provide this memory of the process's now, all pages at once: that takes a
/// fraction of what it takes when they are touched one by one. Where it cannot, they are.
void provide(void* begin, std::size_t bytes);

/// Copies between this process and process `pid` of the same node and user, in one system call for
/// each piece that the kernel takes at once. False if the kernel refuses, or the memory is not
/// there; a part may have been copied then. Thread safe.
bool read_from(pid_t pid, std::uint64_t address, void* to, std::size_t bytes);
bool write_to(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes);

}  // namespace hob::os
