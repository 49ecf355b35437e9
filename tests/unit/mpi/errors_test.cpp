// Calls that the library refuses, all that Hob wraps: the program gets the error as it is, nothing
// that the call was to write is touched, and the next call is as this one was. Then those that end
// something, which is there until the library says that it is not.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "fake_mpi.hpp"
#include "mpi/core/program_guard.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/lookup.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

constexpr int kError = 0x5e77;

int refusals = 0;

template <class Function>
struct Refusing;

/// While it lives, the library refuses calls of this function.
template <class... Arguments>
struct Refusing<int (*)(Arguments...)> {
  using Function = int (*)(Arguments...);
  explicit Refusing(Function& real)
      : function(real), before(std::exchange(real, [](Arguments...) {
          ++refusals;
          return kError;
        })) {}
  ~Refusing() { function = before; }
  Refusing(const Refusing&) = delete;
  Refusing& operator=(const Refusing&) = delete;
  Function& function;
  Function before;
};

/// Memory that nobody may touch.
template <class T>
T* hidden() {
  static void* const page =
      mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return static_cast<T*>(page);
}

template <class T>
T* ones() {
  static T values[16];
  for (T& value : values) value = T(1);
  return values;
}

template <class T>
T* copy(T value) {
  static T kept;
  kept = value;
  return &kept;
}

/// How a call behaved, as the exit status of the process that made it.
enum Behaviour { good, not_the_librarys, touches_outputs, changes_error };

void end_touching(int) { std::_Exit(touches_outputs); }

/// Calls of which Hob gives a part of the answer before it asks the library.
const std::set<std::string> kAnswersBefore{"Improbe", "Iprobe"};

/// Calls that become others of the library.
const std::set<std::string> kBecomesOthers{"Startall"};

struct RefusedCalls : testing::Test {
  void SetUp() override {
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    fake::reset();
  }
  void TearDown() override {
    fake::reset();
    EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  }

  /// In a process of its own, so that whatever the call does to Hob's state ends with it.
  template <class Real, class Other>
  void check(const char* name, Real& real, Other& other, const std::function<int()>& call) {
    if (kBecomesOthers.count(name) != 0) return;
    const pid_t child = ::fork();
    if (child == 0) {
      std::signal(SIGSEGV, end_touching);
      const Refusing<Real> refuses(real);
      const Refusing<Other> and_its_form(other);
      Behaviour behaviour = good;
      for (int time = 0; time < 2; ++time) {
        refusals = 0;
        const int result = call();
        if (refusals == 0)
          behaviour = not_the_librarys;
        else if (result != kError)
          behaviour = changes_error;
      }
      std::_Exit(behaviour);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << name << " ended with signal " << WTERMSIG(status);
    const int behaviour = WEXITSTATUS(status);
    ++behaviours[behaviour];
    if (kAnswersBefore.count(name) != 0) return;
    EXPECT_NE(behaviour, touches_outputs)
        << name << " reads or writes what the refused call was to write";
    EXPECT_NE(behaviour, changes_error) << name << " does not return the library's error";
  }

  void check_all() {
    char bytes[256] = {};
    MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    MPI_Request requests[1] = {request};
#define REFUSED(name, base, ...)               \
  requests[0] = request;                       \
  check(#name, real::name, real::base, [&]() { \
    static_cast<void>(bytes);                  \
    return __VA_ARGS__;                        \
  });
#include "refused_calls.inc"
#undef REFUSED
    // Most reach the library; else this test would show nothing.
    EXPECT_GT(behaviours[good], 300);
    EXPECT_LT(behaviours[not_the_librarys], 100);
  }

  void* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = 0x6c00beef;
  std::map<int, int> behaviours;  ///< how many calls
};

TEST_F(RefusedCalls, ReturnTheErrorAndTouchNothingWhileHobSleeps) { check_all(); }

TEST_F(RefusedCalls, ReturnTheErrorAndTouchNothingWhileHobIsAwake) {
  begin_tracking();
  check_all();
  end_tracking();
}

