#include "lapwing/launch/report_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/output_file.hpp"

namespace lapwing::tool {
namespace {

std::string temporary_directory() {
    std::error_code missing;
    const std::filesystem::path place = std::filesystem::temp_directory_path(missing);
    const char* named = std::getenv("TMPDIR");
    if (missing) throw_system(fmt::format("TMPDIR ({})", named != nullptr ? named : "/tmp"), missing.value());
    return place;
}

// Opening a file of a network file system makes its state known here.
struct stat state_of(const std::string& path) {
    struct stat found {};
    const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0) return found;
    ::fstat(opened, &found);
    ::close(opened);
    return found;
}

bool same(const timespec& one, const timespec& other) {
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

ReportFile::ReportFile(const std::string& path) : directory_(temporary_directory() + "/lapwing-report") {
    if (path.empty()) return;
    const OutputFile file(path, "the report");
    special_ = file.special();
    if (special_) return;
    path_ = file.target();
    before_ = state_of(path_);
}

bool ReportFile::check(bool job_failed) const {
    const bool keeps_contents = !path_.empty();
    const struct stat now = keeps_contents ? state_of(path_) : before_;
    if (now.st_size > 0 && (now.st_ino != before_.st_ino || !same(now.st_mtim, before_.st_mtim))) return true;
    // Of an earlier run.
    if (keeps_contents) ::unlink(path_.c_str());
    std::error_code missing;
    if (std::filesystem::file_size(mark(), missing) > 0 && !missing) return true;
    // Of a rank 0 on a host that has another TMPDIR.
    const std::string other_mark = std::filesystem::path(directory_.path()).filename().string() + ".mark";
    if (::unlink(other_mark.c_str()) == 0) return true;
    const std::string where = keeps_contents ? " in " + printable(path_) : "";
    if (!missing) {
        print_message(
            "lapwing run: no report{}: rank 0 ended without MPI_Finalize, or could not write the report\n",
            where);
        return false;
    }
    print_message(
        "lapwing run: no report{}: rank 0 did not call MPI_Init with Lapwing loaded{}. {}\n", where,
        keeps_contents ? "" : ", or was on a host that does not share this working directory",
        job_failed ? "The job may have failed before"
                   : "It may call no MPI or only sessions, be linked statically, not get LD_PRELOAD, or have "
                     "opened a library with RTLD_DEEPBIND");
    return special_;
}

}  // namespace lapwing::tool
