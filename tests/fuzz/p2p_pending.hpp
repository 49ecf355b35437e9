// Requests under way, and every way to complete them.
#pragma once

#include <mpi.h>

#include <vector>

#include "p2p_plan.hpp"

namespace p2p {

/// A receive of a program, and what came of it.
struct Receive {
  int comm = 0, source = 0, tag = 0;  // source and tag may be wildcards
  int capacity = 0;
  int needed = 0;  // the longest message that it may take
  ReceiveWay way = ReceiveWay::irecv;
  int type = 0;         // 0: bytes, 1: groups of four bytes, 2: every second byte
  bool freed = false;   // its request was; only the buffer tells when it is complete
  bool untold = false;  // its status says nothing
  std::vector<char> buffer;
  std::vector<char> before;  // what was sent from it, if anything
  MPI_Status status{};
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Pending {
  enum class Kind { other, receive, from_nobody };
  MPI_Request request = MPI_REQUEST_NULL;
  Kind kind = Kind::other;
  Receive* receive = nullptr;
  bool persistent = false;
};

/// Completes them all by a wait or test function chosen at random. Statuses go to the receives;
/// persistent requests are freed. Returns the number of the way, which failures tell.
int complete(std::vector<Pending>& pending, fuzz::Random& random);

/// What a receive from MPI_PROC_NULL says. `waited_for`: by a request.
void check_nobody(const MPI_Status& status, bool waited_for);

/// A call that must succeed where errors are returned.
void must(int error, const char* what);

}  // namespace p2p
