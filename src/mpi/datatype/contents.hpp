// How a derived datatype was made: MPI_Type_get_envelope and MPI_Type_get_contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// The arguments a derived type was made with, plain and large-count forms alike. Owns the handles
/// that the library gives out. Not for null handles.
class TypeContents {
 public:
  explicit TypeContents(MPI_Datatype type);
  ~TypeContents();
  TypeContents(const TypeContents&) = delete;
  TypeContents& operator=(const TypeContents&) = delete;

  int combiner = MPI_COMBINER_NAMED;
  bool good = false;  ///< the library gave them
  std::vector<std::int64_t> integers, addresses, counts;
  std::vector<MPI_Datatype> types;

  /// Predefined, with a name or without one (MPI_Type_create_f90_*): may not be freed.
  bool predefined() const;

  /// The k-th argument of the call: counts come as counts if the large form was used.
  std::int64_t argument(std::size_t k) const { return counts.empty() ? integers[k] : counts[k]; }
  /// The k-th byte displacement after `before` counts.
  std::int64_t address(std::size_t k, std::size_t before) const {
    return counts.empty() ? addresses[k] : counts[before + k];
  }
};

/// How many arguments the call had that made the type; 0 for predefined ones. Costs little whatever
/// the number is.
std::uint64_t arguments_of(MPI_Datatype type);

}  // namespace hob::mpi
