// The request of an MPI_Rget whose get is in a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "batch/operation_buffer.hpp"
#include "mpi/requests/get_operation.hpp"

namespace hob::mpi {

class BatchedGet;

/// Who has the batches.
class BatchOwner {
 public:
  /// Blocks until the batch of this get is complete. The get is in no batch then, whether it has
  /// arrived() or there is an error.
  virtual int complete_batch_of(BatchedGet& get) = 0;

  /// Issues this get with a request of the library's.
  virtual void issue_alone(BatchedGet& get) = 0;

 protected:
  ~BatchOwner() = default;
};

/// A wait for it completes the batch, as a flush of its target does. A test must not block, and the
/// library does not say when an operation with an indexed datatype is complete; so the first test
/// issues the get once more, alone, with a request of the library's. Deletes itself. Only while the
/// program has one thread.
class BatchedGet final : public GetOperation {
 public:
  /// Makes it, and its handle. Throws std::bad_alloc.
  static BatchedGet& begin(BatchOwner& owner, int target, MPI_Request& request);

  /// It is operation `number` of `buffer`, which waits for the target, and will be sent there.
  void joined(batch::OperationBuffer& buffer, std::uint32_t number) {
    buffer_ = &buffer;
    number_ = number;
  }

  /// Whether it is in a batch.
  bool waits() const { return owner_ != nullptr; }
  int target() const { return target_; }
  batch::OperationBuffer& buffer() const { return *buffer_; }
  std::uint32_t number() const { return number_; }

  /// Its bytes have arrived, or it ended with this error.
  void arrived(int error);

  /// From now on it is this request of the library's.
  void issued_alone(MPI_Request request);

  void complete() override;
  bool ready() override;
  void abandon() override;

 private:
  BatchedGet(BatchOwner& owner, int target) : owner_(&owner), target_(target) {}
  ~BatchedGet() override = default;

  BatchOwner* owner_;  ///< null: it is in no batch any more
  int target_;
  std::uint32_t number_ = 0;
  batch::OperationBuffer* buffer_ = nullptr;
  bool abandoned_ = false;
};

/// The gets of a batch have arrived, or it ended with an error. Null: one that was issued alone.
void all_arrived(std::vector<BatchedGet*>& gets, int error);

}  // namespace hob::mpi
