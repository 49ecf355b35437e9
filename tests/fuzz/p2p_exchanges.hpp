// What programs do beside their messages: partitioned transfers, and messages that are too long.
#pragma once

#include <mpi.h>

#include <vector>

#include "p2p_pending.hpp"
#include "p2p_plan.hpp"

namespace p2p {

/// A transfer in parts to another rank, and one from a third, if the phase has any: started at the
/// beginning of a phase, before anything blocks, and completed with all else.
class Partitioned {
 public:
  Partitioned(const Phase& phase, const Communicator& comm, int tag_base, fuzz::Random& random,
              std::vector<Pending>& pending);

  /// Looks for parts that have arrived, before it is complete.
  void look(fuzz::Random& random);

  /// Once it is complete. Throws Failure if anything is wrong.
  void check();

 private:
  bool used_ = false;
  int parts_ = 0, from_ = 0, bytes_ = 0;
  std::vector<char> out_, in_;
  MPI_Request receive_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> alone_;  // completed by themselves
};

/// Every rank sends some messages to another; some of their receives are too small for them.
/// Throws Failure if one of these is not told of, any other is, or anything is written outside.
void exchange_truncated(const Phase& phase, const Communicator& comm, int tag_base,
                        fuzz::Random& random);

}  // namespace p2p
