#include "mpi/rma/batch/batches.hpp"

#include <new>
#include <utility>

namespace hob::mpi {
namespace {

template <class Object>
std::unique_ptr<Object> take(std::vector<std::unique_ptr<Object>>& kept) {
  if (kept.empty()) return std::make_unique<Object>();
  std::unique_ptr<Object> taken = std::move(kept.back());
  kept.pop_back();
  return taken;
}

template <class Object>
void keep(std::vector<std::unique_ptr<Object>>& kept, std::unique_ptr<Object> object,
          std::size_t most) noexcept {
  if (!object || kept.size() >= most) return;
  object->clear();
  try {
    kept.push_back(std::move(object));
  } catch (const std::bad_alloc&) {
    // It is freed.
  }
}

}  // namespace

std::unique_ptr<batch::OperationBuffer> BatchPool::buffer() { return take(buffers_); }
std::unique_ptr<batch::LocationSet> BatchPool::locations() { return take(locations_); }

void BatchPool::give_back(std::unique_ptr<batch::OperationBuffer> buffer) noexcept {
  keep(buffers_, std::move(buffer), kKept);
}
void BatchPool::give_back(std::unique_ptr<batch::LocationSet> locations) noexcept {
  keep(locations_, std::move(locations), kKept);
}

}  // namespace hob::mpi
