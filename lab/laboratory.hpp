// The subcommands of the laboratory.
#pragma once

#include "lapwing/common/command.hpp"

namespace lapwing::tool {

Command add_predict(CommandLine& tool);
Command add_verify(CommandLine& tool);

}  // namespace lapwing::tool
