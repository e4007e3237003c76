#include "lapwing/launch/report_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "lapwing/common/output_file.hpp"

namespace lapwing::tool {
ReportFile::ReportFile(std::string path) : path_(std::move(path)) {
    struct stat found {};
    if (!path_.empty()) {
        keeps_contents_ = ::stat(path_.c_str(), &found) != 0 || S_ISREG(found.st_mode);
        require_writable(path_, "the report");
        if (keeps_contents_) ::unlink(path_.c_str());
    }
    std::error_code missing;
    const std::filesystem::path place = std::filesystem::temp_directory_path(missing);
    const char* named = std::getenv("TMPDIR");
    if (missing) throw_system(fmt::format("TMPDIR ({})", named != nullptr ? named : "/tmp"), missing.value());
    directory_ = place / "lapwing-report-XXXXXX";
    if (::mkdtemp(directory_.data()) == nullptr) throw_system("the report needs " + directory_);
}

ReportFile::~ReportFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

bool ReportFile::check(bool job_failed) const {
    std::error_code missing;
    const auto bytes_of = [&missing](const std::string& file) {
        const std::uintmax_t bytes = std::filesystem::file_size(file, missing);
        return missing ? 0 : bytes;
    };
    if (keeps_contents_ && bytes_of(path_) > 0) return true;
    if (bytes_of(mark()) > 0) return true;
    const std::string where = keeps_contents_ ? " in " + printable(path_) : "";
    if (!missing) {
        if (keeps_contents_) ::unlink(path_.c_str());
        print_message(
            "lapwing run: no report{}: rank 0 ended without MPI_Finalize, or could not write the report\n",
            where);
        return false;
    }
    print_message(
        "lapwing run: {}: rank 0 did not call MPI_Init with Lapwing loaded. {}\n",
        keeps_contents_ ? "no report" + where : "no report, unless rank 0 of another host wrote one",
        job_failed ? "The job may have failed before"
                   : "It may call no MPI or only sessions, be linked statically, not get LD_PRELOAD, or have "
                     "opened a library with RTLD_DEEPBIND");
    return !keeps_contents_;
}

}  // namespace lapwing::tool
