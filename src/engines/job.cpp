#include "engines/job.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <bit>

#include "base/error.hpp"
#include "engines/progress_choice.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing {

Job::Job(int rank, int ranks, Settings settings)
    : rank_(rank), ranks_(ranks), settings_(std::move(settings)) {}

Job::~Job() = default;

std::string Job::agree(const std::string& text) {
    const std::string mine =
        text.empty() ? "" : fmt::format("rank {} ({}): {}", rank_, tcp::host_name(), text);
    for (const auto& bytes : exchange(std::as_bytes(std::span(mine)))) {
        if (!bytes.empty()) return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    return "";
}

void Job::together(const std::function<void()>& step) {
    std::string trouble;
    ErrorCode code = ErrorCode::unsupported;
    try {
        step();
    } catch (const Error& error) {
        trouble = error.what();
        code = error.code();
    }
    const std::string agreed = agree(trouble);
    if (code == ErrorCode::invalid_argument) throw Error(code, trouble);
    if (!agreed.empty()) throw Error(code, agreed);
}

JobKey Job::shared_key() {
    JobKey mine{};
    if (rank_ == 0) ::randombytes_buf(mine.data(), sizeof mine);
    const JobKey key = exchange_values(mine).front();
    ::sodium_memzero(mine.data(), sizeof mine);
    return key;
}

std::unique_ptr<tcp::Endpoint> Job::make_sockets() {
    auto made = std::make_unique<tcp::Endpoint>(
        tcp::read_options(settings_),
        [this](const std::string& line) { warn(fmt::format("rank {}: {}", rank_, line)); });
    const ProgressChoice progress = read_progress_choice(settings_);
    if (!progress.processors.empty()) made->event_loop().place(progress.processors);
    return made;
}

tcp::Endpoint& Job::sockets() {
    if (sockets_ != nullptr) return *sockets_;
    std::unique_ptr<tcp::Endpoint> made;
    together([&] { made = make_sockets(); });
    JobKey shared = shared_key();
    auto key = std::bit_cast<tcp::Key>(shared);
    made->admit(key, exchange_values(made->address()), rank_);
    key.fill(0);
    shared.fill(0);
    sockets_ = std::move(made);
    return *sockets_;
}

}  // namespace lapwing
