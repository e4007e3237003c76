// Messages for a command after "--" that does not exist, or whose MPI is unknown. A new user sees them first.
#pragma once

#include <string>

namespace lapwing::tool {

// For a command that is not on PATH: a likely reason, and how to install it, such as a launcher by apt or
// pip.
std::string why_missing(const std::string& command);

// For a command that exists, but is neither a launcher of an MPI nor a program linked to one.
std::string why_unknown(const std::string& command);

// Whether a command of a batch system starts programs of any MPI and passes its environment to them.
bool starts_any_mpi(const std::string& command);

}  // namespace lapwing::tool
