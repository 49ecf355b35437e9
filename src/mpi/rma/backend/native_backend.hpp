// RMA through the MPI library: its own calls, with the large-count forms where needed.
#pragma once

#include "mpi/pmpi/call.hpp"
#include "mpi/rma/backend/backend.hpp"

namespace hob::mpi {

class NativeBackend final : public Backend {
 public:
  explicit NativeBackend(MPI_Win win) : win_(win) {}

  int get(void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
          MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) override {
    if (!request)
      return call::Get(origin, count, type, target, disp, target_count, target_type, win_);
    return call::Rget(origin, count, type, target, disp, target_count, target_type, win_, request);
  }
  int put(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
          MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) override {
    if (!request)
      return call::Put(origin, count, type, target, disp, target_count, target_type, win_);
    return call::Rput(origin, count, type, target, disp, target_count, target_type, win_, request);
  }
  int accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                 MPI_Count target_count, MPI_Datatype target_type, MPI_Op op,
                 MPI_Request* request) override {
    if (!request)
      return call::Accumulate(origin, count, type, target, disp, target_count, target_type, op,
                              win_);
    return call::Raccumulate(origin, count, type, target, disp, target_count, target_type, op, win_,
                             request);
  }
  int get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                     MPI_Count result_count, MPI_Datatype result_type, int target, MPI_Aint disp,
                     MPI_Count target_count, MPI_Datatype target_type, MPI_Op op,
                     MPI_Request* request) override {
    if (!request)
      return call::Get_accumulate(origin, count, type, result, result_count, result_type, target,
                                  disp, target_count, target_type, op, win_);
    return call::Rget_accumulate(origin, count, type, result, result_count, result_type, target,
                                 disp, target_count, target_type, op, win_, request);
  }
  int fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint disp,
                   MPI_Op op) override {
    return real::Fetch_and_op(origin, result, type, target, disp, op, win_);
  }
  int compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                       int target, MPI_Aint disp) override {
    return real::Compare_and_swap(origin, compare, result, type, target, disp, win_);
  }

  int fence(int assertion) override { return real::Win_fence(assertion, win_); }
  int start(MPI_Group group, int assertion) override {
    return real::Win_start(group, assertion, win_);
  }
  int complete() override { return real::Win_complete(win_); }
  int post(MPI_Group group, int assertion) override {
    return real::Win_post(group, assertion, win_);
  }
  int wait() override { return real::Win_wait(win_); }
  int test(int* flag) override { return real::Win_test(win_, flag); }
  int lock(int type, int target, int assertion) override {
    return real::Win_lock(type, target, assertion, win_);
  }
  int unlock(int target) override { return real::Win_unlock(target, win_); }
  int lock_all(int assertion) override { return real::Win_lock_all(assertion, win_); }
  int unlock_all() override { return real::Win_unlock_all(win_); }
  int flush(int target) override { return real::Win_flush(target, win_); }
  int flush_all() override { return real::Win_flush_all(win_); }
  int flush_local(int target) override { return real::Win_flush_local(target, win_); }
  int flush_local_all() override { return real::Win_flush_local_all(win_); }
  int sync() override { return real::Win_sync(win_); }

 private:
  MPI_Win win_;
};

}  // namespace hob::mpi
