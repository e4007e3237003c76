#include "lapwing/mpi/family.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
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

// Returns the dynamic loader that a program names. Returns nothing if the file is not a program of this
// machine, or is linked statically.
std::optional<std::string> loader_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    ElfW(Ehdr) header{};
    const auto read_at = [&](std::uint64_t offset, void* out, std::size_t bytes) {
        return file.seekg(static_cast<std::streamoff>(offset)) &&
               file.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes));
    };
    if (!read_at(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(ElfW(Phdr)))
        return std::nullopt;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
        ElfW(Phdr) segment{};
        if (!read_at(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return std::nullopt;
        if (segment.p_type != PT_INTERP || segment.p_filesz > PATH_MAX) continue;
        std::string loader(segment.p_filesz, '\0');
        if (!read_at(segment.p_offset, loader.data(), loader.size())) return std::nullopt;
        return loader.c_str();  // without the null character
    }
    return std::nullopt;
}

// Returns the libraries that the program loads, in the form of `ldd`; empty if it loads none.
std::string libraries_of(const std::string& path) {
    const std::optional<std::string> loader = loader_of(path);
    if (!loader || !find_program(*loader)) return "";
    // As `ldd` does, but in 1 ms: that script asks the loaders of all architectures, which takes 6 to 15 ms.
    // With --list, glibc's loader prints nothing if a library is missing.
    const auto list =
        contains(*loader, "ld-linux")
            ? std::vector<std::string>{"/usr/bin/env", "LD_TRACE_LOADED_OBJECTS=1", *loader, path}
            : std::vector<std::string>{*loader, "--list", path};
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
    {#name, title, "liblapwing-" #name ".so", {__VA_ARGS__}, signs_of(#name)},
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
        if (std::any_of(family.signs.begin(), family.signs.end(),
                        [&](const std::string& sign) { return contains(text, sign); })) {
            return {&family, version_in(text)};
        }
    }
    return {};
}

const MpiFamily* family_of_program(const std::string& path) {
    const std::string list = libraries_of(path);
    for (const MpiFamily& family : mpi_families()) {
        for (const std::string& library : family.libraries) {
            if (contains(list, library + " ")) return &family;
        }
    }
    return nullptr;
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
        std::istringstream lines(path ? libraries_of(*path) : "");
        for (std::string name, arrow, file; lines >> name;) {
            if (!name.starts_with("libasan.so") && !name.starts_with("libclang_rt.asan")) continue;
            if (lines >> arrow >> file && arrow == "=>" && file.front() == '/') return file;
        }
    }
    return "";
}

std::optional<std::string> find_installed(std::initializer_list<const char*> directories,
                                          const std::string& file, std::vector<std::string>& searched) {
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    searched.clear();
    for (const char* directory : directories) {
        const std::filesystem::path place = (bin.parent_path() / directory).lexically_normal();
        if (std::find(searched.begin(), searched.end(), place.string()) != searched.end()) continue;
        searched.push_back(place);
        const std::filesystem::path found = place / file;
        if (access(found.c_str(), R_OK) == 0) return found.string();
    }
    return std::nullopt;
}

std::optional<std::string> find_preload(const std::string& file, std::vector<std::string>& searched) {
    return find_installed({"lib", LAPWING_INSTALL_PRELOADDIR, "lib64"}, file, searched);
}

}  // namespace lapwing::tool
