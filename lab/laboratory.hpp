// The subcommands of the laboratory.
#pragma once

#include "lapwing/common/command.hpp"

namespace lapwing::tool {

Command add_predict(CommandLine& tool);
Command add_synthesize(CommandLine& tool);
Command add_verify(CommandLine& tool);
Command add_fit(CommandLine& tool);

}  // namespace lapwing::tool
