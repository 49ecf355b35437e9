// A stand-in for UCX (fake_ucx.cpp).
#pragma once

namespace fake::ucx {

/// A connection closes once workers have progressed so often.
void reset(int until_closed);

int progressed(const void* worker);
int requests_released();
bool still_closing();

/// Calls of somebody else in this process who uses UCX.
void* other_users_worker();
void* other_user_disconnects();
void other_user_destroys(void* worker);

}  // namespace fake::ucx

extern "C" {
int ucp_worker_create(void* context, const void* params, void** worker);
unsigned ucp_worker_progress(void* worker);
void ucp_worker_destroy(void* worker);
void* ucp_disconnect_nb(void* endpoint);
int ucp_request_check_status(void* request);
void ucp_request_release(void* request);
}
