// Communication that could go on while the program computes: what it takes alone, and what it adds
// to computing.
//
// Arguments: what=exchange|allreduce|alltoall|accumulate bytes=1048576 (each way, or in all)
// compute_us=20000 how=sleep|spin rounds=15
//   exchange    MPI_Irecv and MPI_Isend between neighbours
//   allreduce   MPI_Iallreduce of doubles
//   alltoall    MPI_Ialltoall
//   accumulate  rank 0 adds one number to a window of rank 1 and flushes, while rank 1 computes
// Output, one line of rank 0: {"alone_ns", "start_ns", "wait_ns", "total_ns", "compute_ns",
// "processor_ns"}: medians of the operation alone, of the calls that start it and of the wait for
// it after computing, of operation and computing together, of computing alone, and of the processor
// time of a round of all threads of this process. With accumulate total_ns is the operation's own,
// and there are no start_ns and wait_ns.
#include <sys/resource.h>

#include "rma_common.hpp"

namespace {

struct Job {
  std::string what;
  std::size_t bytes;
  double compute_ns;
  bool sleeps;
  int rounds, rank, size;
};

double processor_ns() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) {
    return 1e9 * static_cast<double>(t.tv_sec) + 1e3 * static_cast<double>(t.tv_usec);
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

// A piece of work of some microseconds: computing is so many of them, so that it takes longer where
// something else runs on this processor.
double piece() {
  static volatile double sink = 1;
  double x = sink;
  for (int i = 0; i < 2000; ++i) x = x * 0.999999 + 1e-6;
  sink = x;
  return x;
}

class Work {
 public:
  explicit Work(const Job& job) : job_(job) {
    if (job.sleeps) return;
    double least = 1e18;
    for (int i = 0; i < 2000; ++i) {
      const double start = rma::now_ns();
      piece();
      least = std::min(least, rma::now_ns() - start);
    }
    pieces_ = static_cast<long>(job.compute_ns / least);
  }
  void operator()() const {
    if (job_.sleeps) {
      usleep(static_cast<useconds_t>(job_.compute_ns / 1000));
    } else {
      for (long i = 0; i < pieces_; ++i) piece();
    }
  }

 private:
  Job job_;
  long pieces_ = 0;
};

class Communication {
 public:
  explicit Communication(const Job& job)
      : job_(job), out_(job.bytes / sizeof(double), job.rank), in_(out_.size()) {}

  void start() {
    const int count = static_cast<int>(out_.size());
    if (job_.what == "exchange") {
      const int right = (job_.rank + 1) % job_.size, left = (job_.rank + job_.size - 1) % job_.size;
      MPI_Irecv(in_.data(), count, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests_[0]);
      MPI_Isend(out_.data(), count, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests_[1]);
    } else if (job_.what == "allreduce") {
      MPI_Iallreduce(out_.data(), in_.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                     &requests_[0]);
    } else {
      MPI_Ialltoall(out_.data(), count / job_.size, MPI_DOUBLE, in_.data(), count / job_.size,
                    MPI_DOUBLE, MPI_COMM_WORLD, &requests_[0]);
    }
  }
  void wait() { MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE); }

 private:
  Job job_;
  std::vector<double> out_, in_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

template <class Round>
double median_of(const Job& job, Round round) {
  std::vector<double> times;
  for (int i = -3; i < job.rounds; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = rma::now_ns();
    round();
    if (i >= 0) times.push_back(rma::now_ns() - start);
  }
  return rma::quantile(times, 0.5);
}

void measure_messages(const Job& job) {
  const Work work(job);
  Communication communication(job);
  const double alone = median_of(job, [&] {
    communication.start();
    communication.wait();
  });
  const double computing = median_of(job, [&] { work(); });
  std::vector<double> starts, waits;
  const double before = processor_ns();
  const double total = median_of(job, [&] {
    const double start = rma::now_ns();
    communication.start();
    starts.push_back(rma::now_ns() - start);
    work();
    const double end = rma::now_ns();
    communication.wait();
    waits.push_back(rma::now_ns() - end);
  });
  if (job.rank == 0)
    rma::print(rma::Object()
                   .field("alone_ns", alone)
                   .field("start_ns", rma::quantile(starts, 0.5))
                   .field("wait_ns", rma::quantile(waits, 0.5))
                   .field("total_ns", total)
                   .field("compute_ns", computing)
                   .field("processor_ns", (processor_ns() - before) / (job.rounds + 3)));
}

void measure_accumulate(const Job& job) {
  const Work work(job);
  rma::Window window(4096);
  double one = 1;
  const auto add = [&] {
    MPI_Accumulate(&one, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_flush(1, window);
  };
  MPI_Win_lock_all(0, window);
  const double alone = median_of(job, [&] {
    if (job.rank == 0) add();
  });
  const double computing = median_of(job, [&] { work(); });
  const double before = processor_ns();
  std::vector<double> times;
  median_of(job, [&] {
    if (job.rank == 0) {
      usleep(500);  // the target has begun to compute
      const double start = rma::now_ns();
      add();
      times.push_back(rma::now_ns() - start);
    } else {
      work();
    }
  });
  MPI_Win_unlock_all(window);
  if (job.rank == 0)
    rma::print(rma::Object()
                   .field("alone_ns", alone)
                   .field("total_ns", rma::quantile(times, 0.5))
                   .field("compute_ns", computing)
                   .field("processor_ns", (processor_ns() - before) / (job.rounds + 3)));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  Job job{.what = args.text("what", "exchange"),
          .bytes = static_cast<std::size_t>(args.number("bytes", 1 << 20)),
          .compute_ns = 1e3 * static_cast<double>(args.number("compute_us", 20'000)),
          .sleeps = args.text("how", "sleep") == "sleep",
          .rounds = static_cast<int>(args.number("rounds", 15)),
          .rank = 0,
          .size = 1};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  if (job.what == "accumulate")
    measure_accumulate(job);
  else
    measure_messages(job);
  MPI_Finalize();
  return 0;
}
