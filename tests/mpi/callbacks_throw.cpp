// Exceptions that error handlers of the program's throw through the MPI library and Hob, and a
// thread that ends in one: the program catches what it catches without Hob, and Hob works on
// afterwards.
#include <mpi.h>
#include <pthread.h>

#include <cstdio>
#include <stdexcept>
#include <string>

static int rank;

static void on_comm(MPI_Comm*, int*, ...) { throw std::runtime_error("communicator"); }
static void on_window(MPI_Win*, int*, ...) { throw std::bad_alloc(); }
static void end_thread(MPI_Comm*, int*, ...) { pthread_exit(nullptr); }

template <class Call>
static void row(const char* name, Call call) {
  std::string caught = "nothing";
  try {
    call();
  } catch (const std::bad_alloc&) {
    caught = "a window's";
  } catch (const std::exception& error) {
    caught = error.what();
  }
  std::printf("%d %s: %s\n", rank, name, caught.c_str());
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int value = 0, *memory = nullptr;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Win window;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, comm, &memory, &window);
  MPI_Errhandler of_comm, of_window, ends;
  MPI_Comm_create_errhandler(on_comm, &of_comm);
  MPI_Win_create_errhandler(on_window, &of_window);
  MPI_Comm_create_errhandler(end_thread, &ends);
  MPI_Comm_set_errhandler(comm, of_comm);
  MPI_Win_set_errhandler(window, of_window);
  memory[0] = rank + 5;
  MPI_Barrier(MPI_COMM_WORLD);
  const auto rows = [&] {
    row("send", [&] { MPI_Send(&value, 1, MPI_INT, 77, 0, comm); });
    row("receive", [&] { MPI_Recv(&value, 1, MPI_INT, 77, 0, comm, MPI_STATUS_IGNORE); });
    row("get", [&] { MPI_Get(&value, 1, MPI_INT, 77, 0, 1, MPI_INT, window); });
    row("put", [&] { MPI_Put(&value, 1, MPI_INT, 77, 0, 1, MPI_INT, window); });
    row("call", [&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); });
    row("call of window", [&] { MPI_Win_call_errhandler(window, MPI_ERR_OTHER); });
  };
  rows();
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < 3; ++i) {
    MPI_Get(&value, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
    MPI_Win_flush(1 - rank, window);
  }
  std::printf("%d got %d\n", rank, value);
  rows();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Put(&rank, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
  MPI_Win_flush(1 - rank, window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Get(&value, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
  MPI_Win_flush(1 - rank, window);
  std::printf("%d got %d after an own put\n", rank, value);

  MPI_Comm_set_errhandler(comm, ends);
  pthread_t thread;
  const auto work = [](void* of) -> void* {
    MPI_Comm_call_errhandler(*static_cast<MPI_Comm*>(of), MPI_ERR_OTHER);
    std::printf("%d this thread should have ended\n", rank);
    return nullptr;
  };
  pthread_create(&thread, nullptr, work, &comm);
  pthread_join(thread, nullptr);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  std::printf("%d done\n", rank);
}
