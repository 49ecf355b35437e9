// The fake library's windows, requests and messages.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "fake_mpi.hpp"
#include "fake_types.hpp"
#include "mpi/pmpi/real.hpp"

namespace fake {
namespace {

struct Window {
  std::vector<WindowMemory> memory;
  int unit = 1;
  std::vector<std::pair<int, std::function<void()>>> pending;  ///< by target

  void complete(int target) {
    auto waiting = std::move(pending);
    pending.clear();
    for (auto& [rank, move] : waiting)
      if (target < 0 || rank == target)
        move();
      else
        pending.emplace_back(rank, std::move(move));
  }
};

struct Request {
  int tests = 0;  ///< until it is complete
  std::function<void()> complete;
  MPI_Status status{};
  bool generalized = false;
  bool done = false;  ///< a generalized one: Grequest_complete was called
  std::function<void(MPI_Status*)> receive{};
  std::function<bool()> arrived{};  ///< a receive's: whether its message is there
};

struct Message {
  int source, tag;
  MPI_Comm comm;
  std::vector<std::byte> bytes;
};

int next_handle = 1;
int tests_held = 0;
bool loses_early = false;
std::uint64_t longest_get = 0;
std::map<int, Window> windows;
std::map<int, Request> requests;
std::deque<Message> unexpected;
std::map<int, Message> taken;

MPI_Request new_request(std::function<void()> complete) {
  const int handle = static_cast<int>(0x98000000) | next_handle++;
  requests[handle] = {tests_held, std::move(complete), {}, false, false, {}, {}};
  return handle;
}

/// Every byte that `count` elements at `address` consist of, in the order of the type map.
std::vector<std::byte*> bytes_at(void* address, int count, MPI_Datatype type) {
  std::vector<std::byte*> bytes;
  const Type& layout = type_of(type);
  for (int i = 0; i < count; ++i)
    for (const auto& [offset, length] : layout.blocks)
      for (int b = 0; b < length; ++b)
        bytes.push_back(static_cast<std::byte*>(address) + i * layout.extent + offset + b);
  return bytes;
}

std::function<void()> copy(MPI_Win win, int target, MPI_Aint disp, bool get, void* mine, int count,
                           MPI_Datatype type, int their_count, MPI_Datatype their_type) {
  Window& window = windows.at(win);
  std::byte* theirs = window.memory[static_cast<std::size_t>(target)].data() + disp * window.unit;
  // Before they are moved: the program may free its types.
  std::vector<std::byte*> here = bytes_at(mine, count, type);
  if (get) longest_get = std::max<std::uint64_t>(longest_get, here.size());
  return [get, here = std::move(here), there = bytes_at(theirs, their_count, their_type)] {
    for (std::size_t i = 0; i < here.size(); ++i)
      *(get ? here : there)[i] = *(get ? there : here)[i];
  };
}

/// The sum of int64_t, or what MPI_REPLACE does. `result`: what was there; may be null.
std::function<void()> combine(MPI_Win win, int target, MPI_Aint disp, const void* mine, int count,
                              MPI_Datatype type, void* result, int their_count,
                              MPI_Datatype their_type, MPI_Op op) {
  Window& window = windows.at(win);
  std::byte* theirs = window.memory[static_cast<std::size_t>(target)].data() + disp * window.unit;
  const std::vector<std::byte*> here = bytes_at(const_cast<void*>(mine), count, type);
  std::vector<std::byte> data;
  for (const std::byte* byte : here) data.push_back(*byte);
  std::vector<std::byte*> back;
  if (result) back = bytes_at(result, count, type);
  return [op, data = std::move(data), back = std::move(back),
          there = bytes_at(theirs, their_count, their_type)] {
    for (std::size_t at = 0; at < data.size(); at += sizeof(std::int64_t)) {
      std::int64_t old = 0, more = 0;
      std::memcpy(&old, there[at], sizeof old);
      std::memcpy(&more, &data[at], sizeof more);
      if (!back.empty()) std::memcpy(back[at], &old, sizeof old);
      const std::int64_t now = op == MPI_REPLACE ? more : old + more;
      std::memcpy(there[at], &now, sizeof now);
    }
  };
}

int make_window(MPI_Aint size, int unit, MPI_Comm, MPI_Win* win) {
  *win = static_cast<int>(0xa0000000) | next_handle++;
  Window& window = windows[*win];
  window.unit = unit;
  window.memory.assign(kWorldSize, WindowMemory(static_cast<std::size_t>(size)));
  return MPI_SUCCESS;
}

void end(MPI_Request* request, MPI_Status* status) {
  const auto it = requests.find(*request);
  Request over = std::move(it->second);
  requests.erase(it);
  if (over.complete) over.complete();
  if (over.receive) over.receive(&over.status);
  if (status != MPI_STATUS_IGNORE) *status = over.status;
  *request = MPI_REQUEST_NULL;
}

bool complete(Request& request) {
  if (request.generalized) return request.done;
  if (request.arrived && !request.arrived()) return false;
  return request.tests-- <= 0;
}

void empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  *status = {};
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
}

auto find_message(int source, int tag, MPI_Comm comm) {
  return std::find_if(unexpected.begin(), unexpected.end(), [&](const Message& message) {
    return message.comm == comm && (source == MPI_ANY_SOURCE || source == message.source) &&
           (tag == MPI_ANY_TAG || tag == message.tag);
  });
}

void describe(const Message& message, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = message.source;
  status->MPI_TAG = message.tag;
  status->count_lo = static_cast<int>(message.bytes.size());
  status->count_hi_and_cancelled = 0;
}

int memory_model = MPI_WIN_UNIFIED;
Sent sent_message;

void send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  if (!sent_message) return;
  std::vector<std::byte> bytes;
  for (const std::byte* byte : bytes_at(const_cast<void*>(buffer), count, type))
    bytes.push_back(*byte);
  sent_message(to, tag, comm, bytes.data(), bytes.size());
}

