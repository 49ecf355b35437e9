// One-sided operations as values.
#pragma once

#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// A buffer of the program's and its type.
struct TypedBuffer {
  void* address = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type{};
};

}  // namespace hob::mpi

namespace hob::mpi::rma {

/// What one call of MPI_Get, MPI_Put, ... asks for. A hook makes it of its arguments, and the
/// stages of the window hand it on (backend.hpp). The functions that make one have the arguments of
/// the MPI calls of their names; `request` null is the form without a request.
struct Op {
  enum class Kind : std::uint8_t {
    get,
    put,
    accumulate,
    get_accumulate,
    fetch_and_op,
    compare_and_swap
  };

  Kind kind = Kind::get;
  int target = 0;
  MPI_Aint disp = 0;
  MPI_Count target_count = 0;
  MPI_Datatype target_type{};
  TypedBuffer result;  ///< where the bytes go that it brings
  MPI_Request* request = nullptr;
  TypedBuffer origin;  ///< the bytes that go out, which do not change
  const void* compare = nullptr;
  MPI_Op operation{};

  static Op get(void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request = nullptr) {
    Op op = at(Kind::get, target, disp, target_count, target_type, request);
    op.result = {origin, count, type};
    return op;
  }
  static Op put(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request = nullptr) {
    Op op = at(Kind::put, target, disp, target_count, target_type, request);
    op.origin = {const_cast<void*>(origin), count, type};
    return op;
  }
  static Op accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int target,
                       MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type,
                       MPI_Op operation, MPI_Request* request = nullptr) {
    Op op = at(Kind::accumulate, target, disp, target_count, target_type, request);
    op.origin = {const_cast<void*>(origin), count, type};
    op.operation = operation;
    return op;
  }
  static Op get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                           MPI_Count result_count, MPI_Datatype result_type, int target,
                           MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type,
                           MPI_Op operation, MPI_Request* request = nullptr) {
    Op op = at(Kind::get_accumulate, target, disp, target_count, target_type, request);
    op.origin = {const_cast<void*>(origin), count, type};
    op.result = {result, result_count, result_type};
    op.operation = operation;
    return op;
  }
  static Op fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target,
                         MPI_Aint disp, MPI_Op operation) {
    Op op = at(Kind::fetch_and_op, target, disp, 1, type, nullptr);
    op.origin = {const_cast<void*>(origin), 1, type};
    op.result = {result, 1, type};
    op.operation = operation;
    return op;
  }
  static Op compare_and_swap(const void* origin, const void* compare, void* result,
                             MPI_Datatype type, int target, MPI_Aint disp) {
    Op op = at(Kind::compare_and_swap, target, disp, 1, type, nullptr);
    op.origin = {const_cast<void*>(origin), 1, type};
    op.result = {result, 1, type};
    op.compare = compare;
    return op;
  }

  /// It brings bytes of the target.
  bool brings() const { return kind != Kind::put && kind != Kind::accumulate; }
  /// MPI orders it among accumulates.
  bool is_atomic() const { return kind >= Kind::accumulate; }
  /// The buffer whose elements are those of the target: where the bytes go, or else come from.
  const TypedBuffer& here() const { return brings() ? result : origin; }

 private:
  static Op at(Kind kind, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type,
               MPI_Request* request) {
    Op op;
    op.kind = kind;
    op.target = target;
    op.disp = disp;
    op.target_count = count;
    op.target_type = type;
    op.request = request;
    return op;
  }
};

}  // namespace hob::mpi::rma
