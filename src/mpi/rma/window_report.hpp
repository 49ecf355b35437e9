// What the report says of windows.
#pragma once

namespace hob::mpi {

class Window;

/// Adds the windows of this process to the report. Before MPI starts.
void register_window_report();

/// Keeps what the report is to say of a window that ends. Thread safe.
void remember_window(const Window& window);

}  // namespace hob::mpi
