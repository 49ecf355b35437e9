// Small programs that ghosts may cost something: the time of one step at rank 0.
//
// Arguments: what=reuse|flags|counters|patches|messages compute=0 (microseconds that the odd ranks
// compute in each step, between the calls of MPI) settle=100 (steps that are not timed) steps=200
// (that are) cores=0,1 (rank i stays on the i-th of them, in turn; empty: wherever it is)
//   reuse     each even rank gets from 256 places of the next, each get flushed; then a barrier
//   flags     puts, each flushed, to a rank that waits for a flag in its memory, and answers
//   counters  MPI_Fetch_and_op on the next rank's counter, each flushed; then a barrier
//   patches   a patch of a matrix is put, got and accumulated to, with barriers between
//   messages  nothing one-sided at all: exchanges with the next rank, and a sum over all
// Output, one line: {"ns"}, the median of a step. The answers are checked.
#include <dirent.h>
#include <sched.h>

#include "rma_common.hpp"

namespace {

constexpr int kPlaces = 256;
constexpr int kBytes = 64;
constexpr int kGets = 64;
constexpr int kPuts = 8;
constexpr int kCounts = 16;
constexpr int kSide = 64;   // of the matrix
constexpr int kPatch = 16;  // of a patch
constexpr int kMessages = 4;

// All threads that the process has by now: the library's, too.
void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return;
  while (const dirent* task = readdir(tasks))
    if (task->d_name[0] != '.') sched_setaffinity(std::atoi(task->d_name), sizeof set, &set);
  closedir(tasks);
}

// What a program does between its calls of MPI.
void compute_for(double microseconds) {
  volatile double sum = 0;
  const double end = rma::now_ns() + 1e3 * microseconds;
  while (rma::now_ns() < end)
    for (int i = 0; i < 100; ++i) sum = sum + i;
}

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong answer: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

class Job {
 public:
  explicit Job(const rma::Args& args)
      : what_(args.text("what", "reuse")),
        compute_us_(static_cast<double>(args.number("compute", 0))),
        window_(sizeof(double) * kSide * kSide) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    origin_ = rank % 2 == 0;
    partner_ = origin_ ? rank + 1 : rank - 1;
    MPI_Type_vector(kPatch, kPatch, kSide, MPI_DOUBLE, &patch_);
    MPI_Type_commit(&patch_);
    MPI_Win_lock_all(0, window_);
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    MPI_Win_unlock_all(window_);
    MPI_Type_free(&patch_);
  }

  void step() {
    ++step_;
    if (what_ == "reuse") {
      reuse();
    } else if (what_ == "flags") {
      flags();
    } else if (what_ == "counters") {
      counters();
    } else if (what_ == "patches") {
      patches();
    } else {
      messages();
    }
  }

  // Zeroes where counters and flags are. Collective.
  void clear() {
    if (what_ == "reuse") return;
    std::memset(window_.base(), 0, sizeof(double) * kSide * kSide);
    MPI_Win_sync(window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  void compute() const {
    if (!origin_ && compute_us_ > 0) compute_for(compute_us_);
  }

  void meet() const {
    compute();
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void reuse() {
    if (origin_)
      for (int i = 0; i < kGets; ++i) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        const std::size_t at = (state_ >> 33) % kPlaces * kBytes;
        unsigned char found[kBytes];
        MPI_Get(found, kBytes, MPI_BYTE, partner_, static_cast<MPI_Aint>(at), kBytes, MPI_BYTE,
                window_);
        MPI_Win_flush(partner_, window_);
        rma::check(found, kBytes, partner_, at);
      }
    meet();
  }

  void flag() const {
    MPI_Put(&step_, 1, MPI_INT64_T, partner_, 0, 1, MPI_INT64_T, window_);
    MPI_Win_flush(partner_, window_);
  }

  void await_flag() const {
    int arrived = 0;
    const auto* const flag = reinterpret_cast<volatile std::int64_t*>(window_.base());
    while (*flag < step_) {
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
      MPI_Win_sync(window_);
    }
    MPI_Win_sync(window_);
  }

  void flags() {
    if (origin_) {
      for (int i = 1; i <= kPuts; ++i) {
        const std::int64_t value = step_ + i;
        MPI_Put(&value, 1, MPI_INT64_T, partner_, 8 * i, 1, MPI_INT64_T, window_);
        MPI_Win_flush(partner_, window_);
      }
      flag();
      await_flag();
    } else {
      compute();
      await_flag();
      const auto* const values = reinterpret_cast<const std::int64_t*>(window_.base());
      for (int i = 1; i <= kPuts; ++i) expect(values[i] == step_ + i, "a put before a flag");
      flag();
    }
  }

  void counters() {
    if (origin_)
      for (int i = 0; i < kCounts; ++i) {
        const std::int64_t one = 1;
        std::int64_t before = -1;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, partner_, 0, MPI_SUM, window_);
        MPI_Win_flush(partner_, window_);
        expect(before == (step_ - 1) * kCounts + i, "a counter");
      }
    meet();
  }

  void patches() {
    const std::vector<double> ones(kPatch * kPatch, 1.0);
    std::vector<double> found(ones.size());
    constexpr int count = kPatch * kPatch;
    // The next step has another patch, so that this one's sum may be looked at meanwhile.
    const MPI_Aint at = static_cast<MPI_Aint>(sizeof(double)) * (8 * kSide + step_ % 2 * kSide / 2);
    if (origin_) {
      MPI_Put(ones.data(), count, MPI_DOUBLE, partner_, at, 1, patch_, window_);
      MPI_Win_flush(partner_, window_);
    }
    meet();
    if (origin_) {
      MPI_Get(found.data(), count, MPI_DOUBLE, partner_, at, 1, patch_, window_);
      MPI_Win_flush(partner_, window_);
      expect(found == ones, "a patch");
      MPI_Accumulate(found.data(), count, MPI_DOUBLE, partner_, at, 1, patch_, MPI_SUM, window_);
      MPI_Win_flush(partner_, window_);
    }
    meet();
    if (origin_) return;
    const auto* const cell = reinterpret_cast<const double*>(window_.base() + at);
    MPI_Win_sync(window_);
    expect(cell[0] == 2 && cell[(kPatch - 1) * (kSide + 1)] == 2, "the sum of a patch");
  }

  void messages() {
    for (int i = 0; i < kMessages; ++i) {
      std::int64_t mine = step_ + i, theirs = 0;
      compute();
      MPI_Sendrecv(&mine, 1, MPI_INT64_T, partner_, 1, &theirs, 1, MPI_INT64_T, partner_, 1,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(theirs == mine, "a message");
    }
    std::int64_t sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  }

  std::string what_;
  double compute_us_;
  rma::Window window_;
  MPI_Datatype patch_ = MPI_DATATYPE_NULL;
  bool origin_ = false;
  int partner_ = 0;
  std::int64_t step_ = 0;
  std::uint64_t state_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  expect(ranks % 2 == 0, "an even number of ranks is needed");
  const std::vector<long> cores = args.numbers("cores", "");
  if (!cores.empty())
    pin_to(static_cast<int>(cores[static_cast<std::size_t>(rank) % cores.size()]));
  {
    Job job(args);
    job.clear();
    const long settle = args.number("settle", 100), steps = args.number("steps", 200);
    std::vector<double> times;
    for (long i = 0; i < settle + steps; ++i) {
      const double start = rma::now_ns();
      job.step();
      if (i >= settle) times.push_back(rma::now_ns() - start);
    }
    if (rank == 0) rma::print(rma::Object().field("ns", rma::quantile(times, 0.5)));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