/// Takes the first of these messages, which must be there: nobody else could send it.
Message take_message(int source, int tag, MPI_Comm comm) {
  const auto it = find_message(source, tag, comm);
  if (it == unexpected.end()) {
    std::fprintf(stderr, "a receive (source %d, tag %d) blocks for ever\n", source, tag);
    std::abort();
  }
  Message message = std::move(*it);
  unexpected.erase(it);
  return message;
}

void deliver(const Message& message, void* buffer, int count, MPI_Datatype type,
             MPI_Status* status) {
  const auto to = bytes_at(buffer, count, type);
  for (std::size_t i = 0; i < std::min(to.size(), message.bytes.size()); ++i)
    *to[i] = message.bytes[i];
  describe(message, status);
}

}  // namespace

void hold_requests(int tests) { tests_held = tests; }
void lose_early_messages(bool on) { loses_early = on; }
std::uint64_t take_longest_get() { return std::exchange(longest_get, 0); }
void unified_memory(bool yes) { memory_model = yes ? MPI_WIN_UNIFIED : MPI_WIN_SEPARATE; }
WindowMemory& memory(MPI_Win win, int rank) {
  return windows.at(win).memory[static_cast<std::size_t>(rank)];
}
void on_send(Sent sent) { sent_message = std::move(sent); }
std::size_t open_requests() { return requests.size(); }
void arrive(int source, int tag, MPI_Comm comm, const void* bytes, std::size_t size) {
  const auto* from = static_cast<const std::byte*>(bytes);
  unexpected.push_back({source, tag, comm, {from, from + size}});
}

