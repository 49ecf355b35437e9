#include "mpi/rma/ghost/client.hpp"

#include <algorithm>
#include <utility>

#include "mpi/core/after_handler.hpp"
#include "mpi/core/context.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/progress.hpp"

namespace hob::mpi {

GhostClient::GhostClient(GhostWorld& its_world, bool threads)
    : world(its_world),
      many_threads(threads),
      transport(world, threads ? &lock : nullptr),
      messages(world.internal_comm, world.rank),
      origin({&combine,
              *ghost::binding_from(context().settings.ghost_binding),
              1 << 20,
              {static_cast<std::uint32_t>(world.ranks.size())}},
             transport) {
  for (const auto& ghosts : world.ghosts)
    nodes.push_back({ghosts, ghost::Load(static_cast<unsigned>(ghosts.size()))});
}

GhostClient::~GhostClient() {
  while (free_operations) delete std::exchange(free_operations, free_operations->next_free_);
}

GhostOperation& GhostClient::begin_operation(bool acquire) {
  GhostOperation* operation = free_operations;
  if (operation)
    free_operations = operation->next_free_;
  else
    operation = new GhostOperation;
  operation->is_acquire_ = acquire;
  if (operations++ == 0) under_way();
  return *operation;
}

void GhostClient::progress() {
  origin.progress();
  std::erase_if(abandoned, [](GhostOperation* each) {
    if (each->completion.pending != 0) return false;
    each->forget();
    return true;
  });
}

// The client is held.
void GhostOperation::forget() {
  if (--ghost_client->operations == 0) none_under_way();
  window = MPI_WIN_NULL;
  completion = {};
  notified_ = false;
  next_free_ = std::exchange(ghost_client->free_operations, this);
}

bool GhostOperation::ready() {
  const GhostHold hold;
  return completion.pending == 0;
}

int GhostOperation::result(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) requests::copy_status(requests::empty_status(), status);
  if (HOB_LIKELY(!completion.failed)) return MPI_SUCCESS;
  {
    const GhostHold hold;
    const auto& open = ghost_client->open_windows;
    if (std::exchange(notified_, true) || std::find(open.begin(), open.end(), window) == open.end())
      return MPI_ERR_OTHER;
  }
  real::Win_call_errhandler(window, MPI_ERR_OTHER);
  return after_handler(window, MPI_ERR_OTHER);
}

void GhostOperation::retire() {
  const GhostHold hold;
  forget();
}

void GhostOperation::abandon() {
  const GhostHold hold;
  if (completion.pending == 0)
    forget();
  else
    ghost_client->abandoned.push_back(this);
}

namespace {

// Called while the program waits or tests; from within MPI, too, and then not by a thread that is
// at work here itself.
void advance_ghosts() {
  if (inside_ghost_client) return;
  if (ghost_client->many_threads && !ghost_client->lock.try_lock()) return;
  inside_ghost_client = true;
  ghost_client->progress();
  inside_ghost_client = false;
  if (ghost_client->many_threads) ghost_client->lock.unlock();
}

}  // namespace

void start_ghost_client(bool threads) {
  ghost_client = new GhostClient(*ghost_world(), threads);
  add_poller({&advance_ghosts, nullptr});
}

void ghosts_expect_threads() {
  if (ghost_client) ghost_client->many_threads = true;
}

}  // namespace hob::mpi
