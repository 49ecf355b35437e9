#include "mpi/rma/backend/displacement_units.hpp"

#include <array>

#include "mpi/pmpi/real.hpp"
#include "mpi/rma/backend/numbers_of_ranks.hpp"

namespace hob::mpi {

void DisplacementUnits::exchange(std::int64_t own, WindowAnswers& answers, ExposedSizes& exposed,
                                 MPI_Comm comm) {
  int rank = 0, size = 0;
  real::Comm_rank(comm, &rank);
  real::Comm_size(comm, &size);
  const auto bytes = static_cast<std::int64_t>(answers.bytes);
  enum {
    unit,
    least_unit,
    aliased,
    rejects,
    unshared,
    most,
    least,
    unvalidated,
    sometimes,
    threads,
    most_readable,
    least_readable,
    number
  };
  std::array<std::int64_t, number + 1> largest{};
  largest[unit] = own;
  largest[least_unit] = -own;
  largest[aliased] = answers.aliased;
  largest[rejects] = answers.rejects ? size - rank : 0;
  largest[unshared] = !answers.share;
  largest[most] = bytes;
  largest[least] = -bytes;
  largest[unvalidated] = !answers.validate;
  largest[sometimes] = !answers.validate_always;
  largest[threads] = answers.threads;
  const auto readable = static_cast<std::int64_t>(answers.readable);
  largest[most_readable] = readable;
  largest[least_readable] = -readable;
  largest[number] = static_cast<std::int64_t>(answers.number);
  real::Allreduce(MPI_IN_PLACE, largest.data(), number + 1, MPI_INT64_T, MPI_MAX, comm);
  exposed.gather(answers.bytes, static_cast<std::uint64_t>(-largest[least]),
                 static_cast<std::uint64_t>(largest[most]), comm);
  exposed.gather_readable(answers.readable, static_cast<Readable>(-largest[least_readable]),
                          static_cast<Readable>(largest[most_readable]), comm);
  answers.aliased = largest[aliased] != 0;
  answers.share = largest[unshared] == 0;
  answers.validate = largest[unvalidated] == 0;
  answers.validate_always = largest[sometimes] == 0;
  answers.threads = largest[threads] != 0;
  answers.number = static_cast<std::uint64_t>(largest[number]);
  answers.rejecting_rank = largest[rejects] == 0 ? -1 : size - static_cast<int>(largest[rejects]);
  const auto same = static_cast<std::uint64_t>(own);
  units_ = largest[unit] == -largest[least_unit] ? PerRank(same) : gather_numbers(same, comm);
}

}  // namespace hob::mpi
