// One-sided operations between two ranks, timed at rank 0; a plain MPI program.
//
//   ghost_bench what=progress ops=accumulate,get busy=0,1000 rounds=51   the target computes
//       (rest=1: it waits inside MPI for as long, so that caches are as cold but the target idle)
//   ghost_bench what=fences counts=1,64 busy=1000 rounds=51              the same between fences
//   ghost_bench what=pscw counts=1,64 busy=1000 rounds=51                and between post and wait
//   ghost_bench what=product counts=1,64 busy=10000 rounds=31            the target multiplies
//   matrices ghost_bench what=exchange ops=accumulate,put busy=100 rounds=31      each rank with
//   all others ghost_bench what=operations rounds=51 batch=100                     the target waits
//   in MPI ghost_bench what=calls rounds=51                                     windows, locks,
//   fences ghost_bench what=binding puts=256 accumulates=64 put_bytes=8 accumulate_bytes=8 others=1
//       to the node of the last rank, whose first rank gets more, from all others; the report tells
//
// epochs=lockall is a hint about the windows (the info key epochs_used); pin=1 puts rank 1 on core
// 1, pin=0 rank 0 on core 0 (threads=1: with all its threads), and the others stay where they were
// started; quiet=1 lets ranks that
// wait sleep. One JSON line a result, times in microseconds.
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include "../mpi/rma_common.hpp"

