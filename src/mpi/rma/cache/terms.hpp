// The parts of src/gets that decide about gets, by the names that the glue has for them.
#pragma once

#include "gets/ahead_pool.hpp"
#include "gets/coherence.hpp"
#include "gets/drop_causes.hpp"
#include "gets/get_stats.hpp"
#include "gets/gets_under_way.hpp"
#include "gets/mode.hpp"
#include "gets/plan.hpp"
#include "gets/poll_guard.hpp"
#include "gets/request_groups.hpp"
#include "gets/reuse_trial.hpp"
#include "gets/skip_reason.hpp"
#include "gets/target_profile.hpp"
#include "gets/target_state.hpp"
#include "gets/tracking_state.hpp"
#include "gets/verifier.hpp"

namespace hob::mpi {

using gets::AheadFetch;
using gets::AheadPool;
using gets::Coherence;
using gets::DropCauses;
using gets::GetStats;
using gets::GetsUnderWay;
using gets::Mode;
using gets::name_of;
using gets::outlives_acquires;
using gets::PendingGet;
using gets::Plan;
using gets::PollGuard;
using gets::RequestGroups;
using gets::ReuseTrial;
using gets::SkipReason;
using gets::TargetProfile;
using gets::TargetState;
using gets::TargetTable;
using gets::TrackingState;
using gets::Verifier;

}  // namespace hob::mpi
