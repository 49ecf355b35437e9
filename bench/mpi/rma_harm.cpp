// Programs that a cache of gets cannot help: each prints the time of one operation.
//
//   gets       get + flush, one piece after the other, over and over. Between ranks of one node
//              this is a load; a cached copy could only be slower.
//   stream     get + flush, every piece once, then the next window pass after an MPI_Win_sync:
//              no reuse at all.
//   put        put + flush
//   accumulate accumulate (sum of 64-bit integers) + flush
//   pingpong   blocking two-sided messages to and fro, no window in use
//   exchange   nonblocking two-sided messages, both ways at once, no window in use
//
// Arguments: what=<one of these> size=8 count=2000 rounds=11 pieces=256 window=allocate|create
// Output: {"what", "size", "median_ns", "min_ns"}: over `rounds` batches of `count` operations.
#include "rma_common.hpp"

namespace {

struct Job {
  std::string what;
  std::size_t size;
  long count;
  long rounds;
  long pieces;
};

void report(const Job& job, std::vector<double>& batches) {
  rma::Object row;
  row.field("what", job.what)
      .field("size", static_cast<double>(job.size))
      .field("median_ns", rma::quantile(batches, 0.5))
      .field("min_ns", rma::quantile(batches, 0));
  rma::print(row);
}

template <class Operation>
std::vector<double> batches_of(const Job& job, Operation operation) {
  std::vector<double> batches;
  for (long round = -1; round < job.rounds; ++round) {
    const double start = rma::now_ns();
    for (long i = 0; i < job.count; ++i) {
      operation(i);
    }
    const double spent = (rma::now_ns() - start) / static_cast<double>(job.count);
    if (round >= 0) {  // the first batch opens connections
      batches.push_back(spent);
    }
  }
  return batches;
}

void one_sided(const Job& job, bool allocate) {
  const long pieces = job.what == "stream" ? job.count : job.pieces;
  const rma::Window win(static_cast<std::size_t>(pieces) * job.size, allocate);
  rma::with_attentive_targets([&] {
    std::vector<unsigned char> buffer(job.size + 8);
    const int bytes = static_cast<int>(job.size);
    const auto offset = [&](long i) { return static_cast<MPI_Aint>(i % pieces) * bytes; };
    std::vector<double> batches;
    MPI_Win_lock_all(0, win);
    if (job.what == "gets") {
      batches = batches_of(job, [&](long i) {
        MPI_Get(buffer.data(), bytes, MPI_BYTE, 1, offset(i), bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
      });
    } else if (job.what == "stream") {
      batches = batches_of(job, [&](long i) {
        if (i == 0) {
          MPI_Win_sync(win);
        }
        MPI_Get(buffer.data(), bytes, MPI_BYTE, 1, offset(i), bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
      });
    } else if (job.what == "put") {
      batches = batches_of(job, [&](long i) {
        MPI_Put(buffer.data(), bytes, MPI_BYTE, 1, offset(i), bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
      });
    } else {
      batches = batches_of(job, [&](long i) {
        MPI_Accumulate(buffer.data(), bytes / 8, MPI_INT64_T, 1, offset(i), bytes / 8, MPI_INT64_T,
                       MPI_SUM, win);
        MPI_Win_flush(1, win);
      });
    }
    MPI_Win_unlock_all(win);
    report(job, batches);
  });
}

void two_sided(const Job& job) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<unsigned char> out(job.size + 1), in(job.size + 1);
  const int bytes = static_cast<int>(job.size);
  const int other = 1 - rank;
  std::vector<double> batches;
  if (rank < 2 && job.what == "pingpong") {
    batches = batches_of(job, [&](long) {
      if (rank == 0) {
        MPI_Send(out.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        MPI_Recv(in.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(in.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
      }
    });
  } else if (rank < 2) {
    batches = batches_of(job, [&](long) {
      MPI_Request requests[2];
      MPI_Irecv(in.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(out.data(), bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    });
  }
  if (rank == 0) {
    report(job, batches);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const Job job{args.text("what", "gets"), static_cast<std::size_t>(args.number("size", 8)),
                args.number("count", 2000), args.number("rounds", 11), args.number("pieces", 256)};
  const bool window =
      job.what == "gets" || job.what == "stream" || job.what == "put" || job.what == "accumulate";
  if (window) {
    one_sided(job, args.text("window", "allocate") != "create");
  } else if (job.what == "pingpong" || job.what == "exchange") {
    two_sided(job);
  } else {
    std::fprintf(stderr, "rma_harm: what=%s is not known\n", job.what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
}
