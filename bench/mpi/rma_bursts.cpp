// Many small one-sided operations at random places before one flush: the time of one.
//
// Arguments: what=get|put|sum|fetch|rget|rput size=8 n=512 (operations before a flush) flushes=8
// (of a line of output) places=1048576 (of `size` bytes each, in every target's window) once=0
// rounds=11 gate=0
//   rget, rput: gets and puts with requests, which are waited for before the flush
//   once=1: the n operations as one with an indexed type, made for it: what batching can reach
//   once=2: the n operations as one message, which the target applies and answers. Its sums are not
//   atomic against those of other ranks: what a way without datatypes could reach
// Ranks other than 0 are the targets, in turn.
// Output, one line for every `flushes` flushes: {"ns"}, the mean time of one operation.
#include "rma_common.hpp"

namespace {

struct Job {
  std::string what;
  long size, n, flushes, places, once;
  int targets;

  bool fetches() const { return what == "get" || what == "rget" || what == "fetch"; }
  bool brings() const { return what != "get" && what != "rget"; }
};

constexpr int kOperations = 1, kAnswer = 2;  // tags

// The target's side of once=2, until an empty message comes.
void serve(const Job& job, unsigned char* memory) {
  const long words = job.size / 8;
  const long most = (job.n / job.targets + 1) * (1 + words);
  std::vector<std::int64_t> asked(static_cast<std::size_t>(most)), answer(asked.size());
  for (;;) {
    MPI_Status status;
    MPI_Recv(asked.data(), static_cast<int>(most), MPI_INT64_T, 0, kOperations, MPI_COMM_WORLD,
             &status);
    int count = 0;
    MPI_Get_count(&status, MPI_INT64_T, &count);
    if (count == 0) return;
    int answered = 0;
    for (int at = 0; at < count;) {
      auto* const place = reinterpret_cast<std::int64_t*>(memory + asked[at++]);
      for (long word = 0; word < words; ++word) {
        if (job.fetches()) answer[answered++] = place[word];
        if (!job.brings()) continue;
        const bool put = job.what == "put" || job.what == "rput";
        place[word] = (put ? 0 : place[word]) + asked[at++];
      }
    }
    MPI_Send(answer.data(), answered, MPI_INT64_T, 0, kAnswer, MPI_COMM_WORLD);
  }
}

class Operations {
 public:
  Operations(const Job& job, MPI_Win win)
      : job_(job),
        win_(win),
        words_(static_cast<int>(job.size / 8)),
        requests_(static_cast<std::size_t>(job.n), MPI_REQUEST_NULL),
        from_(static_cast<std::size_t>(job.n * job.size)),
        to_(static_cast<std::size_t>(job.n * job.size)) {}

  // One flush's worth. No place twice, as long as n is smaller than the number of places.
  void round() {
    next_ += 104729;
    if (job_.once == 2) return messages();
    if (job_.once == 1)
      for (int target = 1; target <= job_.targets; ++target) indexed(target);
    else
      for (long i = 0; i < job_.n; ++i) one(i, 1 + static_cast<int>(i % job_.targets));
    if (job_.what == "rget" || job_.what == "rput")
      MPI_Waitall(static_cast<int>(job_.n), requests_.data(), MPI_STATUSES_IGNORE);
    MPI_Win_flush_all(win_);
  }

 private:
  MPI_Aint place(long i) const {
    return static_cast<MPI_Aint>((next_ + i * 7919) % job_.places * job_.size);
  }

  MPI_Request* request(long i) { return &requests_[static_cast<std::size_t>(i)]; }

