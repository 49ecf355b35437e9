// Reading a configuration file that may be anything, and anybody's.
#pragma once

#include <string>

namespace hob::settings {

/// How a configuration file came to be read.
enum class Trust {
  site,  ///< of whoever installed Hob for others: it must be root's or `owner`'s, and no other user
         ///< may write to it or to its directory
  named,  ///< the user named it (HOB_CONFIG)
  found   ///< ./hob.conf: it may have come with a directory that another user filled, so the file,
          ///< the directory and a link in it must belong to the user or to root, and it may neither
          ///< name files to write nor promise anything
};

struct ConfigFile {
  std::string text;
  std::string error;  ///< "" where the file was read
};

/// The text of a regular file of at most 1 MiB. Never waits, also where the path is a FIFO. A file
/// that was found is of the working directory, and that, the file, and the link if it is one must
/// belong to the user or to root. The error names the path and what is wrong.
ConfigFile read_config_file(const std::string& path, Trust trust, unsigned owner = 0);

}  // namespace hob::settings