namespace {

int rank = 0;
bool quiet = false;
std::string epochs;
volatile double sink = 0;

double us() { return rma::now_ns() / 1000; }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// A fixed amount of arithmetic outside MPI.
void compute(long steps) {
  double x = 1;
  for (long i = 0; i < steps; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

long steps_per_us() {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const double start = us();
    compute(1'000'000);
    times.push_back(us() - start);
  }
  return static_cast<long>(1'000'000 / median(times));
}

struct Window {
  MPI_Win win;
  double* base = nullptr;
  explicit Window(MPI_Aint cells, MPI_Comm comm = MPI_COMM_WORLD) {
    MPI_Info info = MPI_INFO_NULL;
    if (!epochs.empty()) {
      MPI_Info_create(&info);
      MPI_Info_set(info, "epochs_used", epochs.c_str());
    }
    MPI_Win_allocate(cells * 8, 8, info, comm, &base, &win);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    std::fill(base, base + cells, 0.0);
    MPI_Barrier(comm);
  }
  ~Window() { MPI_Win_free(&win); }
};

MPI_Datatype row_type() {
  static MPI_Datatype type = [] {
    MPI_Datatype vector;
    MPI_Type_vector(64, 1, 4, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    return vector;
  }();
  return type;
}

void issue(const std::string& op, MPI_Win win, int target) {
  static double data[64], result[64];
  if (op == "accumulate")
    MPI_Accumulate(data, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, MPI_SUM, win);
  if (op == "get_accumulate")
    MPI_Get_accumulate(data, 1, MPI_DOUBLE, result, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE,
                       MPI_SUM, win);
  if (op == "fetch_and_op") MPI_Fetch_and_op(data, result, MPI_DOUBLE, target, 0, MPI_SUM, win);
  if (op == "strided_put") MPI_Put(data, 64, MPI_DOUBLE, target, 0, 1, row_type(), win);
  if (op == "put") MPI_Put(data, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, win);
  if (op == "get") MPI_Get(data, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, win);
}

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < list.size();) {
    const auto comma = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

void progress(const rma::Args& args) {
  const Window window(1024);
  const long speed = steps_per_us();
  const bool rest = args.number("rest", 0) != 0;
  for (const auto& op :
       words(args.text("ops", "accumulate,get_accumulate,fetch_and_op,strided_put,get"))) {
    for (const long busy : args.numbers("busy", "0,10,100,1000,10000")) {
      const long rounds = args.number("rounds", 31);
      const auto work = [&] {
        if (!rest) {
          compute(busy * speed);
          return;
        }
        int flag = 0;
        for (const double start = us(); us() - start < static_cast<double>(busy);)
          MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      };
      std::vector<double> times, alone, beside;
      for (long round = -2; round < rounds; ++round) {
        if (rank == 1) {  // what the computation takes with nobody asking for anything
          const double start = us();
          work();
          if (round >= 0) alone.push_back(us() - start);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = us();
        if (rank == 1) {
          work();
          if (round >= 0) beside.push_back(us() - start);
        } else if (rank == 0) {
          if (busy >= 100)  // the target is at it
            while (us() - start < 20) {
            }
          const double begin = us();
          MPI_Win_lock_all(0, window.win);
          issue(op, window.win, 1);
          MPI_Win_unlock_all(window.win);
          if (round >= 0) times.push_back(us() - begin);
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
      double slowdown = rank == 1 && busy > 0 ? median(beside) / median(alone) : 1;
      MPI_Bcast(&slowdown, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
      if (rank == 0) {
        std::printf("{\"op\": \"%s\", \"busy_us\": %ld, \"us\": %.3f, \"slowdown\": %.4f}\n",
                    op.c_str(), busy, median(times), slowdown);
        std::fflush(stdout);
      }
    }
  }
}

// Interrupts that a core has served since the machine started, those of timers and of other cores
// among them.
double interrupts_of(int core) {
  std::ifstream file("/proc/interrupts");
  std::string line, word;
  if (!std::getline(file, line)) return 0;
  // The columns are the cores that are there, in order.
  int column = 0, columns = 0;
  for (std::istringstream names(line); names >> word; ++columns)
    if (word == "CPU" + std::to_string(core)) column = columns;
  double sum = 0;
  while (std::getline(file, line)) {
    std::istringstream values(line);
    values >> word;
    double value = 0;
    for (int i = 0; i <= column; ++i)
      if (!(values >> value)) value = 0;
    sum += value;
  }
  return sum;
}

// How often the system took the core from this thread.
double preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<double>(usage.ru_nivcsw);
}

// So many products of small matrices, outside MPI.
void multiply(long times) {
  constexpr int kSize = 64;
  static std::vector<double> a(kSize * kSize, 1.5), b(kSize * kSize, 0.5), c(kSize * kSize, 0);
  for (long t = 0; t < times; ++t)
    for (int i = 0; i < kSize; ++i)
      for (int k = 0; k < kSize; ++k) {
        const double factor = a[static_cast<std::size_t>(i * kSize + k)];
        for (int j = 0; j < kSize; ++j)
          c[static_cast<std::size_t>(i * kSize + j)] +=
              factor * b[static_cast<std::size_t>(k * kSize + j)];
      }
  sink = c[0];
}

// Accumulates to a rank that multiplies matrices: what its product takes, and how often its core is
// interrupted in it, beside the same product with nobody asking for anything.
void beside_product(const rma::Args& args) {
  const Window window(1024);
  const long rounds = args.number("rounds", 31);
  std::vector<double> trial;
  for (int i = 0; i < 9; ++i) {
    const double start = us();
    multiply(10);
    trial.push_back((us() - start) / 10);
  }
  const long products =
      std::max(1L, std::lround(static_cast<double>(args.number("busy", 10000)) / median(trial)));
  for (const long count : args.numbers("counts", "1,16,64,256,1024")) {
    std::vector<double> times, alone, beside, interrupted, switched;
    for (long round = -2; round < rounds; ++round) {
      if (rank == 1) {
        const double start = us();
        multiply(products);
        if (round >= 0) alone.push_back(us() - start);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      const double interrupts = rank == 1 ? interrupts_of(sched_getcpu()) : 0;
      const double switches = preemptions(), start = us();
      if (rank == 1) {
        multiply(products);
        if (round >= 0) {
          beside.push_back(us() - start);
          switched.push_back(preemptions() - switches);
          interrupted.push_back(interrupts_of(sched_getcpu()) - interrupts);
        }
      } else if (rank == 0) {
        while (us() - start < 100) {  // the target is at it
        }
        const double begin = us();
        MPI_Win_lock_all(0, window.win);
        for (long i = 0; i < count; ++i) issue("accumulate", window.win, 1);
        MPI_Win_unlock_all(window.win);
        if (round >= 0) times.push_back(us() - begin);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    double told[4] = {};
    if (rank == 1) {
      told[0] = median(alone);
      told[1] = median(beside);
      told[2] = median(interrupted);
      told[3] = median(switched);
    }
    MPI_Bcast(told, 4, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    if (rank == 0)
      std::printf(
          "{\"operations\": %ld, \"us\": %.3f, \"alone_us\": %.3f, \"beside_us\": %.3f, "
          "\"interrupts\": %.1f, \"preemptions\": %.1f}\n",
          count, median(times), told[0], told[1], told[2], told[3]);
    std::fflush(stdout);
  }
}

// Each rank with all others: one operation, computation, ten operations, in one epoch.
void exchange(const rma::Args& args) {
  const Window window(1024);
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long busy = args.number("busy", 100) * steps_per_us(), rounds = args.number("rounds", 31);
  const auto all_others = [&](const std::string& op, int times) {
    for (int i = 0; i < times; ++i)
      for (int target = 0; target < size; ++target)
        if (target != rank) issue(op, window.win, target);
  };
  for (const auto& op : words(args.text("ops", "accumulate,put"))) {
    std::vector<double> times;
    for (long round = -2; round < rounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = us();
      MPI_Win_lock_all(0, window.win);
      all_others(op, 1);
      compute(busy);
      all_others(op, 10);
      MPI_Win_unlock_all(window.win);
      if (round >= 0) times.push_back(us() - start);
    }
    double mean = median(times) / size;
    MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::printf("{\"op\": \"%s\", \"us\": %.3f}\n", op.c_str(), mean);
    std::fflush(stdout);
  }
}

// The other one of two ranks.
MPI_Group other_rank() {
  MPI_Group all, other;
  const int peer = 1 - rank;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &peer, &other);
  MPI_Group_free(&all);
  return other;
}

// An epoch in which rank 0 accumulates to rank 1, and rank 1 computes: between two fences, or from
// start to complete and from post to wait.
void epochs_beside_work(const rma::Args& args) {
  const Window window(1024);
  const long busy = args.number("busy", 1000) * steps_per_us();
  const long rounds = args.number("rounds", 31);
  const bool fence = args.text("what", "fences") == "fences";
  MPI_Group other = other_rank();
  for (const long count : args.numbers("counts", "1,4,16,64,256,1024")) {
    std::vector<double> times;
    for (long round = -2; round < rounds; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = us();
      if (fence)
        MPI_Win_fence(MPI_MODE_NOPRECEDE, window.win);
      else if (rank == 0)
        MPI_Win_start(other, 0, window.win);
      else
        MPI_Win_post(other, 0, window.win);
      if (rank == 0)
        for (long i = 0; i < count; ++i) issue("accumulate", window.win, 1);
      else
        compute(busy);
      if (fence)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
      else if (rank == 0)
        MPI_Win_complete(window.win);
      else
        MPI_Win_wait(window.win);
      if (round >= 0) times.push_back(us() - start);
    }
    // The target's: from its epoch's start to its end, the work included.
    double longest = median(times);
    MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
      std::printf("{\"op\": \"accumulate\", \"operations\": %ld, \"us\": %.3f}\n", count, longest);
      std::fflush(stdout);
    }
  }
  MPI_Group_free(&other);
}

void result(const char* name, std::vector<double> times) {
  if (rank == 0) std::printf("{\"name\": \"%s\", \"us\": %.4f}\n", name, median(std::move(times)));
  std::fflush(stdout);
}

// Waiting for rank 0: inside MPI, or (quiet=1) mostly asleep, which leaves a core to a ghost.
void rest() {
  if (!quiet) {
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int flag = 0; !flag;) {
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (!flag) usleep(2000);
  }
}

// Rank 0 works, the others rest.
void one_sided(const char* name, long rounds, const std::function<double()>& once) {
  std::vector<double> times;
  if (rank == 0) {
    for (long round = -2; round < rounds; ++round) {
      const double time = once();
      if (round >= 0) times.push_back(time);
    }
    result(name, times);
  }
  rest();
}

void collective(const char* name, long rounds, const std::function<double()>& once) {
  std::vector<double> times;
  for (long round = -2; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double time = once();
    if (round >= 0) times.push_back(time);
  }
  result(name, times);
}

void operations(const rma::Args& args) {
  const Window window(4096);
  const long rounds = args.number("rounds", 31), batch = args.number("batch", 100);
  MPI_Win_lock_all(0, window.win);
  for (const char* op : {"put", "get", "accumulate", "get_accumulate", "strided_put"}) {
    one_sided(op, rounds, [&] {
      const double start = us();
      for (long i = 0; i < batch; ++i) {
        issue(op, window.win, 1);
        MPI_Win_flush(1, window.win);
      }
      return (us() - start) / static_cast<double>(batch);
    });
  }
  for (const char* op : {"put", "accumulate"}) {
    one_sided((std::string(op) + " burst").c_str(), rounds, [&] {
      const double start = us();
      for (long i = 0; i < batch; ++i) issue(op, window.win, 1);
      MPI_Win_flush(1, window.win);
      return (us() - start) / static_cast<double>(batch);
    });
  }
  MPI_Win_unlock_all(window.win);
}

void calls(const rma::Args& args) {
  const long rounds = args.number("rounds", 31);
  collective("win_allocate", rounds, [] {
    const double start = us();
    MPI_Win win;
    void* base;
    MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    const double time = us() - start;
    MPI_Win_free(&win);
    return time;
  });
  const Window window(4096);
  one_sided("self_lock", rounds, [&] {
    const double start = us();
    for (int i = 0; i < 100; ++i) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win);
      MPI_Win_unlock(0, window.win);
    }
    return (us() - start) / 100;
  });
  for (const long count : {1L, 128L}) {
    collective(("fence " + std::to_string(count)).c_str(), rounds, [&] {
      const double start = us();
      MPI_Win_fence(MPI_MODE_NOPRECEDE, window.win);
      if (rank == 0)
        for (long i = 0; i < count; ++i) issue("accumulate", window.win, 1);
      MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
      return us() - start;
    });
    collective(("pscw " + std::to_string(count)).c_str(), rounds, [&] {
      MPI_Group other = other_rank();
      const double start = us();
      if (rank == 0) {
        MPI_Win_start(other, 0, window.win);
        for (long i = 0; i < count; ++i) issue("accumulate", window.win, 1);
        MPI_Win_complete(window.win);
      } else {
        MPI_Win_post(other, 0, window.win);
        MPI_Win_wait(window.win);
      }
      const double time = us() - start;
      MPI_Group_free(&other);
      return time;
    });
  }
}

// Uneven load: `puts` and `accumulates` to the first rank of the second half from each of the
// first; the others get `others` of each kind, of 8 bytes. uneven=1: the others have 16 bytes of
// memory only.
void binding(const rma::Args& args) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long puts = args.number("puts", 256), accumulates = args.number("accumulates", 0);
  const long others = args.number("others", 1);
  const long bytes[] = {args.number("put_bytes", 8), args.number("accumulate_bytes", 8)};
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int leader = rank;
  MPI_Bcast(&leader, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  std::vector<int> leaders(static_cast<std::size_t>(size)), targets;
  MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    if (leaders[static_cast<std::size_t>(r)] == leaders.back()) targets.push_back(r);
  const int first = targets.front();
  const bool small = args.number("uneven", 0) != 0 && rank != first;
  const MPI_Aint window_bytes = small ? 16 : args.number("window", 1 << 16);
  double* base = nullptr;
  MPI_Win win;
  MPI_Win_allocate(window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  std::vector<double> data(1 << 13, 1.0);
  const MPI_Aint range = args.number("window", 1 << 16);
  MPI_Win_lock_all(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (leader != first) {
    for (const int t : targets) {  // from here on the locks are known to be held
      MPI_Put(data.data(), 1, MPI_DOUBLE, t, 0, 1, MPI_DOUBLE, win);
      MPI_Win_flush(t, win);
    }
    for (long round = 0; round < std::max(puts, accumulates); ++round) {
      for (const bool put : {false, true}) {
        for (const int t : targets) {
          const long wanted = put ? puts : accumulates;
          if (round >= (t == first ? wanted : std::min(wanted, others))) continue;
          const int count = static_cast<int>((t == first ? bytes[put ? 0 : 1] : 8) / 8);
          const MPI_Aint at = t == first ? round * 8 % (range - count * 8 + 8) : 0;
          if (put)
            MPI_Put(data.data(), count, MPI_DOUBLE, t, at, count, MPI_DOUBLE, win);
          else
            MPI_Accumulate(data.data(), count, MPI_DOUBLE, t, at, count, MPI_DOUBLE, MPI_SUM, win);
        }
      }
    }
    MPI_Win_flush_all(win);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

// This thread, or all that the process has by now.
void pin_to(int core, bool threads) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
  DIR* tasks = threads ? opendir("/proc/self/task") : nullptr;
  if (!tasks) return;
  while (const dirent* task = readdir(tasks))
    if (task->d_name[0] != '.') sched_setaffinity(std::atoi(task->d_name), sizeof set, &set);
  closedir(tasks);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const rma::Args args(argc, argv);
  if (rank == args.number("pin", -1)) pin_to(rank, args.number("threads", 0) != 0);
  quiet = args.number("quiet", 0) != 0;
  epochs = args.text("epochs", "");
  const std::string what = args.text("what", "progress");
  if (what == "progress") progress(args);
  if (what == "fences" || what == "pscw") epochs_beside_work(args);
  if (what == "product") beside_product(args);
  if (what == "exchange") exchange(args);
  if (what == "operations") operations(args);
  if (what == "calls") calls(args);
  if (what == "binding") binding(args);
  MPI_Finalize();
}
