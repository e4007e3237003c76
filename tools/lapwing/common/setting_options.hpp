// The options that set how Lapwing runs a job: those of `lapwing run`, which `lapwing compare` has for each
// variant.
#pragma once

#include <string>

#include "base/settings.hpp"

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

struct SettingOptions {
    std::string engine;
    std::string network;
    std::string algorithm;
    std::string tuning;
    std::string topology;
    std::string blocking;
    std::string messages;
    std::string stall;
};

void add_setting_options(CommandLine& app, SettingOptions& options);

// The environment, overridden by the options. Throws Error as checked_settings() does.
Settings settings_of(const SettingOptions& options);

}  // namespace lapwing::tool
