// Which launch started this process, by what its launcher left in the environment. It distinguishes
// the ranks of a job from programs that they start, which inherit their settings.
#pragma once

#include <string>

namespace hob {

/// This process among those of its launch on this node.
struct Launch {
  std::string job;  ///< the same for all of them, another for every other launch; "": not known
  int rank = -1;    ///< among them; -1: not known, or shared with the parent that spawned it
  int ranks = 0;    ///< how many they are; 0: not known

  /// Of this process, from its environment and its parents. Scripts between the launcher and this
  /// process do not matter.
  static Launch here();
};

/// Whether this process sees all ranks of its launch on this node, and all of them are in its
/// network namespace, so that a name that it does not find there is one that no host has. Reads of
/// each process of the user what it was started with.
bool sees_all_of_launch(const Launch& launch);

/// Names the launch in the environment of all that it starts. No setting, hence no name of one.
inline constexpr const char* kLaunchVariable = "_HOB_LAUNCH";

/// Whether kLaunchVariable, if it is there, names the launch that started this process. If not, it
/// was inherited from a rank of another one.
bool is_named_launch();

/// Sets kLaunchVariable.
void name_launch();

}  // namespace hob
