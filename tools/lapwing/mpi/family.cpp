#include "lapwing/mpi/family.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "lapwing/common/process.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

constexpr std::chrono::seconds max_time_to_answer{5};

bool is_script(const std::string& path) {
    char start[2] = {};
    std::ifstream(path, std::ios::binary).read(start, sizeof start);
    return start[0] == '#' && start[1] == '!';
}

bool may_be_asked(const std::string& word, const std::string& path) {
    const std::string name = std::filesystem::path(word).filename();
    for (const char* start : {"mpi", "orterun", "prterun", "prun", "hydra"}) {
        if (name.starts_with(start)) return true;
    }
    return word.find('/') == std::string::npos && !is_script(path);
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// "mpirun (Open MPI) 4.1.4", "    Version:       4.0.2", "... OS, Version 2021.8 Build ..."
std::string version_in(const std::string& answer) {
    std::istringstream words(answer);
    std::string word;
    std::string before;
    while (words >> word) {
        const bool announced = before.starts_with("Version") || before.ends_with(")");
        if (announced && !word.empty() && word.front() >= '0' && word.front() <= '9') return word;
        before = word;
    }
    return "";
}

// What launchers say to --version.
std::vector<std::string> signs_of(const std::string& family) {
    if (family == "openmpi") return {"Open MPI", "OpenRTE", "PRRTE"};
    if (family == "mpich") return {"HYDRA", "MPICH", "Intel(R) MPI"};
    return {};  // the standard ABI has no launcher of its own
}

bool is_elf(const std::string& path) {
    char start[4] = {};
    std::ifstream(path, std::ios::binary).read(start, sizeof start);
    return std::string_view(start, sizeof start) == "\177ELF";
}

}  // namespace

std::span<const MpiFamily> mpi_families() {
    static const MpiFamily families[] = {
#define LAPWING_MPI_FAMILY(name, title, ...) \
    {#name, title, "liblapwing-" #name ".so", {__VA_ARGS__}, signs_of(#name)},
#include "base/mpi_families.def"
    };
    return families;
}

const MpiFamily& find_mpi_family(const std::string& name) {
    std::vector<std::string> names;
    for (const MpiFamily& family : mpi_families()) names.emplace_back(family.name);
    return mpi_families()[pick("MPI", name, names)];
}

Launcher identify_launcher(const std::string& word, const std::string& path) {
    if (!may_be_asked(word, path)) return {};
    const Finished answer = run_program({path, "--version"}, "", max_time_to_answer);
    if (answer.timed_out) {
        throw Error(ErrorCode::system, fmt::format("'{} --version' did not answer within {} seconds", word,
                                                   max_time_to_answer.count()));
    }
    const std::string text = answer.out + answer.err;
    for (const MpiFamily& family : mpi_families()) {
        if (std::any_of(family.signs.begin(), family.signs.end(),
                        [&](const std::string& sign) { return contains(text, sign); })) {
            return {&family, version_in(text)};
        }
    }
    return {};
}

const MpiFamily* family_of_program(const std::string& path) {
    if (!is_elf(path) || !find_program("ldd")) return nullptr;
    const Finished answer = run_program({"ldd", path}, "", max_time_to_answer);
    for (const MpiFamily& family : mpi_families()) {
        for (const std::string& library : family.libraries) {
            if (contains(answer.out, library + " ")) return &family;
        }
    }
    return nullptr;
}

const MpiFamily* family_in(const std::vector<std::string>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i].empty() || words[i].front() == '-') continue;
        // Hydra looks for programs in the working directory, too.
        std::optional<std::string> path = find_program(words[i]);
        if (!path) path = find_program("./" + words[i]);
        if (const MpiFamily* const linked = path ? family_of_program(*path) : nullptr) return linked;
    }
    return nullptr;
}

const MpiFamily* family_of_job(const MpiFamily& launcher, const std::vector<std::string>& words) {
    const MpiFamily* const linked = family_in(words);
    return linked != nullptr && linked->signs.empty() ? linked : &launcher;
}

std::optional<std::string> find_preload(const std::string& file, std::vector<std::string>& searched) {
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::filesystem::path prefix = bin.parent_path();
    searched.clear();
    for (const char* directory : {"lib", LAPWING_INSTALL_PRELOADDIR, "lib64"}) {
        const std::filesystem::path place = (prefix / directory).lexically_normal();
        if (std::find(searched.begin(), searched.end(), place.string()) != searched.end()) continue;
        searched.push_back(place);
        const std::filesystem::path library = place / file;
        if (access(library.c_str(), R_OK) == 0) return library.string();
    }
    return std::nullopt;
}

}  // namespace lapwing::tool
