#include "lapwing/mpi/family.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "base/error.hpp"
#include "lapwing/common/process.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/mpi/program_file.hpp"

namespace lapwing::tool {
namespace {

constexpr std::chrono::seconds max_time_to_answer{5};

bool may_be_asked(const std::string& word, const std::string& path) {
    const std::string name = std::filesystem::path(word).filename();
    for (const std::string_view start : {"mpirun", "mpiexec", "orterun", "prterun", "prun", "hydra"}) {
        // mpirun.openmpi and mpirun_rsh, but not prune.sh
        if (name.starts_with(start) && std::isalpha(static_cast<unsigned char>(name[start.size()])) == 0)
            return true;
    }
    return word.find('/') == std::string::npos && !ProgramFile(path).is_script();
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

// What the files of launchers contain: of Open MPI 4, of PRRTE, of Open MPI 5; of all that are Hydra.
std::vector<std::string> marks_of(const std::string& family) {
    if (family == "openmpi") return {"libopen-rte.so", "libprrte.so", "OPAL_PREFIX"};
    if (family == "mpich") return {"HYDRA build details"};
    return {};
}

// Returns the libraries that the program loads, those of its libraries included, in the form of `ldd`; empty
// if it loads none.
std::string libraries_of(const std::string& path, const std::string& loader) {
    if (loader.empty() || !find_program(loader)) return "";
    // As `ldd` does, but in 1 ms: that script asks the loaders of all architectures, which takes 6 to 15 ms.
    // With --list, glibc's loader prints nothing if a library is missing.
    const auto list =
        contains(loader, "ld-linux")
            ? std::vector<std::string>{"/usr/bin/env", "LD_TRACE_LOADED_OBJECTS=1", loader, path}
            : std::vector<std::string>{loader, "--list", path};
    return run_program(list, "", max_time_to_answer).out;
}

// Hydra also searches the working directory for programs.
std::optional<std::string> program_named(const std::string& word) {
    if (word.empty() || word.front() == '-') return std::nullopt;
    std::optional<std::string> path = find_program(word);
    return path ? path : find_program("./" + word);
}

}  // namespace

std::span<const MpiFamily> mpi_families() {
    static const MpiFamily families[] = {
#define LAPWING_MPI_FAMILY(name, title, ...) \
    {#name, title, "liblapwing-" #name ".so", {__VA_ARGS__}, signs_of(#name), marks_of(#name)},
#include "base/mpi_families.def"
    };
    return families;
}

const MpiFamily& find_mpi_family(const std::string& name) {
    std::vector<std::string> names;
    for (const MpiFamily& family : mpi_families()) names.emplace_back(family.name);
    return mpi_families()[pick("--mpi", name, names)];
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
        if (std::ranges::any_of(family.signs, [&](const std::string& sign) { return contains(text, sign); }))
            return {&family, version_in(text)};
    }
    return {};
}

const MpiFamily* family_of_launcher(const std::string& path) {
    const ProgramFile file(path);
    for (const MpiFamily& family : mpi_families()) {
        if (std::ranges::any_of(family.marks, [&](const std::string& mark) { return file.loads(mark); }))
            return &family;
    }
    return nullptr;
}

const MpiFamily* family_of_program(const std::string& path) {
    const ProgramFile file(path);
    const auto family_with = [](const auto& has) -> const MpiFamily* {
        for (const MpiFamily& family : mpi_families()) {
            if (std::ranges::any_of(family.libraries, has)) return &family;
        }
        return nullptr;
    };
    const MpiFamily* const named = family_with(
        [&](const std::string& library) { return std::ranges::count(file.libraries(), library) > 0; });
    if (named != nullptr) return named;
    const std::string list = libraries_of(path, file.loader());
    return family_with([&](const std::string& library) { return contains(list, library + " "); });
}

const MpiFamily* family_in(const std::vector<std::string>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::optional<std::string> path = program_named(words[i]);
        if (const MpiFamily* const linked = path ? family_of_program(*path) : nullptr) return linked;
    }
    return nullptr;
}

const MpiFamily* family_of_job(const MpiFamily& launcher, const std::vector<std::string>& words) {
    const MpiFamily* const linked = family_in(words);
    return linked != nullptr && linked->signs.empty() ? linked : &launcher;
}

std::string address_sanitizer_of(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        const std::optional<std::string> path = program_named(word);
        if (!path) continue;
        const ProgramFile file(*path);
        const auto is_sanitizer = [](const std::string& library) {
            return library.starts_with("libasan.so") || library.starts_with("libclang_rt.asan");
        };
        if (std::ranges::none_of(file.libraries(), is_sanitizer)) continue;
        std::istringstream lines(libraries_of(*path, file.loader()));
        for (std::string name, arrow, library; lines >> name;) {
            if (!is_sanitizer(name)) continue;
            if (lines >> arrow >> library && arrow == "=>" && library.front() == '/') return library;
        }
    }
    return "";
}

std::optional<std::string> find_installed(std::initializer_list<const char*> directories,
                                          const std::string& file, std::vector<std::string>& searched,
                                          int mode) {
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    searched.clear();
    for (const char* directory : directories) {
        const std::filesystem::path place = (bin.parent_path() / directory).lexically_normal();
        if (std::find(searched.begin(), searched.end(), place.string()) != searched.end()) continue;
        searched.push_back(place);
        const std::filesystem::path found = place / file;
        if (access(found.c_str(), mode) == 0) return found.string();
    }
    return std::nullopt;
}

std::optional<std::string> find_preload(const std::string& file, std::vector<std::string>& searched) {
    return find_installed({"lib", LAPWING_INSTALL_PRELOADDIR, "lib64"}, file, searched);
}

}  // namespace lapwing::tool
