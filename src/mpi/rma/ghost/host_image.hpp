// Buffers in an accelerator's memory, which neither this process nor a ghost may touch.
#pragma once

#include <cstddef>
#include <vector>

#include "mpi/rma/backend/op.hpp"

namespace hob::mpi {

/// Whether its data are in an accelerator's memory. One branch where no runtime is loaded.
bool is_on_accelerator(const TypedBuffer& buffer);

/// Host memory of the same layout that stands for such a buffer. The MPI library copies between the
/// two: it knows accelerators, or the program could not give it their memory. Blocks.
class HostImage {
 public:
  /// Of any buffer; one that is not on an accelerator stands for itself. Throws std::bad_alloc.
  explicit HostImage(const TypedBuffer& buffer);

  void* address() const { return image_; }
  TypedBuffer buffer() const { return {image_, original_.count, original_.type}; }

  /// Copies the program's data to the image, and back. Return the library's error code.
  int read() const;
  int write() const;

 private:
  TypedBuffer original_;
  std::vector<std::byte> memory_;
  void* image_;
};

/// Before MPI ends: frees what copying took.
void release_host_images();

}  // namespace hob::mpi
