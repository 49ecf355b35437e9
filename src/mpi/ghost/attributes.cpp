// With ghosts, attributes of MPI_COMM_WORLD are on the communicator that stands for it. (Callbacks
// see the handle that the program knows: core/callbacks.cpp.)
#include "mpi/ghost/attributes.hpp"

#include <mutex>
#include <vector>

#include "base/lasting.hpp"
#include "mpi/core/program_world.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

int no_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int delete_with_world(MPI_Comm, int, void*, void*) {
  MPI_Comm world = program_world.comm;
  // The hook: matching forgets the communicator, too.
  return world != MPI_COMM_NULL ? on_Comm_free(&world) : MPI_SUCCESS;
}

/// Keys of attributes that were set on MPI_COMM_SELF, the last one last; some are deleted since.
struct KeysOfSelf {
  std::mutex lock;  ///< threads may set attributes at once
  std::vector<int> all;
};
KeysOfSelf& keys_of_self() { return lasting<KeysOfSelf>(); }

void note_key_of_self(int keyval) {
  const std::lock_guard guard(keys_of_self().lock);
  std::erase(keys_of_self().all, keyval);
  keys_of_self().all.push_back(keyval);
}

/// False if there is none.
bool take_last_key_of_self(int& keyval) {
  const std::lock_guard guard(keys_of_self().lock);
  if (keys_of_self().all.empty()) return false;
  keyval = keys_of_self().all.back();
  keys_of_self().all.pop_back();
  return true;
}

/// Of a key that may have been freed together with its attribute. The library keeps one reference
/// to the error handler: this happens once, at the end.
bool is_set_on_self(int keyval) {
  MPI_Errhandler handler;
  real::Comm_get_errhandler(MPI_COMM_SELF, &handler);
  real::Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  void* value = nullptr;
  int flag = 0;
  const int result = real::Comm_get_attr(MPI_COMM_SELF, keyval, &value, &flag);
  real::Comm_set_errhandler(MPI_COMM_SELF, handler);
  return result == MPI_SUCCESS && flag != 0;
}

}  // namespace

void delete_attributes_at_finalize() {
  int keyval = MPI_KEYVAL_INVALID;
  if (real::Comm_create_keyval(no_copy, delete_with_world, &keyval, nullptr) == MPI_SUCCESS)
    real::Comm_set_attr(MPI_COMM_WORLD, keyval, nullptr);
}

void delete_attributes_of_self() {
  for (int keyval = 0; take_last_key_of_self(keyval);) {
    if (is_set_on_self(keyval)) real::Comm_delete_attr(MPI_COMM_SELF, keyval);
  }
}

int on_Comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val) {
  const int result = real::Comm_set_attr(comm, comm_keyval, attribute_val);
  if (program_world.is_smaller && comm == MPI_COMM_SELF && result == MPI_SUCCESS)
    note_key_of_self(comm_keyval);
  return result;
}

int on_Attr_put(MPI_Comm comm, int keyval, void* attribute_val) {
  return on_Comm_set_attr(comm, keyval, attribute_val);
}

}  // namespace hob::mpi
