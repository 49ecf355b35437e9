// A program that gains from Hob, stops, and gains again: the time of one call in each phase.
//
// Arguments: what=gets|barriers|writes|match settle=1000 (calls of each phase that are not timed)
// calls=1000 (that are) depth=2000 (match: receives that are posted beside)
//   gets      gets from 64 places again and again, each flushed; then from places at random
//   barriers  the same with a barrier after every 64; then barriers alone
//   writes    the same gets; then puts, each flushed
//   match     a ping-pong beside many posted receives; then beside none
// Output, one line: {"gain_ns", "none_ns", "again_ns"}, medians of rank 0.
#include "rma_common.hpp"

namespace {

constexpr int kPlaces = 64;
constexpr int kBytes = 64;
constexpr std::size_t kWindow = std::size_t{32} << 20;

struct Job {
  std::string what;
  long settle, calls, depth;
  int rank;
};

template <class Call>
double median_of(const Job& job, Call call) {
  std::vector<double> times;
  for (long i = 0; i < job.settle + job.calls; ++i) {
    const double start = rma::now_ns();
    call(i);
    if (i >= job.settle) times.push_back(rma::now_ns() - start);
  }
  return rma::quantile(times, 0.5);
}

class Phases {
 public:
  Phases(const Job& job, MPI_Win win) : job_(job), win_(win) {}

  double gain() {
    if (job_.what == "match") return beside_receives(job_.depth);
    if (job_.what != "barriers") return alone([&](long i) { get(i % kPlaces); });
    return median_of(job_, [&](long) {
      if (job_.rank == 0)
        for (int place = 0; place < kPlaces; ++place) get(place);
      MPI_Barrier(MPI_COMM_WORLD);
    });
  }

  double none() {
    if (job_.what == "match") return beside_receives(0);
    if (job_.what == "barriers") return median_of(job_, [](long) { MPI_Barrier(MPI_COMM_WORLD); });
    if (job_.what == "gets") return alone([&](long) { get(some_place()); });
    return alone([&](long i) {
      MPI_Put(buffer_, kBytes, MPI_BYTE, 1, (1000 + i) * kBytes, kBytes, MPI_BYTE, win_);
      MPI_Win_flush(1, win_);
    });
  }

 private:
  void get(long place) {
    MPI_Get(buffer_, kBytes, MPI_BYTE, 1, place * kBytes, kBytes, MPI_BYTE, win_);
    MPI_Win_flush(1, win_);
  }

  // Beyond those of the gain, in an order that nothing can foresee.
  long some_place() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return kPlaces + static_cast<long>((state_ >> 33) % (kWindow / kBytes - kPlaces));
  }

  template <class Call>
  double alone(Call call) {
    double found = 0;
    rma::with_attentive_targets([&] { found = median_of(job_, call); });
    return found;
  }

  double beside_receives(long depth) {
    std::vector<MPI_Request> others(static_cast<std::size_t>(depth));
    std::vector<int> values(others.size());
    for (std::size_t i = 0; i < others.size(); ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, 1 - job_.rank, 100 + static_cast<int>(i), MPI_COMM_WORLD,
                &others[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double found = median_of(job_, [&](long) {
      int value = 0;
      if (job_.rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      }
    });
    for (MPI_Request& other : others) MPI_Cancel(&other);
    MPI_Waitall(static_cast<int>(others.size()), others.data(), MPI_STATUSES_IGNORE);
    return found;
  }

  Job job_;
  MPI_Win win_;
  std::uint64_t state_ = 1;
  char buffer_[kBytes] = {};
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  Job job{args.text("what", "gets"), args.number("settle", 1000), args.number("calls", 1000),
          args.number("depth", 2000), 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  {
    rma::Window window(kWindow);
    MPI_Win_lock_all(0, window);
    Phases phases(job, window);
    const double gain = phases.gain(), none = phases.none(), again = phases.gain();
    MPI_Win_unlock_all(window);
    if (job.rank == 0)
      rma::print(
          rma::Object().field("gain_ns", gain).field("none_ns", none).field("again_ns", again));
  }
  MPI_Finalize();
  return 0;
}
