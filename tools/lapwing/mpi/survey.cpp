#include "lapwing/mpi/survey.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

// MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI and 8192 in MPICH.
constexpr std::size_t max_version_bytes = 16384;

int probe(const std::string& name) {
    void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return violations_found;
    link_map* map = nullptr;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) fmt::print("{}\n", map->l_name);
    // May be called before MPI_Init.
    const auto get_version =
        reinterpret_cast<int (*)(char*, int*)>(dlsym(library, "MPI_Get_library_version"));
    std::vector<char> version(max_version_bytes);
    int length = 0;
    if (get_version != nullptr && get_version(version.data(), &length) == 0)
        fmt::print("{}\n", version.data());
    return success;
}

std::string first_line(std::string& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    std::replace(line.begin(), line.end(), '\t', ' ');
    return line;
}

// Null if there is no such library.
Json find_library(const std::string& name) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    Finished answer = run_program({self, "probe", name}, "", std::chrono::seconds(10));
    if (answer.status != 0 || answer.out.empty()) return {};
    Json library;
    library["path"] = first_line(answer.out);
    library["version"] = first_line(answer.out);
    return library;
}

struct FoundLauncher {
    const MpiFamily* family = nullptr;
    std::vector<std::string> paths;
    std::string version;
};

// Launchers by the program that their names lead to.
std::map<std::string, FoundLauncher> find_launchers() {
    std::map<std::string, FoundLauncher> found;
    for (const char* name : {"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich",
                             "mpiexec.mpich", "mpiexec.hydra", "prterun"}) {
        const std::optional<std::string> path = find_program(name);
        if (!path) continue;
        const std::string program = std::filesystem::canonical(*path);
        const auto known = found.find(program);
        if (known != found.end()) {
            known->second.paths.push_back(*path);
            continue;
        }
        try {
            const Launcher launcher = identify_launcher(name, *path);
            if (launcher.family != nullptr) found[program] = {launcher.family, {*path}, launcher.version};
        } catch (const Error&) {
            // It does not answer: no launcher that `run` could use.
        }
    }
    return found;
}

void add_libraries_beside(const std::string& launcher, const MpiFamily& family, Json& libraries) {
    const std::filesystem::path prefix = std::filesystem::path(launcher).parent_path().parent_path();
    for (const std::string& name : family.libraries) {
        const std::string path = prefix / "lib" / name;
        if (!std::filesystem::exists(path)) continue;
        const bool known = std::any_of(libraries.begin(), libraries.end(), [&](const Json& one) {
            return std::filesystem::equivalent(one.value("path", ""), path);
        });
        if (known) continue;
        if (Json library = find_library(path); !library.is_null()) libraries.push_back(std::move(library));
    }
}

}  // namespace

Json find_libraries(const MpiFamily& family) {
    Json found = Json::array();
    for (const std::string& soname : family.libraries) {
        if (Json library = find_library(soname); !library.is_null()) found.push_back(std::move(library));
    }
    return found;
}

Json survey_mpi() {
    const auto launchers = find_launchers();
    Json result = Json::array();
    for (const MpiFamily& family : mpi_families()) {
        Json libraries = find_libraries(family);
        Json own = Json::array();
        for (const auto& [program, launcher] : launchers) {
            if (launcher.family == &family)
                own.push_back({{"paths", launcher.paths}, {"version", launcher.version}});
            // An MPI that the loader does not look for stands beside its launcher.
            if (launcher.family != &family && !family.signs.empty()) continue;
            add_libraries_beside(program, family, libraries);
        }
        std::vector<std::string> searched;
        const auto preload = find_preload(family.preload, searched);
        result.push_back({{"name", family.name},
                          {"title", family.title},
                          {"libraries", std::move(libraries)},
                          {"launchers", std::move(own)},
                          {"preload", preload ? Json(*preload) : Json()}});
    }
    return result;
}

Command add_probe(CommandLine& tool) {
    auto soname = std::make_shared<std::string>();
    CommandLine* app =
        tool.add_subcommand("probe", "Load an MPI library and print its path and version")->group("");
    app->add_option("SONAME", *soname)->required();
    return {app, [soname] { return probe(*soname); }, true};
}

}  // namespace lapwing::tool
