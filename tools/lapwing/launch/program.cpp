#include "lapwing/launch/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "lapwing/common/progress_bar.hpp"
#include "lapwing/launch/launched.hpp"

namespace lapwing::tool {
namespace {

class Reader {
  public:
    explicit Reader(const std::string& program)
        : progress_(program + " progress "), result_of_(program + " result ") {}

    void take(const std::string& line) {
        if (line.starts_with(progress_)) {
            const double share = std::atof(line.c_str() + progress_.size());
            const std::size_t what = line.find(' ', progress_.size());
            if (what != std::string::npos && !bar_.visible())
                fmt::print(stderr, "{:3.0f} %{}\n", share * 100, line.substr(what));
            bar_.advance(share - done_);
            done_ = share;
        } else if (line.starts_with(result_of_)) {
            result_ = nlohmann::json::parse(line.substr(result_of_.size()), nullptr, false);
            if (result_->is_discarded()) result_.reset();
        } else {
            fmt::print(stderr, "{}\n", line);
        }
    }
    bool has_result() const { return result_.has_value(); }
    std::optional<nlohmann::json> result() { return std::move(result_); }

  private:
    std::string progress_;
    std::string result_of_;
    ProgressBar bar_{1};
    double done_ = 0;
    std::optional<nlohmann::json> result_;
};

}  // namespace

std::string find_mpi_program(const std::string& program, const MpiFamily& family) {
    const std::filesystem::path bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string name = fmt::format("{}-{}", program, family.name);
    std::vector<std::string> searched;
    for (const char* directory : {LAPWING_INSTALL_LIBEXECDIR, "libexec"}) {
        const auto place = (bin.parent_path() / directory / "lapwing").lexically_normal();
        if (!searched.empty() && searched.back() == place) continue;
        searched.push_back(place);
        const std::filesystem::path found = place / name;
        if (access(found.c_str(), X_OK) == 0) return found;
    }
    throw Error(
        ErrorCode::system,
        fmt::format(
            "{} is not installed in {}. Build Lapwing (make build) on a machine that has {}'s compiler "
            "wrapper, {}",
            name, fmt::join(searched, " or "), family.title, family.compiler_wrapper()));
}

const char* const library_missing_advice =
    "Lapwing's programs cannot load the MPI library that they are linked to. The programs of the wheel need "
    "libmpi.so.12 (MPICH, Intel MPI) or libmpi.so.40 (Open MPI): add its directory to LD_LIBRARY_PATH. "
    "Debian's "
    "MPICH is libmpich.so.12: use Lapwing's Debian packages, or build from source";

std::string why_no_result(int status) {
    std::string text = fmt::format("no result: the launcher ended with status {}", status);
    if (status == library_missing)
        text +=
            fmt::format(". If a message above names a missing shared library: {}", library_missing_advice);
    return text;
}

std::vector<std::string> own_command_line() {
    std::vector<std::string> words;
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words;
}

std::string time_of_day() {
    const std::time_t moment = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&moment, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

ProgramJob run_mpi_program(const Launch& launch, const std::string& program,
                           std::optional<std::chrono::seconds> end_limit) {
    Reader reader(program);
    const LaunchEnd end = run_with_limits(
        launch, Streams::output, {.total = {}, .grace = end_limit},
        [&](const std::string& line) { reader.take(line); }, [&] { return reader.has_result(); });
    return {end.status, reader.result()};
}

}  // namespace lapwing::tool