  void one(long i, int target) {
    void* const in = from_.data() + i * job_.size;
    void* const out = to_.data() + i * job_.size;
    const MPI_Aint at = place(i);
    if (job_.what == "get")
      MPI_Get(out, words_, MPI_INT64_T, target, at, words_, MPI_INT64_T, win_);
    else if (job_.what == "put")
      MPI_Put(in, words_, MPI_INT64_T, target, at, words_, MPI_INT64_T, win_);
    else if (job_.what == "rget")
      MPI_Rget(out, words_, MPI_INT64_T, target, at, words_, MPI_INT64_T, win_, request(i));
    else if (job_.what == "rput")
      MPI_Rput(in, words_, MPI_INT64_T, target, at, words_, MPI_INT64_T, win_, request(i));
    else if (job_.what == "sum")
      MPI_Accumulate(in, words_, MPI_INT64_T, target, at, words_, MPI_INT64_T, MPI_SUM, win_);
    else
      MPI_Fetch_and_op(in, out, MPI_INT64_T, target, at, MPI_SUM, win_);
  }

  void indexed(int target) {
    std::vector<MPI_Aint> places;
    for (long i = target - 1; i < job_.n; i += job_.targets) places.push_back(place(i));
    const int count = static_cast<int>(places.size());
    if (count == 0) return;
    MPI_Datatype there = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed_block(count, words_, places.data(), MPI_INT64_T, &there);
    MPI_Type_commit(&there);
    const int all = count * words_;
    void* const in = from_.data();
    void* const out = to_.data();
    if (job_.what == "get" || job_.what == "rget")
      MPI_Get(out, all, MPI_INT64_T, target, 0, 1, there, win_);
    else if (job_.what == "put" || job_.what == "rput")
      MPI_Put(in, all, MPI_INT64_T, target, 0, 1, there, win_);
    else if (job_.what == "sum")
      MPI_Accumulate(in, all, MPI_INT64_T, target, 0, 1, there, MPI_SUM, win_);
    else
      MPI_Get_accumulate(in, all, MPI_INT64_T, out, all, MPI_INT64_T, target, 0, 1, there, MPI_SUM,
                         win_);
    MPI_Type_free(&there);
  }

  void messages() {
    const auto* const values = reinterpret_cast<const std::int64_t*>(from_.data());
    for (int target = 1; target <= job_.targets; ++target) {
      message_.clear();
      for (long i = target - 1; i < job_.n; i += job_.targets) {
        message_.push_back(place(i));
        if (job_.brings())
          message_.insert(message_.end(), values + i * words_, values + (i + 1) * words_);
      }
      if (message_.empty()) continue;
      MPI_Send(message_.data(), static_cast<int>(message_.size()), MPI_INT64_T, target, kOperations,
               MPI_COMM_WORLD);
    }
    for (int target = 1; target <= job_.targets && target <= job_.n; ++target)
      MPI_Recv(to_.data(), static_cast<int>(job_.n) * words_, MPI_INT64_T, target, kAnswer,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  const Job& job_;
  MPI_Win win_;
  int words_;
  std::vector<std::int64_t> message_;
  std::vector<MPI_Request> requests_;
  rma::Buffer from_, to_;
  long next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Job job{args.text("what", "get"),
                args.number("size", 8),
                args.number("n", 512),
                args.number("flushes", 8),
                args.number("places", 1 << 20),
                args.number("once", 0),
                ranks - 1};
  rma::Gate gate(args, args.number("rounds", 11));
  {
    const rma::Window win(static_cast<std::size_t>(job.places * job.size));
    gate.open();
    const auto measure = [&] {
      Operations operations(job, win);
      MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
      while (gate.next()) {
        const double start = rma::now_ns();
        for (long k = 0; k < job.flushes; ++k) operations.round();
        rma::Object row;
        rma::print(
            row.field("ns", (rma::now_ns() - start) / static_cast<double>(job.flushes * job.n)));
      }
      MPI_Win_unlock_all(win);
    };
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (job.once != 2) {
      rma::with_attentive_targets(measure);
    } else if (rank != 0) {
      serve(job, win.base());
    } else {
      measure();
      for (int target = 1; target <= job.targets; ++target)
        MPI_Send(nullptr, 0, MPI_INT64_T, target, kOperations, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
}
