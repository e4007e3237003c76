#include "program/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace lapwing::bench {

bool is_lapwing_loaded() {
    return dlsym(RTLD_DEFAULT, "lapwing_snapshot") != nullptr;  // which each of them exports
}

// Large enough for any report, which nobody reads while it is written.
ReportPipe::ReportPipe() {
    constexpr int bytes = 1 << 20;
    if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) return;
    fcntl(ends_[1], F_SETPIPE_SZ, bytes);
    setenv("LAPWING_REPORT_FILE", fmt::format("/proc/self/fd/{}", ends_[1]).c_str(), 1);
}

ReportPipe::~ReportPipe() {
    for (const int end : ends_) close(end);
}

nlohmann::json ReportPipe::read() const {
    std::string text;
    char block[4096];
    for (ssize_t length = 0; (length = ::read(ends_[0], block, sizeof block)) > 0;)
        text.append(block, static_cast<std::size_t>(length));
    nlohmann::json report = nlohmann::json::parse(text, nullptr, false);
    return report.is_discarded() ? nlohmann::json() : report;
}

}  // namespace lapwing::bench
