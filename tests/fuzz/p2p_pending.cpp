#include "p2p_pending.hpp"

#include <string>

namespace p2p {
namespace {

/// A call for all requests, which names those that failed.
void must_all(int error, const char* what, const std::vector<MPI_Status>& statuses) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(error, &error_class);
  if (error_class == MPI_ERR_IN_STATUS)
    for (const MPI_Status& status : statuses)
      if (status.MPI_ERROR != MPI_ERR_PENDING) must(status.MPI_ERROR, what);
  must(error, what);
}

/// The parallel arrays that MPI wants.
struct Lists {
  explicit Lists(std::vector<Pending>& pending)
      : of(pending), count(static_cast<int>(pending.size())), left(count) {
    for (const Pending& p : pending) requests.push_back(p.request);
    statuses.resize(pending.size());
    indices.resize(pending.size());
  }

  void finished(int i, const MPI_Status& status) {
    Pending& p = of[static_cast<std::size_t>(i)];
    if (p.kind == Pending::Kind::receive) p.receive->status = status;
    if (p.kind == Pending::Kind::from_nobody) check_nobody(status, true);
    --left;
  }
  void finished_all() {
    for (int i = 0; i < count; ++i) finished(i, statuses[static_cast<std::size_t>(i)]);
  }
  void finished_some(int done) {
    if (done == MPI_UNDEFINED) throw Failure{"a request got lost"};
    for (int k = 0; k < done; ++k)
      finished(indices[static_cast<std::size_t>(k)], statuses[static_cast<std::size_t>(k)]);
  }
  /// Its status is known already.
  void end(int i) {
    must(MPI_Wait(&requests[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE), "MPI_Wait");
  }

  std::vector<Pending>& of;
  int count, left;
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;
  std::vector<int> indices;
};

void by_waiting(Lists& all, int way) {
  int index = 0, done = 0;
  switch (way) {
    case 0:
      must_all(MPI_Waitall(all.count, all.requests.data(), all.statuses.data()), "MPI_Waitall",
               all.statuses);
      all.finished_all();
      break;
    case 1:
      while (all.left) {
        must(MPI_Waitany(all.count, all.requests.data(), &index, all.statuses.data()),
             "MPI_Waitany");
        if (index == MPI_UNDEFINED) throw Failure{"waitany lost a request"};
        all.finished(index, all.statuses[0]);
      }
      break;
    default:
      while (all.left) {
        must(MPI_Waitsome(all.count, all.requests.data(), &done, all.indices.data(),
                          all.statuses.data()),
             "MPI_Waitsome");
        all.finished_some(done);
      }
      break;
  }
}

void by_testing(Lists& all, int way) {
  int index = 0, done = 0, flag = 0;
  switch (way) {
    case 3:
      while (!flag)
        must_all(MPI_Testall(all.count, all.requests.data(), &flag, all.statuses.data()),
                 "MPI_Testall", all.statuses);
      all.finished_all();
      break;
    case 4:
      while (all.left) {
        must(MPI_Testany(all.count, all.requests.data(), &index, &flag, all.statuses.data()),
             "MPI_Testany");
        if (!flag) continue;
        if (index == MPI_UNDEFINED) throw Failure{"testany lost a request"};
        all.finished(index, all.statuses[0]);
      }
      break;
    case 5:
      while (all.left) {
        must(MPI_Testsome(all.count, all.requests.data(), &done, all.indices.data(),
                          all.statuses.data()),
             "MPI_Testsome");
        all.finished_some(done);
      }
      break;
    default:
      for (int i = all.count - 1; i >= 0; --i) {
        flag = 0;
        while (!flag)
          must(MPI_Test(&all.requests[static_cast<std::size_t>(i)], &flag, all.statuses.data()),
               "MPI_Test");
        all.finished(i, all.statuses[0]);
      }
      break;
  }
}

/// First the status, then the end: MPICH 5 has an empty status for a persistent receive after it.
void by_asking(Lists& all, int way) {
  int flag = 0;
  switch (way) {
#if P2P_HAS_STATUS_OF_MANY
    case 8:
      while (!flag)
        must_all(
            MPI_Request_get_status_all(all.count, all.requests.data(), &flag, all.statuses.data()),
            "MPI_Request_get_status_all", all.statuses);
      all.finished_all();
      must(MPI_Waitall(all.count, all.requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
      break;
    case 9:
      while (all.left) {
        int index = MPI_UNDEFINED;
        must(MPI_Request_get_status_any(all.count, all.requests.data(), &index, &flag,
                                        all.statuses.data()),
             "MPI_Request_get_status_any");
        if (!flag) continue;
        if (index == MPI_UNDEFINED) throw Failure{"request_get_status_any lost a request"};
        all.finished(index, all.statuses[0]);
        all.end(index);
      }
      break;
    case 10:
      while (all.left) {
        int done = MPI_UNDEFINED;
        must(MPI_Request_get_status_some(all.count, all.requests.data(), &done, all.indices.data(),
                                         all.statuses.data()),
             "MPI_Request_get_status_some");
        all.finished_some(done);
        for (int k = 0; k < done; ++k) all.end(all.indices[static_cast<std::size_t>(k)]);
      }
      break;
#endif
    default:
      for (int i = 0; i < all.count; ++i) {
        flag = 0;
        while (!flag)
          must(MPI_Request_get_status(all.requests[static_cast<std::size_t>(i)], &flag,
                                      all.statuses.data()),
               "MPI_Request_get_status");
        all.finished(i, all.statuses[0]);
        all.end(i);
      }
      break;
  }
}

}  // namespace

void must(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(error, text, &length);
  throw Failure{std::string(what) + " failed: " + text};
}

void check_nobody(const MPI_Status& status, bool waited_for) {
  int bytes = -1;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  bool right = bytes == 0 && status.MPI_TAG == MPI_ANY_TAG && status.MPI_SOURCE == MPI_PROC_NULL;
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
  // MPICH 4.0 has an empty status after a wait.
  right |= waited_for && bytes == 0;
#else
  (void)waited_for;
#endif
  if (!right)
    throw Failure{"a receive from nobody reports the source " + std::to_string(status.MPI_SOURCE) +
                  ", the tag " + std::to_string(status.MPI_TAG) + " and " + std::to_string(bytes) +
                  " bytes"};
}

int complete(std::vector<Pending>& pending, fuzz::Random& random) {
  if (pending.empty()) return 0;
  Lists all(pending);
  const int way = random.below(P2P_HAS_STATUS_OF_MANY && features.status_of_many ? 11 : 8);
  if (way < 3)
    by_waiting(all, way);
  else if (way < 7)
    by_testing(all, way);
  else
    by_asking(all, way);
  for (int i = 0; i < all.count; ++i) {
    MPI_Request& request = all.requests[static_cast<std::size_t>(i)];
    if (pending[static_cast<std::size_t>(i)].persistent && request != MPI_REQUEST_NULL)
      MPI_Request_free(&request);
    if (request != MPI_REQUEST_NULL)
      throw Failure{"a request is not null after it was completed by way " + std::to_string(way)};
  }
  return way;
}

}  // namespace p2p
