#include "mpi/rma/large_changes.hpp"

#include <type_traits>

#include "mpi/datatype/freeing.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

using Large = validation::Changes::Large;
static_assert(std::is_trivially_copyable_v<Large>);
static_assert(sizeof(Large) == 512, "a short message on any network");

void unite_all(void* from, void* to, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<Large*>(to)[i].unite(static_cast<Large*>(from)[i]);
}

}  // namespace

LargeChanges::LargeChanges() {
  // One element, which the library cannot cut into pieces.
  constexpr int kWords = sizeof(Large) / sizeof(std::uint64_t);
  real::Op_create(unite_all, 1, &unite_);
  real::Type_contiguous(kWords, MPI_UINT64_T, &type_);
  real::Type_commit(&type_);
}

LargeChanges::~LargeChanges() {
  real::Op_free(&unite_);
  free_type(&type_);
}

int LargeChanges::unite(validation::Changes& changes, MPI_Comm comm) const {
  return real::Allreduce(MPI_IN_PLACE, &changes.many(), 1, type_, unite_, comm);
}

}  // namespace hob::mpi
