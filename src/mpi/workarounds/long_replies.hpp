// A fault of MPICH: where one-sided operations travel as messages between nodes
// (MPIR_CVAR_CH4_OFI_ENABLE_RMA=0), what a get brings is sent in pieces of 16 KiB. If a process has
// to send a second such answer while the pieces of one are on their way, the first piece of the
// second is broken, and whoever issued that get crashes (pmodels/mpich, issue 7884). It does not
// matter who issued the two gets, so no process can avoid it by waiting for its own.
#pragma once

#include <cstdint>

namespace hob::mpi {

/// Bytes that a get may bring, at most, if it is to be answered in one piece; no limit where the
/// library has no such fault. For gets that are Hob's own decision. Only after MPI was initialised.
std::uint64_t longest_unbroken_get();

}  // namespace hob::mpi
