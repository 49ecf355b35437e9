#include "mpi/datatype/contents.hpp"

#include <utility>

#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"

namespace hob::mpi {
namespace {

/// The answer of MPI_Type_get_envelope.
struct Envelope {
  bool good = false;
  bool large = false;  ///< counts are arguments of their own
  int combiner = MPI_COMBINER_NAMED;
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;

  explicit Envelope(MPI_Datatype type) {
#if HOB_HAS_LARGE_COUNT
    static const bool have_large = real::find("PMPI_Type_get_envelope_c") != nullptr;
    if (have_large) {
      large = true;
      good = real::Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner) ==
             MPI_SUCCESS;
      return;
    }
#endif
    int n = 0, a = 0, t = 0;
    good = real::Type_get_envelope(type, &n, &a, &t, &combiner) == MPI_SUCCESS;
    integers = n;
    addresses = a;
    types = t;
  }
};

bool is_predefined(int combiner) {
  switch (combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX:
#endif
      return true;
    default:
      return false;
  }
}

int get_contents(MPI_Datatype type, const Envelope& envelope, int* integers, MPI_Aint* addresses,
                 [[maybe_unused]] MPI_Count* counts, MPI_Datatype* types) {
#if HOB_HAS_LARGE_COUNT
  if (envelope.large)
    return real::Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.counts,
                                     envelope.types, integers, addresses, counts, types);
#endif
  return real::Type_get_contents(type, static_cast<int>(envelope.integers),
                                 static_cast<int>(envelope.addresses),
                                 static_cast<int>(envelope.types), integers, addresses, types);
}

}  // namespace

std::uint64_t arguments_of(MPI_Datatype type) {
  const Envelope envelope(type);
  return envelope.good ? static_cast<std::uint64_t>(envelope.integers + envelope.addresses +
                                                    envelope.counts + envelope.types)
                       : 0;
}

TypeContents::TypeContents(MPI_Datatype type) {
  const Envelope envelope(type);
  if (!envelope.good) return;
  combiner = envelope.combiner;
  good = true;
  if (combiner == MPI_COMBINER_NAMED) return;
  std::vector<int> ints(static_cast<std::size_t>(envelope.integers));
  std::vector<MPI_Aint> aints(static_cast<std::size_t>(envelope.addresses));
  std::vector<MPI_Count> large(static_cast<std::size_t>(envelope.counts));
  std::vector<MPI_Datatype> inner(static_cast<std::size_t>(envelope.types));
  good = get_contents(type, envelope, ints.data(), aints.data(), large.data(), inner.data()) ==
         MPI_SUCCESS;
  if (!good) return;
  integers.assign(ints.begin(), ints.end());
  addresses.assign(aints.begin(), aints.end());
  counts.assign(large.begin(), large.end());
  types = std::move(inner);
}

TypeContents::~TypeContents() {
  for (MPI_Datatype& type : types)
    if (!is_predefined(Envelope(type).combiner)) real::Type_free(&type);
}

bool TypeContents::predefined() const { return is_predefined(combiner); }

}  // namespace hob::mpi
