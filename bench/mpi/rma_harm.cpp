// Programs that a cache of gets cannot help: each prints the time of one operation.
//
//   gets       get + flush, one piece after the other, over and over. Between ranks of one node
//              this is a load; a cached copy could only be slower.
//   stream     get + flush, every piece once, then the next pass after an MPI_Win_sync: no reuse
//   put        put + flush
//   accumulate accumulate (sum of 64-bit integers) + flush
//   pingpong   blocking two-sided messages to and fro, no window in use
//   exchange   nonblocking two-sided messages, both ways at once, no window in use
//
// Arguments: what=<one of these> size=8 count=2000 rounds=11 pieces=256 window=allocate|create
// gate=0
// Output, one line per batch of `count` operations: {"ns"}, the mean time of one.
#include "rma_common.hpp"

namespace {

struct Job {
  std::string what;
  std::size_t size;
  long count;
  long pieces;
};

template <class Operation>
void batch(const Job& job, Operation operation) {
  const double start = rma::now_ns();
  for (long i = 0; i < job.count; ++i) {
    operation(i);
  }
  rma::Object row;
  rma::print(row.field("ns", (rma::now_ns() - start) / static_cast<double>(job.count)));
}

void one_sided(const Job& job, bool allocate, rma::Gate& gate) {
  const long pieces = job.what == "stream" ? job.count : job.pieces;
  const rma::Window win(static_cast<std::size_t>(pieces) * job.size, allocate);
  const bool sums = job.what == "accumulate";
  gate.open();
  rma::with_attentive_targets([&] {
    rma::Buffer buffer(job.size + 8);
    void* const data = buffer.data();
    const int bytes = static_cast<int>(job.size);
    const auto offset = [&](long i) { return static_cast<MPI_Aint>(i % pieces) * bytes; };
    MPI_Win_lock_all(0, win);
    while (gate.next()) {
      if (job.what == "gets" || job.what == "stream") {
        batch(job, [&](long i) {
          MPI_Get(data, bytes, MPI_BYTE, 1, offset(i), bytes, MPI_BYTE, win);
          MPI_Win_flush(1, win);
        });
        if (job.what == "stream") {
          MPI_Win_sync(win);
        }
      } else if (sums) {
        batch(job, [&](long i) {
          MPI_Accumulate(data, bytes / 8, MPI_INT64_T, 1, offset(i), bytes / 8, MPI_INT64_T,
                         MPI_SUM, win);
          MPI_Win_flush(1, win);
        });
      } else {
        batch(job, [&](long i) {
          MPI_Put(data, bytes, MPI_BYTE, 1, offset(i), bytes, MPI_BYTE, win);
          MPI_Win_flush(1, win);
        });
      }
    }
    MPI_Win_unlock_all(win);
  });
}

// Messages of `bytes` between ranks 0 and 1; rank 0 announces each batch.
void two_sided(const Job& job, rma::Gate& gate) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rma::Buffer out(job.size + 1), in(job.size + 1);
  const int bytes = static_cast<int>(job.size);
  const int other = 1 - rank;
  const auto send = [&] { MPI_Send(out.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD); };
  const auto receive = [&] {
    MPI_Recv(in.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  const auto both = [&](long) {
    MPI_Request requests[2];
    MPI_Irecv(in.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  };
  const bool pingpong = job.what == "pingpong";
  gate.open();
  constexpr int control_tag = 2;
  if (rank == 0) {
    int more = 0;
    do {
      more = gate.next();
      MPI_Send(&more, 1, MPI_INT, 1, control_tag, MPI_COMM_WORLD);
      if (more != 0 && pingpong) {
        batch(job, [&](long) {
          send();
          receive();
        });
      } else if (more != 0) {
        batch(job, both);
      }
    } while (more != 0);
  } else if (rank == 1) {
    for (;;) {
      int more = 0;
      MPI_Recv(&more, 1, MPI_INT, 0, control_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (more == 0) {
        break;
      }
      for (long i = 0; i < job.count; ++i) {
        if (pingpong) {
          receive();
          send();
        } else {
          both(i);
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const Job job{args.text("what", "gets"), static_cast<std::size_t>(args.number("size", 8)),
                args.number("count", 2000), args.number("pieces", 256)};
  rma::Gate gate(args, args.number("rounds", 11));
  if (job.what == "gets" || job.what == "stream" || job.what == "put" || job.what == "accumulate") {
    one_sided(job, args.text("window", "allocate") != "create", gate);
  } else if (job.what == "pingpong" || job.what == "exchange") {
    two_sided(job, gate);
  } else {
    std::fprintf(stderr, "rma_harm: what=%s is not known\n", job.what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
}
