// A stand-in for UCX, and another one of its users, in a library of their own: whoever calls UCX
// from here is not the MPI library.
#include "fake_ucx.hpp"

namespace fake::ucx {
namespace {

struct Worker {
  int progressed = 0;
  bool destroyed = false;
};

Worker workers[8];
int made = 0;
int left_until_closed = 0;
int released = 0;
char request;

}  // namespace

void reset(int until_closed) {
  for (Worker& worker : workers) worker = {};
  made = released = 0;
  left_until_closed = until_closed;
}

int progressed(const void* worker) { return static_cast<const Worker*>(worker)->progressed; }
int requests_released() { return released; }
bool still_closing() { return left_until_closed > 0; }

void* other_users_worker() {
  void* worker = nullptr;
  ucp_worker_create(nullptr, nullptr, &worker);
  return worker;
}
void* other_user_disconnects() {
  void* const closing = ucp_disconnect_nb(nullptr);
  asm volatile("" ::: "memory");  // a call that returns here, not to the test
  return closing;
}
void other_user_destroys(void* worker) { ucp_worker_destroy(worker); }

}  // namespace fake::ucx

using namespace fake::ucx;

extern "C" {

// What a register holds beside the one byte of the status is anything.
int ucp_worker_create(void*, const void*, void** worker) {
  *worker = &workers[made++];
  return 0x7700;
}
unsigned ucp_worker_progress(void* worker) {
  ++static_cast<Worker*>(worker)->progressed;
  if (left_until_closed > 0) --left_until_closed;
  return 1;
}
void ucp_worker_destroy(void* worker) { static_cast<Worker*>(worker)->destroyed = true; }
void* ucp_disconnect_nb(void*) { return left_until_closed > 0 ? &request : nullptr; }
int ucp_request_check_status(void*) { return left_until_closed > 0 ? 0x7701 : 0x7700; }
void ucp_request_release(void*) { ++released; }

}  // extern "C"
