// The file by which a site says what holds for all its users.
#pragma once

#include <string>

namespace hob::settings {

struct SiteFile {
  std::string path;    ///< "": there is none
  unsigned owner = 0;  ///< whose it may be, besides root's
};

/// /etc/hob.conf, else etc/hob.conf of the prefix where this Hob is installed, whose owner may have
/// written it.
SiteFile site_file();

/// The prefix of a library or program: that of PREFIX/lib/hob/libhob_mpich.so, PREFIX/bin/hob-exec.
std::string prefix_of(const std::string& object);

}  // namespace hob::settings
