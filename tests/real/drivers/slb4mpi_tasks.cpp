// Tasks of known length under SLB4MPI's load balancers: its own example, with work that takes the
// core in place of its sleep, and tasks that grow, so that an equal share of them is not an equal
// share of the work.
//
//   slb4mpi-tasks BALANCER [tasks=200] [milliseconds=5]
#include <mpi.h>
#include <time.h>

#include <SLB4MPI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

double core_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double task_seconds(long task, long tasks, double mean) {
  return mean * (0.5 + static_cast<double>(task) / static_cast<double>(tasks));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "slb4mpi-tasks BALANCER [TASKS] [MILLISECONDS]\n");
    return 2;
  }
  const std::string balancer = argv[1];
  const long tasks = argc > 2 ? std::atol(argv[2]) : 200;
  const double mean = (argc > 3 ? std::atof(argv[3]) : 5) * 1e-3;
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long done = 0;
  long sum = 0;
  double start = 0;
  double seconds = 0;
  {
    SLB4MPI::RuntimeLoadBalancer balance(balancer, MPI_COMM_WORLD, 1, tasks, 1, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    int64_t from = 0;
    int64_t to = 0;
    while (balance.get_range(from, to)) {
      for (int64_t task = from; task <= to; ++task) {
        const double end = core_seconds() + task_seconds(task, tasks, mean);
        while (core_seconds() < end) {
        }
        ++done;
        sum += task;
      }
    }
    seconds = MPI_Wtime() - start;
  }
  long totals[2] = {done, sum};
  MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    double work = 0;
    for (long task = 1; task <= tasks; ++task) work += task_seconds(task, tasks, mean);
    std::printf("tasks done %ld, sum %ld\n", totals[0], totals[1]);
    std::printf("seconds %.6f ideal %.6f\n", seconds, work / ranks);
    if (totals[0] != tasks)
      std::fprintf(stderr,
                   "slb4mpi-tasks: each rank did all tasks: SLB4MPI was built without MPI\n");
  }
  MPI_Finalize();
  return totals[0] == tasks ? 0 : 1;
}