namespace {

FAKE(Win_create, void*, MPI_Aint size, int unit, MPI_Info, MPI_Comm comm, MPI_Win* win) {
  return make_window(size, unit, comm, win);
}
FAKE(Win_allocate, MPI_Aint size, int unit, MPI_Info, MPI_Comm comm, void* base, MPI_Win* win) {
  const int result = make_window(size, unit, comm, win);
  *static_cast<void**>(base) = windows[*win].memory[0].data();
  return result;
}
FAKE(Win_free, MPI_Win* win) {
  windows.erase(*win);
  *win = MPI_WIN_NULL;
  return MPI_SUCCESS;
}
FAKE(Win_get_name, MPI_Win, char* name, int* length) {
  *name = '\0';
  *length = 0;
  return MPI_SUCCESS;
}
FAKE(Win_get_attr, MPI_Win, int, void* value, int* flag) {
  *static_cast<int**>(value) = &memory_model;
  *flag = 1;
  return MPI_SUCCESS;
}
FAKE(Win_call_errhandler, MPI_Win, int error) { return error; }
std::map<MPI_Win, MPI_Errhandler> error_handlers;
FAKE(Win_set_errhandler, MPI_Win win, MPI_Errhandler handler) {
  error_handlers[win] = handler;
  return MPI_SUCCESS;
}
FAKE(Win_get_errhandler, MPI_Win win, MPI_Errhandler* handler) {
  const auto set = error_handlers.find(win);
  *handler = set == error_handlers.end() ? MPI_ERRORS_RETURN : set->second;
  return MPI_SUCCESS;
}
FAKE(Win_lock, int, int, int, MPI_Win) { return MPI_SUCCESS; }
FAKE(Win_lock_all, int, MPI_Win) { return MPI_SUCCESS; }
FAKE(Win_sync, MPI_Win) { return MPI_SUCCESS; }
FAKE(Win_unlock, int rank, MPI_Win win) {
  if (rank != MPI_PROC_NULL) windows.at(win).complete(rank);
  return MPI_SUCCESS;
}
FAKE(Win_flush, int rank, MPI_Win win) {
  if (rank != MPI_PROC_NULL) windows.at(win).complete(rank);
  return MPI_SUCCESS;
}
FAKE(Win_flush_local, int rank, MPI_Win win) {
  windows.at(win).complete(rank);
  return MPI_SUCCESS;
}
FAKE(Win_unlock_all, MPI_Win win) {
  windows.at(win).complete(-1);
  return MPI_SUCCESS;
}
FAKE(Win_flush_all, MPI_Win win) {
  windows.at(win).complete(-1);
  return MPI_SUCCESS;
}
FAKE(Win_flush_local_all, MPI_Win win) {
  windows.at(win).complete(-1);
  return MPI_SUCCESS;
}
FAKE(Win_fence, int, MPI_Win win) {
  windows.at(win).complete(-1);
  return MPI_SUCCESS;
}

FAKE(Get, void* to, int count, MPI_Datatype type, int target, MPI_Aint disp, int there,
     MPI_Datatype their_type, MPI_Win win) {
  windows.at(win).pending.emplace_back(
      target, copy(win, target, disp, true, to, count, type, there, their_type));
  return MPI_SUCCESS;
}
FAKE(Put, const void* from, int count, MPI_Datatype type, int target, MPI_Aint disp, int there,
     MPI_Datatype their_type, MPI_Win win) {
  windows.at(win).pending.emplace_back(
      target,
      copy(win, target, disp, false, const_cast<void*>(from), count, type, there, their_type));
  return MPI_SUCCESS;
}
FAKE(Rget, void* to, int count, MPI_Datatype type, int target, MPI_Aint disp, int there,
     MPI_Datatype their_type, MPI_Win win, MPI_Request* request) {
  *request = new_request(copy(win, target, disp, true, to, count, type, there, their_type));
  return MPI_SUCCESS;
}
FAKE(Rput, const void* from, int count, MPI_Datatype type, int target, MPI_Aint disp, int there,
     MPI_Datatype their_type, MPI_Win win, MPI_Request* request) {
  *request = new_request(
      copy(win, target, disp, false, const_cast<void*>(from), count, type, there, their_type));
  return MPI_SUCCESS;
}
FAKE(Accumulate, const void* from, int count, MPI_Datatype type, int target, MPI_Aint disp,
     int there, MPI_Datatype their_type, MPI_Op op, MPI_Win win) {
  windows.at(win).pending.emplace_back(
      target, combine(win, target, disp, from, count, type, nullptr, there, their_type, op));
  return MPI_SUCCESS;
}
FAKE(Get_accumulate, const void* from, int count, MPI_Datatype type, void* to, int, MPI_Datatype,
     int target, MPI_Aint disp, int there, MPI_Datatype their_type, MPI_Op op, MPI_Win win) {
  windows.at(win).pending.emplace_back(
      target, combine(win, target, disp, from, count, type, to, there, their_type, op));
  return MPI_SUCCESS;
}
/// The sum of int64_t.
FAKE(Fetch_and_op, const void* origin, void* result, MPI_Datatype, int target, MPI_Aint disp,
     MPI_Op, MPI_Win win) {
  Window& window = windows.at(win);
  auto* there = reinterpret_cast<std::int64_t*>(
      window.memory[static_cast<std::size_t>(target)].data() + disp * window.unit);
  *static_cast<std::int64_t*>(result) = *there;
  *there += *static_cast<const std::int64_t*>(origin);
  return MPI_SUCCESS;
}

FAKE(Grequest_start, MPI_Grequest_query_function*, MPI_Grequest_free_function*,
     MPI_Grequest_cancel_function*, void*, MPI_Request* request) {
  *request = new_request({});
  requests[*request].generalized = true;
  return MPI_SUCCESS;
}
FAKE(Grequest_complete, MPI_Request request) {
  requests.at(request).done = true;
  return MPI_SUCCESS;
}
FAKE(Request_free, MPI_Request* request) {
  end(request, MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}
FAKE(Request_get_status, MPI_Request request, int* flag, MPI_Status* status) {
  *flag = request == MPI_REQUEST_NULL || complete(requests.at(request));
  if (*flag && request == MPI_REQUEST_NULL) empty(status);
  return MPI_SUCCESS;
}
FAKE(Cancel, MPI_Request*) { return MPI_SUCCESS; }
FAKE(Wait, MPI_Request* request, MPI_Status* status) {
  if (*request == MPI_REQUEST_NULL)
    empty(status);
  else
    end(request, status);
  return MPI_SUCCESS;
}
FAKE(Test, MPI_Request* request, int* flag, MPI_Status* status) {
  *flag = *request == MPI_REQUEST_NULL || complete(requests.at(*request));
  if (*flag) body_Wait(request, status);
  return MPI_SUCCESS;
}
FAKE(Waitall, int count, MPI_Request list[], MPI_Status statuses[]) {
  for (int i = 0; i < count; ++i)
    body_Wait(&list[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
  return MPI_SUCCESS;
}
FAKE(Testall, int count, MPI_Request list[], int* flag, MPI_Status statuses[]) {
  *flag = std::all_of(list, list + count, [](MPI_Request request) {
    return request == MPI_REQUEST_NULL || complete(requests.at(request));
  });
  if (*flag) body_Waitall(count, list, statuses);
  return MPI_SUCCESS;
}

FAKE(Testany, int count, MPI_Request list[], int* index, int* flag, MPI_Status* status) {
  *index = MPI_UNDEFINED;
  *flag = std::all_of(list, list + count, [](MPI_Request r) { return r == MPI_REQUEST_NULL; });
  if (*flag) empty(status);
  for (int i = 0; i < count && !*flag; ++i) {
    if (list[i] == MPI_REQUEST_NULL || !complete(requests.at(list[i]))) continue;
    body_Wait(&list[i], status);
    *index = i;
    *flag = 1;
  }
  return MPI_SUCCESS;
}
FAKE(Waitany, int count, MPI_Request list[], int* index, MPI_Status* status) {
  int flag = 0;
  while (!flag) body_Testany(count, list, index, &flag, status);
  return MPI_SUCCESS;
}
FAKE(Testsome, int count, MPI_Request list[], int* number, int places[], MPI_Status statuses[]) {
  int alive = 0;
  *number = 0;
  for (int i = 0; i < count; ++i) {
    if (list[i] == MPI_REQUEST_NULL) continue;
    ++alive;
    if (!complete(requests.at(list[i]))) continue;
    const int next = (*number)++;
    places[next] = i;
    body_Wait(&list[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[next]);
  }
  if (alive == 0) *number = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

FAKE(Iprobe, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  const auto it = find_message(source, tag, comm);
  *flag = it != unexpected.end();
  if (*flag) describe(*it, status);
  return MPI_SUCCESS;
}
FAKE(Improbe, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* handle,
     MPI_Status* status) {
  *flag = find_message(source, tag, comm) != unexpected.end();
  if (!*flag) return MPI_SUCCESS;
  *handle = static_cast<int>(0xac000000) | next_handle++;
  describe(taken[*handle] = take_message(source, tag, comm), status);
  return MPI_SUCCESS;
}
FAKE(Mrecv, void* buffer, int count, MPI_Datatype type, MPI_Message* handle, MPI_Status* status) {
  deliver(taken.at(*handle), buffer, count, type, status);
  taken.erase(*handle);
  *handle = MPI_MESSAGE_NULL;
  return MPI_SUCCESS;
}
FAKE(Imrecv, void* buffer, int count, MPI_Datatype type, MPI_Message* handle,
     MPI_Request* request) {
  *request = new_request([message = taken.at(*handle), buffer, count, type] {
    deliver(message, buffer, count, type, MPI_STATUS_IGNORE);
  });
  describe(taken.at(*handle), &requests[*request].status);
  taken.erase(*handle);
  *handle = MPI_MESSAGE_NULL;
  return MPI_SUCCESS;
}
FAKE(Recv, void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
     MPI_Status* status) {
  deliver(take_message(source, tag, comm), buffer, count, type, status);
  return MPI_SUCCESS;
}
/// Complete once its message is there, which a test must see to before it waits. A test of one
/// whose message is not there yet takes nothing off hold_requests().
FAKE(Irecv, void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
     MPI_Request* request) {
  *request = new_request({});
  requests[*request].receive = [=](MPI_Status* status) {
    deliver(take_message(source, tag, comm), buffer, count, type, status);
  };
  requests[*request].arrived = [=] { return find_message(source, tag, comm) != unexpected.end(); };
  if (loses_early && source == MPI_ANY_SOURCE &&
      find_message(source, tag, comm) != unexpected.end()) {
    take_message(source, tag, comm);
    requests[*request].arrived = [] { return false; };
  }
  return MPI_SUCCESS;
}
FAKE(Get_count, const MPI_Status* status, MPI_Datatype type, int* count) {
  *count = status->count_lo / type_of(type).size;
  return MPI_SUCCESS;
}
FAKE(Status_set_cancelled, MPI_Status* status, int flag) {
  status->count_hi_and_cancelled = (status->count_hi_and_cancelled & ~1) | (flag & 1);
  return MPI_SUCCESS;
}
FAKE(Test_cancelled, const MPI_Status* status, int* flag) {
  *flag = status->count_hi_and_cancelled & 1;
  return MPI_SUCCESS;
}
FAKE(Send, const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  send(buffer, count, type, to, tag, comm);
  return MPI_SUCCESS;
}
FAKE(Isend, const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
     MPI_Request* request) {
  send(buffer, count, type, to, tag, comm);
  *request = new_request({});
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace fake
