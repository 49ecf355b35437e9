// One line about a job, for those who run a site.
#pragma once

#include <string>

#include "report/counters.hpp"
#include "report/report.hpp"

namespace hob::report {

/// "hob=0.1.0 uid=1000 host=n17 job=4711 program=app ranks=64 nodes=2 seconds=12.3
/// saved_seconds=4.5 ...": words of the form key=value. Of the program no more than its name; what
/// others name has no spaces and no control characters. `sums`: of all ranks.
std::string job_line(const RunContext& run, const std::string& host, const Counters& sums);

/// Appends a line to a regular file, in one piece; "syslog" hands it to the system's log. Neither
/// waits. "" or what went wrong.
std::string log_job(const std::string& where, const std::string& line);

/// The same through the datagram socket of the system's log. The C library's syslog() belongs to
/// the program, which may have opened it under a name of its own.
std::string log_to_socket(const std::string& socket, const std::string& line);

}  // namespace hob::report
