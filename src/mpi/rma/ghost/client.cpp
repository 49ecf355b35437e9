#include "mpi/rma/ghost/client.hpp"

#include "mpi/core/context.hpp"
#include "mpi/datatype/elements.hpp"
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

GhostOperation& GhostClient::begin_operation() {
  if (operations.empty()) under_way();
  operations.push_back(new GhostOperation);
  return *operations.back();
}

void GhostClient::progress() {
  origin.progress();
  for (std::size_t i = 0; i < operations.size();) {
    GhostOperation* each = operations[i];
    if (each->abandoned_ && each->completion.pending == 0) {
      each->forget();
    } else {
      ++i;
    }
  }
}

// The client is held.
void GhostOperation::forget() {
  std::erase(ghost_client->operations, this);
  if (ghost_client->operations.empty()) none_under_way();
  delete this;
}

bool GhostOperation::ready() {
  const GhostHold hold;
  return completion.pending == 0;
}

int GhostOperation::result(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) requests::copy_status(requests::empty_status(), status);
  return MPI_SUCCESS;
}

void GhostOperation::retire() {
  const GhostHold hold;
  forget();
}

void GhostOperation::abandon() {
  const GhostHold hold;
  abandoned_ = true;
  if (completion.pending == 0) forget();
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

}  // namespace hob::mpi
