// What a report says of this process and of the run. Private to the report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace hob::mpi {

/// Values of all_counters() with their names.
report::Counters named(const std::vector<std::uint64_t>& values);

/// `sections`: also what the parts say beside their counters. While no other thread is inside MPI.
report::RankReport rank_report(const std::vector<std::uint64_t>& values, bool sections);

/// `nodes`: 0 if the other processes were not asked.
report::RunContext run_context(int nodes);

/// Whether the JSON is there; says so if not.
bool save_json(const std::string& path, const std::string& text);

}  // namespace hob::mpi
