#include "lapwing/launch/report_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "lapwing/launch/job.hpp"

namespace lapwing::tool {
namespace {

// Opening a pipe would wait for its reader. A device shows only by taking something whether it does.
bool takes_bytes(const std::string& path, mode_t mode) {
    if (!S_ISCHR(mode)) return true;
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    const bool good = file >= 0 && (::isatty(file) != 0 || ::write(file, "\n", 1) == 1);
    const int error = errno;
    if (file >= 0) ::close(file);
    errno = error;
    return good;
}

}  // namespace

ReportFile::ReportFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) {
        directory_ = std::filesystem::temp_directory_path() / "lapwing-report-XXXXXX";
        if (::mkdtemp(directory_.data()) == nullptr) throw_system("the report needs " + directory_);
        path_ = directory_ + "/report";
        return;
    }
    struct stat found {};
    if (::stat(path_.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
        keeps_contents_ = false;
        if (!takes_bytes(path_, found.st_mode)) throw_system("the report cannot be written to " + path_);
        return;
    }
    require_writable(path_, "the report");
    ::unlink(path_.c_str());
}

ReportFile::~ReportFile() {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

bool ReportFile::print(bool job_failed) const {
    if (!keeps_contents_) return true;
    const std::string where = directory_.empty() ? " in " + printable(path_) : "";
    std::ostringstream report;
    const std::ifstream file(path_);
    if (!file) {
        fmt::print(
            stderr, "lapwing run: no report{}: rank 0 did not call MPI_Init with Lapwing loaded. {}\n", where,
            job_failed
                ? "The job may have failed before"
                : "It may call no MPI or only sessions, be linked statically, not get LD_PRELOAD, or have "
                  "run on another host");
        return !directory_.empty();
    }
    report << file.rdbuf();
    if (report.view().empty()) {
        ::unlink(path_.c_str());
        fmt::print(
            stderr,
            "lapwing run: no report{}: rank 0 ended without MPI_Finalize, or could not write the report\n",
            where);
        return false;
    }
    if (!directory_.empty()) std::fwrite(report.view().data(), 1, report.view().size(), stderr);
    return true;
}

}  // namespace lapwing::tool
