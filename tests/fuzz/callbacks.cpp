#include "callbacks.hpp"

namespace fuzz {
namespace {

struct Thrown {};

thread_local const std::function<void()>* inside = nullptr;
std::function<void()> at_end;

int deleted(MPI_Comm, int, void*, void*) {
  if (inside) (*inside)();
  return MPI_SUCCESS;
}
int ended(MPI_Comm, int, void*, void*) {
  at_end();
  return MPI_SUCCESS;
}
void failed(MPI_Comm*, int*, ...) {
  if (inside) (*inside)();
}
void failed_throwing(MPI_Comm*, int*, ...) {
  if (inside) (*inside)();
  throw Thrown();
}
int query(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int release(void*) { return MPI_SUCCESS; }
int cancelled(void*, int) {
  if (inside) (*inside)();
  return MPI_SUCCESS;
}

void with_attribute(MPI_Comm comm, bool replace) {
  static int keyval = MPI_KEYVAL_INVALID;
  if (keyval == MPI_KEYVAL_INVALID)
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, nullptr);
  const std::function<void()>* const happens = inside;
  inside = nullptr;
  MPI_Comm_set_attr(comm, keyval, nullptr);
  inside = happens;
  if (replace) {
    MPI_Comm_set_attr(comm, keyval, nullptr);
    inside = nullptr;
  }
  MPI_Comm_delete_attr(comm, keyval);
}

void with_error_handler(MPI_Comm comm, MPI_Comm_errhandler_function* function) {
  MPI_Errhandler before, handler;
  MPI_Comm_get_errhandler(comm, &before);
  MPI_Comm_create_errhandler(function, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  try {
    MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  } catch (const Thrown&) {
  }
  MPI_Comm_set_errhandler(comm, before);
  MPI_Errhandler_free(&handler);
  if (before != MPI_ERRORS_ARE_FATAL && before != MPI_ERRORS_RETURN) MPI_Errhandler_free(&before);
}

}  // namespace

void in_callback(MPI_Comm comm, int kind, const std::function<void()>& happens) {
  inside = &happens;
  MPI_Request request;
  switch (kind) {
    case kDeleteAttribute:
    case kReplaceAttribute:
      with_attribute(comm, kind == kReplaceAttribute);
      break;
    case kErrorHandler:
      with_error_handler(comm, failed);
      break;
    case kThrowing:
      with_error_handler(comm, failed_throwing);
      break;
    case kCancel:
      MPI_Grequest_start(query, release, cancelled, nullptr, &request);
      MPI_Cancel(&request);
      MPI_Grequest_complete(request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
    default:
      happens();
  }
  inside = nullptr;
}

void in_finalize(std::function<void()> happens) {
  at_end = std::move(happens);
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ended, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
}

}  // namespace fuzz
