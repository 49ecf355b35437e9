// Error handlers that throw C++ exceptions: the program catches them through the frames of the MPI
// library and, with Hob, through Hob's. Wrong arguments, so that it is the library that calls the
// handler.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>

namespace {

void comm_handler(MPI_Comm*, int*, ...) { throw std::runtime_error("communicator"); }
void window_handler(MPI_Win*, int*, ...) { throw std::runtime_error("window"); }

template <class Call>
void attempt(int rank, const char* name, Call call) {
  try {
    call();
    std::printf("%d %s: nothing thrown\n", rank, name);
  } catch (const std::exception& error) {
    std::printf("%d %s: %s\n", rank, name, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler of_comm, of_window;
  MPI_Comm_create_errhandler(comm_handler, &of_comm);
  MPI_Comm_set_errhandler(comm, of_comm);
  MPI_Win_create_errhandler(window_handler, &of_window);
  MPI_Win window;
  int* memory = nullptr;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, comm, &memory, &window);
  MPI_Win_set_errhandler(window, of_window);
  memory[0] = rank + 5;

  constexpr int kNobody = 77;
  int x = 0;
  for (int round = 0; round < 3; ++round) {
    attempt(rank, "send", [&] { MPI_Send(&x, 1, MPI_INT, kNobody, 0, comm); });
    attempt(rank, "recv", [&] { MPI_Recv(&x, 1, MPI_INT, kNobody, 0, comm, MPI_STATUS_IGNORE); });
    attempt(rank, "get", [&] { MPI_Get(&x, 1, MPI_INT, kNobody, 0, 1, MPI_INT, window); });
    attempt(rank, "put", [&] { MPI_Put(&x, 1, MPI_INT, kNobody, 0, 1, MPI_INT, window); });
    attempt(rank, "flush", [&] { MPI_Win_flush(kNobody, window); });
  }

  // Afterwards everything works as before.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < 2; ++round) {
    MPI_Get(&x, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
    MPI_Win_flush(1 - rank, window);
    std::printf("%d got %d\n", rank, x);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Errhandler_free(&of_comm);
  MPI_Errhandler_free(&of_window);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
