// The MPI families that Lapwing has a preload library for, and how to tell them apart.
#pragma once

#include <unistd.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lapwing::tool {

struct MpiFamily {
    const char* name;                    // for --mpi
    const char* title;                   // for messages
    const char* preload;                 // file name of the preload library
    std::vector<std::string> libraries;  // sonames of the MPI library
    std::vector<std::string> signs;      // in its launchers' answer to --version; empty: it has no launcher
    std::vector<std::string> marks;      // in the files of its launchers

    // The compiler wrapper with which Lapwing is built for this family.
    const char* compiler_wrapper() const { return signs.empty() ? "mpicc_abi" : "mpicc"; }
};
std::span<const MpiFamily> mpi_families();

// Throws Error (invalid_argument) that names the nearest.
const MpiFamily& find_mpi_family(const std::string& name);

// A launcher's answer to --version.
struct Launcher {
    const MpiFamily* family = nullptr;  // null: not a launcher of any family
    std::string version;
};
// Runs the program at `path` with --version, but only if it looks like a launcher or a tool on PATH: a
// user's program or script would start its work.
Launcher identify_launcher(const std::string& word, const std::string& path);

// The family of the launcher at `path`, if its file shows that: a launcher may take 20 ms to answer. `path`
// must have a launcher's name; programs of an MPI may have the same marks. Null for scripts.
const MpiFamily* family_of_launcher(const std::string& path);

// The family of the MPI library that the program is linked to; null without one.
const MpiFamily* family_of_program(const std::string& path);

// The family of the first of these words, from the second on, that is a program linked to one; null when none
// is.
const MpiFamily* family_in(const std::vector<std::string>& words);

// The family of the program that a launcher of `launcher` is told to start, by its words: that of the
// launcher, unless the program is linked to a library of a family without launchers.
const MpiFamily* family_of_job(const MpiFamily& launcher, const std::vector<std::string>& words);

// The shared runtime of AddressSanitizer that the first of these programs with one is linked to; empty if
// none is. It ends a program that loads another library before it.
std::string address_sanitizer_of(const std::vector<std::string>& words);

// A file beside this tool: in a build tree, or where it was installed. `directories`: absolute, or below the
// directory that has bin. `mode`: of access(). None when it is in none of the `searched` directories.
std::optional<std::string> find_installed(std::initializer_list<const char*> directories,
                                          const std::string& file, std::vector<std::string>& searched,
                                          int mode = R_OK);
// The preload library.
std::optional<std::string> find_preload(const std::string& file, std::vector<std::string>& searched);

}  // namespace lapwing::tool
