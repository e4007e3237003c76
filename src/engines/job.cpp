#include "engines/job.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <bit>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "engines/progress_choice.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing {

Job::Job(int rank, int ranks, Settings settings)
    : rank_(rank), ranks_(ranks), settings_(std::move(settings)) {}

Job::~Job() = default;

std::string Job::named(const std::string& text) const {
    return text.empty() ? "" : fmt::format("rank {} ({}): {}", rank_, tcp::host_name(), text);
}

std::vector<std::string> Job::agree(const std::vector<std::string>& texts) {
    std::string mine;  // each text ends with a zero
    for (const std::string& text : texts) mine.append(named(text)).push_back('\0');
    std::vector<std::string> agreed(texts.size());
    for (const auto& bytes : exchange(std::as_bytes(std::span(mine)))) {
        const char* at = reinterpret_cast<const char*>(bytes.data());
        for (std::string& text : agreed) {
            if (text.empty()) text = at;
            at += std::strlen(at) + 1;
        }
    }
    return agreed;
}

std::vector<std::vector<std::byte>> Job::collect(const std::function<std::vector<std::byte>()>& step) {
    std::optional<Error> own;
    std::vector<std::byte> bytes;
    try {
        bytes = step();
    } catch (const Error& error) {
        own = error;
    }
    const std::string trouble = own ? named(own->what()) : "";
    const auto* const text = reinterpret_cast<const std::byte*>(trouble.c_str());
    bytes.insert(bytes.begin(), text, text + trouble.size() + 1);  // with its zero
    auto by_rank = exchange(bytes);
    if (own && own->code() == ErrorCode::invalid_argument) throw Error(*own);
    for (auto& of_rank : by_rank) {
        const std::string agreed = reinterpret_cast<const char*>(of_rank.data());
        if (!agreed.empty()) throw Error(own ? own->code() : ErrorCode::unsupported, agreed);
        of_rank.erase(of_rank.begin());
    }
    return by_rank;
}

void Job::together(const std::function<void()>& step) {
    collect([&] {
        step();
        return std::vector<std::byte>();
    });
}

JobKey Job::draw_key() const {
    JobKey drawn{};
    if (rank_ == 0) ::randombytes_buf(drawn.data(), sizeof drawn);
    return drawn;
}

JobKey Job::shared_key() {
    return exchange_values(draw_key()).front();
}

std::unique_ptr<tcp::Endpoint> Job::make_sockets() {
    auto made = std::make_unique<tcp::Endpoint>(
        tcp::read_options(settings_),
        [this](const std::string& line) { warn(fmt::format("rank {}: {}", rank_, line)); });
    const ProgressChoice progress = read_progress_choice(settings_);
    if (!progress.processors.empty()) made->event_loop().place(progress.processors);
    return made;
}

tcp::Endpoint& Job::sockets(const std::function<void()>& check) {
    if (sockets_ != nullptr) {
        if (check) together(check);
        return *sockets_;
    }
    struct Offer {
        tcp::Address address;
        JobKey key;
    };
    std::unique_ptr<tcp::Endpoint> made;
    const auto offers = values_of<Offer>(collect([&] {
        if (check) check();
        made = make_sockets();
        return bytes_of(Offer{made->address(), draw_key()});
    }));
    std::vector<tcp::Address> addresses;
    for (const Offer& offer : offers) addresses.push_back(offer.address);
    made->admit(std::bit_cast<tcp::Key>(offers.front().key), std::move(addresses), rank_);
    sockets_ = std::move(made);
    return *sockets_;
}

}  // namespace lapwing
