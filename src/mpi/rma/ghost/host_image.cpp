#include "mpi/rma/ghost/host_image.hpp"

#include <algorithm>
#include <climits>
#include <mutex>
#include <utility>

#include "ghost/block.hpp"
#include "mpi/core/accelerator.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/ghost/blocks.hpp"

namespace hob::mpi {
namespace {

/// Bytes of the buffer's data, relative to its address; first == end for none.
struct Span {
  std::int64_t first = 0;
  std::int64_t end = 0;
};
Span span_of(const TypedBuffer& buffer) {
  std::vector<ghost::Block> blocks;
  if (!data_blocks(buffer.type, buffer.count, 0, blocks) || blocks.empty()) return {};
  Span all{blocks.front().offset, blocks.front().offset};
  for (const ghost::Block& block : blocks) {
    all.first = std::min(all.first, block.offset);
    all.end = std::max(all.end, block.offset + static_cast<std::int64_t>(block.length));
  }
  return all;
}

/// A communicator of Hob's own: on MPI_COMM_SELF, receives of the program's may be posted. There is
/// one of a process, made by the first copy; one thread copies at a time.
struct CopyingComm {
  std::mutex used;
  bool made = false;
  MPI_Comm comm{};  ///< MPI_COMM_NULL is no constant expression in all libraries
};
CopyingComm copying;

int copy(const TypedBuffer& from, const TypedBuffer& to) {
  const std::lock_guard guard(copying.used);
  if (!copying.made) {
    const int error = real::Comm_split(MPI_COMM_SELF, 0, 0, &copying.comm);
    if (error != MPI_SUCCESS) return error;
    copying.made = true;
    real::Comm_set_errhandler(copying.comm, MPI_ERRORS_RETURN);
  }
  if (from.count > INT_MAX) {
#if HOB_HAS_LARGE_COUNT
    return real::Sendrecv_c(from.address, from.count, from.type, 0, 0, to.address, to.count,
                            to.type, 0, 0, copying.comm, MPI_STATUS_IGNORE);
#else
    return MPI_ERR_COUNT;
#endif
  }
  return real::Sendrecv(from.address, static_cast<int>(from.count), from.type, 0, 0, to.address,
                        static_cast<int>(to.count), to.type, 0, 0, copying.comm, MPI_STATUS_IGNORE);
}

}  // namespace

bool is_on_accelerator(const TypedBuffer& buffer) {
  if (HOB_LIKELY(!accelerator_loaded.load(std::memory_order_relaxed))) return false;
  const Span data = span_of(buffer);
  return data.first != data.end &&
         on_accelerator(static_cast<const std::byte*>(buffer.address) + data.first);
}

HostImage::HostImage(const TypedBuffer& buffer) : original_(buffer), image_(buffer.address) {
  if (!is_on_accelerator(buffer)) return;
  const Span data = span_of(buffer);
  memory_.resize(static_cast<std::size_t>(data.end - data.first));
  image_ = memory_.data() - data.first;
}

int HostImage::read() const {
  return image_ == original_.address ? MPI_SUCCESS : copy(original_, buffer());
}

int HostImage::write() const {
  return image_ == original_.address ? MPI_SUCCESS : copy(buffer(), original_);
}

void release_host_images() {
  if (std::exchange(copying.made, false)) real::Comm_free(&copying.comm);
}

}  // namespace hob::mpi
