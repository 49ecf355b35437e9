// One cell of the map of messages and collectives between two ranks: rank 0 prints what an
// operation takes (map_clock.hpp).
//
//   op   pingpong    MPI_Send, MPI_Recv
//        sendrecv    MPI_Sendrecv, both ways
//        exchange    MPI_Irecv, MPI_Isend, completed as `completion` says
//        persistent  the same with persistent requests
//        stream      64 MPI_Isends and MPI_Irecvs, MPI_Waitall
//        wildcard    a stream whose receives name neither source nor tag
//        polled      a wildcard receive that is tested between MPI_Isends, posted again when it is
//        complete probe       MPI_Probe of any message, MPI_Recv of this one deep        a pingpong
//        behind `depth` receives that nobody serves shuffled    `depth` receives posted, their
//        messages sent in another order barrier, bcast, allreduce, alltoall, iallreduce, ialltoall
//   completion   wait | test | waitall | waitsome (of exchange and persistent)
//
// Arguments: these, size=8 count=10000 depth=1000 threads=single|multiple
#include <numeric>
#include <random>

#include "map_clock.hpp"

namespace {

constexpr int tag = 1;
constexpr int other_tag = 2;
constexpr long window = 64;  // messages of a stream at a time

struct Cell {
  std::string op, completion;
  int size;
  long count;
  long depth;
  int rank;
  int peer;
};

void complete(const std::string& how, int count, MPI_Request* requests) {
  if (how == "waitall") {
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  } else if (how == "waitsome") {
    std::vector<int> indices(static_cast<std::size_t>(count));
    for (int done = 0; done != MPI_UNDEFINED;) {
      MPI_Waitsome(count, requests, &done, indices.data(), MPI_STATUSES_IGNORE);
    }
  } else {
    for (int i = 0; i < count; ++i) {
      for (int flag = how == "test" ? 0 : 1; flag == 0;) {
        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      }
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
  }
}

class Messages {
 public:
  explicit Messages(const Cell& cell)
      : cell_(cell),
        out_(static_cast<std::size_t>(cell.size) * window + 1),
        in_(static_cast<std::size_t>(cell.size) * window + 1) {
    std::memset(out_.data(), 1, static_cast<std::size_t>(cell.size) * window + 1);
    std::memset(in_.data(), 0, static_cast<std::size_t>(cell.size) * window + 1);
  }

  void run() {
    const std::string& op = cell_.op;
    if (op == "pingpong" || op == "probe") {
      map::measure_both(cell_.rank, cell_.count, 1, [&] { pingpong(op == "probe"); });
    } else if (op == "deep") {
      deep();
    } else if (op == "sendrecv") {
      map::measure_both(cell_.rank, cell_.count, 1, [&] {
        MPI_Sendrecv(out_.data(), cell_.size, MPI_BYTE, cell_.peer, tag, in_.data(), cell_.size,
                     MPI_BYTE, cell_.peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      });
    } else if (op == "exchange") {
      map::measure_both(cell_.rank, cell_.count, 1, [&] {
        MPI_Request requests[2];
        receive(0, cell_.peer, tag, &requests[0]);
        send(0, tag, &requests[1]);
        complete(cell_.completion, 2, requests);
      });
    } else if (op == "persistent") {
      persistent();
    } else if (op == "stream" || op == "wildcard") {
      stream(op == "wildcard");
    } else if (op == "polled") {
      polled();
    } else if (op == "shuffled") {
      shuffled();
    } else {
      collective();
    }
  }

 private:
  void send(long slot, int with_tag, MPI_Request* request) {
    MPI_Isend(out_.data() + slot * cell_.size, cell_.size, MPI_BYTE, cell_.peer, with_tag,
              MPI_COMM_WORLD, request);
  }
  void receive(long slot, int from, int with_tag, MPI_Request* request) {
    MPI_Irecv(in_.data() + slot * cell_.size, cell_.size, MPI_BYTE, from, with_tag, MPI_COMM_WORLD,
              request);
  }

  void pingpong(bool probe) {
    const auto answer = [&] {
      MPI_Send(out_.data(), cell_.size, MPI_BYTE, cell_.peer, tag, MPI_COMM_WORLD);
    };
    if (cell_.rank == 0) answer();
    MPI_Status status;
    if (probe) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Recv(in_.data(), cell_.size, MPI_BYTE, cell_.peer, tag, MPI_COMM_WORLD, &status);
    if (cell_.rank != 0) answer();
  }

  void deep() {
    std::vector<MPI_Request> unserved(static_cast<std::size_t>(cell_.depth));
    std::vector<char> nowhere(static_cast<std::size_t>(cell_.depth));
    for (std::size_t i = 0; i < unserved.size(); ++i) {
      MPI_Irecv(&nowhere[i], 1, MPI_BYTE, cell_.peer, 100 + static_cast<int>(i), MPI_COMM_WORLD,
                &unserved[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    map::measure_both(cell_.rank, cell_.count, 1, [&] { pingpong(false); });
    for (MPI_Request& request : unserved) MPI_Cancel(&request);
    MPI_Waitall(static_cast<int>(unserved.size()), unserved.data(), MPI_STATUSES_IGNORE);
  }

  void persistent() {
    MPI_Request requests[2];
    MPI_Recv_init(in_.data(), cell_.size, MPI_BYTE, cell_.peer, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out_.data(), cell_.size, MPI_BYTE, cell_.peer, tag, MPI_COMM_WORLD, &requests[1]);
    map::measure_both(cell_.rank, cell_.count, 1, [&] {
      MPI_Startall(2, requests);
      complete(cell_.completion, 2, requests);
    });
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }

  void stream(bool wildcard) {
    map::measure_both(cell_.rank, cell_.count, window, [&] {
      MPI_Request requests[2 * window];
      for (long i = 0; i < window; ++i) {
        receive(i, wildcard ? MPI_ANY_SOURCE : cell_.peer, wildcard ? MPI_ANY_TAG : tag,
                &requests[i]);
      }
      for (long i = 0; i < window; ++i) send(i, tag, &requests[window + i]);
      MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE);
    });
  }

  void polled() {
    MPI_Request pending = MPI_REQUEST_NULL;
    long received = 0;
    long sent = 0;
    receive(0, MPI_ANY_SOURCE, MPI_ANY_TAG, &pending);
    const auto poll = [&] {
      int flag = 0;
      MPI_Test(&pending, &flag, MPI_STATUS_IGNORE);
      if (flag != 0) {
        ++received;
        receive(0, MPI_ANY_SOURCE, MPI_ANY_TAG, &pending);
      }
    };
    map::measure_both(cell_.rank, cell_.count, window, [&] {
      MPI_Request requests[window];
      for (long i = 0; i < window; ++i) {
        send(i, tag, &requests[i]);
        poll();
      }
      sent += window;
      for (int flag = 0; flag == 0;) {
        MPI_Testall(window, requests, &flag, MPI_STATUSES_IGNORE);
        poll();
      }
      while (received < sent) poll();
    });
    MPI_Cancel(&pending);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
  }

  void shuffled() {
    const auto depth = static_cast<std::size_t>(cell_.depth);
    std::vector<int> order(depth);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(7));
    std::vector<MPI_Request> requests(depth);
    const auto size = static_cast<std::size_t>(cell_.size);
    std::vector<char> bytes(depth * size);
    map::measure_both(cell_.rank, cell_.count, cell_.depth, [&] {
      for (std::size_t i = 0; i < depth; ++i) {
        MPI_Irecv(&bytes[i * size], cell_.size, MPI_BYTE, cell_.peer, static_cast<int>(i),
                  MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      for (const int number : order) {
        MPI_Send(out_.data(), cell_.size, MPI_BYTE, cell_.peer, number, MPI_COMM_WORLD);
      }
      MPI_Waitall(static_cast<int>(depth), requests.data(), MPI_STATUSES_IGNORE);
    });
  }

  void collective() {
    void* const out = out_.data();
    void* const in = in_.data();
    const int bytes = cell_.size;
    const int words = cell_.size / 8;
    const MPI_Comm comm = MPI_COMM_WORLD;
    const auto waited = [](auto begin) {
      MPI_Request request = MPI_REQUEST_NULL;
      begin(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    const std::string& op = cell_.op;
    if (op == "barrier") {
      map::measure_both(cell_.rank, cell_.count, 1, [&] { MPI_Barrier(comm); });
    } else if (op == "bcast") {
      map::measure_both(cell_.rank, cell_.count, 1,
                        [&] { MPI_Bcast(out, bytes, MPI_BYTE, 0, comm); });
    } else if (op == "allreduce") {
      map::measure_both(cell_.rank, cell_.count, 1,
                        [&] { MPI_Allreduce(out, in, words, MPI_INT64_T, MPI_BOR, comm); });
    } else if (op == "alltoall") {
      map::measure_both(cell_.rank, cell_.count, 1,
                        [&] { MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm); });
    } else if (op == "iallreduce") {
      map::measure_both(cell_.rank, cell_.count, 1, [&] {
        waited([&](MPI_Request* request) {
          MPI_Iallreduce(out, in, words, MPI_INT64_T, MPI_BOR, comm, request);
        });
      });
    } else if (op == "ialltoall") {
      map::measure_both(cell_.rank, cell_.count, 1, [&] {
        waited([&](MPI_Request* request) {
          MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm, request);
        });
      });
    } else {
      map::unknown("op", op);
    }
  }

  const Cell& cell_;
  rma::Buffer out_;
  rma::Buffer in_;
};

}  // namespace

int main(int argc, char** argv) {
  const rma::Args args(argc, argv);
  map::start(argc, argv, args);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    std::fprintf(stderr, "map_messages: %d processes; it is for 2\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const Cell cell{args.text("op", "pingpong"),
                  args.text("completion", "wait"),
                  static_cast<int>(args.number("size", 8)),
                  args.number("count", 10000),
                  args.number("depth", 1000),
                  rank,
                  1 - rank};
  static const char* const completions[] = {"wait", "test", "waitall", "waitsome"};
  if (std::find(std::begin(completions), std::end(completions), cell.completion) ==
      std::end(completions)) {
    map::unknown("completion", cell.completion);
  }
  Messages(cell).run();
  MPI_Finalize();
}
