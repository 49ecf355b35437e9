// The address sanitizer's runtime ends a program in which a library is loaded before it, since that
// one's malloc may come first. Hob has none.
#include "mpi/pmpi/mpi.hpp"

extern "C" {

/// The runtime asks for it when it starts. A program that says more defines it itself, and comes
/// first.
HOB_EXPORT const char* __asan_default_options();  // NOLINT: the runtime's name
const char* __asan_default_options() { return "verify_asan_link_order=0"; }

}  // extern "C"
