// Finding the MPI library's own functions behind Hob's.
#pragma once

namespace hob::mpi::real {

/// Address of an MPI library function, e.g. "PMPI_Get", or null if this library has none. Looks
/// behind Hob first, then in an MPI library that was loaded later and privately (as Python does).
void* find(const char* name) noexcept;

/// The same, for a call that is about to be made: a function that does not exist ends the process
/// with a message that names it.
void* find_or_abort(const char* name) noexcept;

template <class Function>
void resolve(Function*& place, const char* name) noexcept {
  __atomic_store_n(&place, reinterpret_cast<Function*>(find_or_abort(name)), __ATOMIC_RELAXED);
}

/// Before any call of it: a program's first operations are not to wait for this. Something else
/// than `unresolved` stays there (backend/complete_puts.hpp puts its own in place), and a function
/// that does not exist is left to the call.
template <class Function>
void resolve_if_there(Function*& place, Function* unresolved, const char* name) noexcept {
  if (place != unresolved) return;
  if (void* const function = find(name))
    __atomic_store_n(&place, reinterpret_cast<Function*>(function), __ATOMIC_RELAXED);
}

}  // namespace hob::mpi::real
