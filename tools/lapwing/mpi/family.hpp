// The MPI families that Lapwing has a preload library for, and how to tell them apart.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lapwing::tool {

struct MpiFamily {
    const char* name;                    // as --mpi takes it
    const char* title;                   // as people write it
    const char* preload;                 // file name of the preload library
    std::vector<std::string> libraries;  // sonames of the MPI library
    std::vector<std::string> signs;      // what a launcher of it says to --version; none: it has no own
};
std::span<const MpiFamily> mpi_families();

// Throws Error (invalid_argument) that names the nearest.
const MpiFamily& find_mpi_family(const std::string& name);

// A launcher's answer to --version.
struct Launcher {
    const MpiFamily* family = nullptr;  // null: it is no launcher of these
    std::string version;
};
// Runs the program at `path`, so it is asked only when it looks like a launcher or a tool on PATH: a
// person's own program or script would do its work instead.
Launcher identify_launcher(const std::string& word, const std::string& path);

// The family whose library the program is linked to; null when there is none.
const MpiFamily* family_of_program(const std::string& path);

// The family of the program that a launcher of `launcher` is told to start, by its words: that of the
// launcher, unless the program is linked to a library of a family without launchers.
const MpiFamily* family_of_job(const MpiFamily& launcher, const std::vector<std::string>& words);

// The preload library beside this tool: in a build tree, or where it was installed. None when it is in
// none of the `searched` directories.
std::optional<std::string> find_preload(const std::string& file, std::vector<std::string>& searched);

}  // namespace lapwing::tool