TEST_F(RefusedCalls, ReturnTheErrorAndTouchNothingForARequestThatIsWatched) {
  struct Listener : CompletionObserver {
    int heard = 0;
    void completed(std::uint64_t, bool) override { ++heard; }
    bool is_acquire() const override { return true; }
  } listener;
  begin_tracking();
  requests::watch(request, listener, 1);
  check_all();
  EXPECT_EQ(listener.heard, 0) << "its handle is as it was";
  EXPECT_FALSE(requests::unknown(request));
  requests::withdraw(request);
  end_tracking();
}

/// With a window whose gets are cached.
struct Refused : testing::Test {
  void SetUp() override {
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock_all(0, win);
    fake::reset();
  }
  void TearDown() override {
    fake::reset();
    if (win == MPI_WIN_NULL) return;
    EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  }
  int read(int at) {
    int value = -1;
    EXPECT_EQ(MPI_Get(&value, 1, MPI_INT, 1, at, 1, MPI_INT, win), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(1, win), MPI_SUCCESS);
    return value;
  }
  int* there() { return reinterpret_cast<int*>(fake::memory(win, 1).data()); }

  void* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
};

TEST_F(Refused, AWindowThatIsNotFreedIsAsBefore) {
  there()[3] = 42;
  EXPECT_EQ(read(3), 42);
  Window* const known = find_window(win);
  for (int i = 0; i < 3; ++i) {
    fake::fail("Win_free", kError);
    const MPI_Win handle = win;
    EXPECT_EQ(MPI_Win_free(&win), kError);
    EXPECT_EQ(win, handle);
    EXPECT_EQ(find_window(win), known);
  }
  const auto gets = fake::calls("Get");
  EXPECT_EQ(read(3), 42);
  EXPECT_EQ(read(3), 42);
  EXPECT_LE(fake::calls("Get"), gets + 1) << "still cached";
  EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  EXPECT_EQ(win, MPI_WIN_NULL);
}

TEST_F(Refused, NoHandleAtAllIsTheLibrarysToTellOf) {
  fake::fail("Win_free", kError);
  EXPECT_EQ(MPI_Win_free(nullptr), kError);
  fake::fail("Type_free", kError);
  EXPECT_EQ(MPI_Type_free(nullptr), kError);
}

TEST_F(Refused, ALockOfTheOwnMemoryThatIsNotHadIsNoEpoch) {
  fake::fail("Win_lock", kError);
  EXPECT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win), kError);
  EXPECT_FALSE(find_window(win)->cached->own_epoch_ends());
}

TEST(RefusedCommunicator, KeepsWhatHobKnowsOfIt) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  fake::fail("Comm_free", kError);
  EXPECT_EQ(MPI_Comm_free(&comm), kError);
  EXPECT_NE(comm, MPI_COMM_NULL);
  fake::fail("Comm_disconnect", kError);
  EXPECT_EQ(MPI_Comm_disconnect(&comm), kError);
  EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
}

MPI_Comm_errhandler_function* registered = nullptr;
const void* passed[2];

void noting_handler(MPI_Comm*, int* code, ...) {
  std::va_list more;
  va_start(more, code);
  for (const void*& each : passed) each = va_arg(more, void*);
  va_end(more);
}

TEST(ErrorHandler, GetsNothingThatThisLibraryDoesNotPass) {
  const auto before = std::exchange(real::Comm_create_errhandler,
                                    [](MPI_Comm_errhandler_function* function, MPI_Errhandler*) {
                                      registered = function;
                                      return MPI_SUCCESS;
                                    });
  MPI_Errhandler made;
  MPI_Comm_create_errhandler(noting_handler, &made);
  real::Comm_create_errhandler = before;
  ASSERT_NE(registered, nullptr);
  ASSERT_NE(registered, noting_handler);
  MPI_Comm comm = MPI_COMM_WORLD;
  int code = kError, something = 0;
  // What is in the place of arguments that MPICH does not pass is anything.
  registered(&comm, &code, static_cast<void*>(&something), static_cast<void*>(&something));
  EXPECT_EQ(passed[0], nullptr);
  EXPECT_EQ(passed[1], nullptr);
}

}  // namespace
}  // namespace hob::mpi
