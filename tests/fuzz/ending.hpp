// Where programs end that do not end in main.
#pragma once

#include <functional>

namespace fuzz {

enum class Ending {
  kExitHandler,
  kDestructor,   ///< of a static object
  kThreadLocal,  ///< in the destructor of a thread-local object of the main thread
};

/// Leaves main, whose variables stay alive, and runs this afterwards, MPI_Finalize included. Status
/// 0, unless it ends the process itself.
[[noreturn]] void end_in(Ending where, std::function<void()> happens);

/// Runs this in the destructor of a thread-local object of another thread, which is waited for.
void end_of_thread(std::function<void()> happens);

}  // namespace fuzz
