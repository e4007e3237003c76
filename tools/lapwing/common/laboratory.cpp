#include "lapwing/common/laboratory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include "base/messages.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

constexpr const char* laboratory = "lapwing-lab";

std::optional<std::string> find_laboratory() {
    std::error_code none;
    const std::filesystem::path beside =
        std::filesystem::read_symlink("/proc/self/exe", none).replace_filename(laboratory);
    if (std::filesystem::exists(beside, none)) return beside.string();
    return find_program(laboratory);
}

}  // namespace

bool is_laboratory(std::string_view subcommand) {
    return std::ranges::find(laboratory_commands, subcommand) != std::end(laboratory_commands);
}

int run_laboratory(char** arguments) {
    const std::optional<std::string> path = find_laboratory();
    if (!path) {
        print_message(
            "lapwing: '{}' is a command of the laboratory, which is not installed: install the package "
            "{}, or run make lab in Lapwing's source\n",
            arguments[1], laboratory);
        return not_started;
    }
    execv(path->c_str(), arguments);
    print_message("lapwing: cannot start {}: {}\n", *path, std::strerror(errno));
    return not_started;
}

}  // namespace lapwing::tool
