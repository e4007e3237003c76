// What to do where the command after "--" is not there, or does not tell its MPI: the first messages that a
// new user meets.
#pragma once

#include <string>

namespace lapwing::tool {

// Of a command that is on no PATH: why not, perhaps, and how to get it. An MPI's launcher by apt or pip, say.
std::string why_missing(const std::string& command);

// Of one that is there, but neither an MPI's launcher nor a program linked to an MPI.
std::string why_unknown(const std::string& command);

// A command of a batch system, which starts programs of any MPI and passes its environment on.
bool starts_any_mpi(const std::string& command);

}  // namespace lapwing::tool
