#include "c/group_job.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>

#include "base/nearest_name.hpp"
#include "c/status.hpp"
#include "engines/wait_strategy.hpp"
#include "job/settings.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::c {
namespace {

// Groups of connections, by their use. Others count from JobNetwork::number_of_all.
enum : std::uint64_t { for_messages = UINT64_MAX, for_lives = UINT64_MAX - 1 };

constexpr std::string_view mark = "lapwing";
constexpr std::uint32_t version_of_hello = 6;
// No collective has it: channels are counted from 0.
constexpr std::uint32_t channel = first_persistent_channel - 1;

constexpr std::string_view prefix = "LAPWING_";

std::vector<std::string> option_names() {
    std::vector<std::string> names;
    for (const SettingRow& row : setting_rows()) {
        std::string name = row.variable + prefix.size();
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
        names.push_back(name);
    }
    return names;
}

// "engine=host" as the variable would be written: "LAPWING_ENGINE=host".
std::string as_variable(std::string_view option) {
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) throw_invalid("option '{}' is not of the form name=value", option);
    const std::string_view name = option.substr(0, equals);
    const std::vector<std::string> names = option_names();
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw_invalid("unknown option '{}'{}", name, suggestion(name, names));
    const SettingRow& row = setting_rows()[static_cast<std::size_t>(found - names.begin())];
    return fmt::format("{}{}", row.variable, option.substr(equals));
}

}  // namespace

// What ranks send each other by the caller's exchange function.
struct GroupJob::Hello {
    char mark[8];
    std::uint32_t version;
    std::uint32_t rank;
    std::uint32_t size;
    std::uint32_t cannot;  // take part: 1 + ErrorCode
    tcp::Key key;          // of rank 0: the group's
    tcp::Address address;
    char why_not[512];  // it cannot take part
};

GroupJob::GroupJob(int rank, int size, Settings settings, const std::optional<Error>& wrong,
                   lapwing_exchange* meeting, void* context, Lifeline::Lost lost)
    : Job(rank, size, std::move(settings)) {
    meet(wrong, meeting, context);
    std::vector<int> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    connections_ = open_sockets()->group(for_messages, members, rank, 1);
    lives_ = open_sockets()->group(for_lives, members, rank, 1);
    messages_ = std::make_unique<StreamLink>(*connections_, size);
    const tcp::Options tcp = tcp::read_options(this->settings());
    limit_ = tcp.patience + tcp.handshake;
    // A rank that has ended since the exchange never connects.
    lifeline_ = std::make_unique<Lifeline>(
        *lives_, rank, size, std::min<std::chrono::milliseconds>(limit_, tcp.refusal + tcp.handshake),
        std::move(lost));
}

GroupJob::~GroupJob() {
    lifeline_.reset();
    messages_.reset();
    lives_.reset();
    connections_.reset();
    close_sockets();
    ::sodium_memzero(key_.data(), sizeof key_);
}

// All ranks read the same blocks, and come to the same result.
void GroupJob::meet(const std::optional<Error>& wrong, lapwing_exchange* meeting, void* context) {
    Hello own{};
    mark.copy(own.mark, sizeof own.mark);
    own.version = version_of_hello;
    own.rank = static_cast<std::uint32_t>(rank());
    own.size = static_cast<std::uint32_t>(ranks());
    std::unique_ptr<tcp::Endpoint> endpoint;
    try {
        if (wrong) throw *wrong;
        const auto peers = static_cast<std::uint64_t>(ranks() - 1);
        const std::uint64_t needed = peers + (rank() == 0 ? peers : 1) + tcp::reserved_descriptors;
        const std::uint64_t free = tcp::make_room_for_descriptors(needed);
        if (free < needed) {
            throw Error(ErrorCode::system,
                        "a group of {} ranks needs {} descriptors, but only {} are free; raise `ulimit -n`",
                        ranks(), needed, free);
        }
        endpoint = make_sockets();
        own.address = endpoint->address();
        if (rank() == 0) own.key = tcp::random_key();
    } catch (const Error& error) {
        own.cannot = 1 + static_cast<std::uint32_t>(error.code());
        std::string_view(error.what()).copy(own.why_not, sizeof own.why_not - 1);
    }
    std::vector<Hello> all(static_cast<std::size_t>(ranks()));
    const int failure = meeting(context, &own, all.data(), sizeof(Hello));
    if (failure != 0) throw ExchangeError(fmt::format("the exchange function failed with {}", failure));
    for (int one = 0; one < ranks(); ++one) {
        Hello& hello = all[static_cast<std::size_t>(one)];
        hello.why_not[sizeof hello.why_not - 1] = '\0';
        hello.address.name[sizeof hello.address.name - 1] = '\0';
        if (std::string_view(hello.mark, mark.size()) != mark ||
            hello.rank != static_cast<std::uint32_t>(one)) {
            throw ExchangeError(
                fmt::format("the exchange function returned a wrong block for rank {}: it must return "
                            "the blocks of all ranks in rank order",
                            one));
        }
        if (hello.version != version_of_hello) throw_invalid("rank {} runs another version of Lapwing", one);
        if (hello.size != own.size)
            throw_invalid("ranks disagree on the size of the group: {} ranks here, {} at rank {}", ranks(),
                          hello.size, one);
    }
    for (int one = 0; one < ranks(); ++one) {
        const Hello& hello = all[static_cast<std::size_t>(one)];
        if (hello.cannot == 0) continue;
        const std::string who = one == rank() ? "" : fmt::format("rank {}: ", one);
        throw Error(static_cast<ErrorCode>(hello.cannot - 1), who + hello.why_not);
    }
    std::vector<tcp::Address> addresses;
    for (const Hello& hello : all) addresses.push_back(hello.address);
    const tcp::Key& key = all.front().key;
    endpoint->admit(key, std::move(addresses), rank());
    static_assert(sizeof key_ >= crypto_generichash_BYTES_MIN && sizeof key_ <= crypto_generichash_BYTES_MAX);
    ::crypto_generichash(reinterpret_cast<unsigned char*>(key_.data()), sizeof key_, key.data(), key.size(),
                         reinterpret_cast<const unsigned char*>(mark.data()), mark.size());
    for (Hello& hello : all) ::sodium_memzero(&hello.key, sizeof hello.key);
    ::sodium_memzero(&own.key, sizeof own.key);
    adopt(std::move(endpoint));
}

std::vector<std::vector<std::byte>> GroupJob::exchange(std::span<const std::byte> mine) {
    return exchange_by_messages(mine, limit_, [] {});
}

// Through rank 0.
std::vector<std::vector<std::byte>> GroupJob::exchange_by_messages(std::span<const std::byte> mine,
                                                                   std::chrono::milliseconds limit,
                                                                   const std::function<void()>& meanwhile) {
    const auto size = static_cast<std::size_t>(ranks());
    std::vector<std::uint64_t> lengths(size);
    std::vector<std::byte> all;
    std::vector<int> peers;
    for (int peer = rank() == 0 ? 1 : 0; peer < (rank() == 0 ? ranks() : 1); ++peer) peers.push_back(peer);
    const auto bytes_of = [](auto& value) { return reinterpret_cast<std::byte*>(&value); };
    const auto for_each_peer = [&](const auto& begin) {
        std::vector<Link::Transfer> transfers(peers.size());
        for (std::size_t i = 0; i < peers.size(); ++i) begin(peers[i], transfers[i]);
        messages_->flush();
        await(transfers, peers, limit, meanwhile);
    };
    const auto begins = [&] {
        std::vector<std::uint64_t> result(size + 1);
        std::partial_sum(lengths.begin(), lengths.end(), result.begin() + 1);
        all.resize(result.back());
        return result;
    };
    std::uint64_t length = mine.size();
    if (rank() == 0) {
        lengths[0] = length;
        for_each_peer([&](int peer, Link::Transfer& transfer) {
            messages_->recv(peer, bytes_of(lengths[static_cast<std::size_t>(peer)]), sizeof length, channel,
                            transfer);
        });
        const auto begin = begins();
        std::ranges::copy(mine, all.begin());
        for_each_peer([&](int peer, Link::Transfer& transfer) {
            const auto at = static_cast<std::size_t>(peer);
            messages_->recv(peer, all.data() + begin[at], lengths[at], channel, transfer);
        });
        for_each_peer([&](int peer, Link::Transfer& transfer) {
            messages_->send(peer, bytes_of(lengths[0]), size * sizeof length, channel, transfer);
        });
        for_each_peer([&](int peer, Link::Transfer& transfer) {
            messages_->send(peer, all.data(), all.size(), channel, transfer);
        });
    } else {
        for_each_peer([&](int, Link::Transfer& transfer) {
            messages_->send(0, bytes_of(length), sizeof length, channel, transfer);
        });
        for_each_peer([&](int, Link::Transfer& transfer) {
            messages_->send(0, mine.data(), mine.size(), channel, transfer);
        });
        for_each_peer([&](int, Link::Transfer& transfer) {
            messages_->recv(0, bytes_of(lengths[0]), size * sizeof length, channel, transfer);
        });
        begins();
        for_each_peer([&](int, Link::Transfer& transfer) {
            messages_->recv(0, all.data(), all.size(), channel, transfer);
        });
    }
    std::vector<std::vector<std::byte>> by_rank;
    for (std::size_t one = 0, begin = 0; one < size; begin += lengths[one++]) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
        by_rank.emplace_back(first, first + static_cast<std::ptrdiff_t>(lengths[one]));
    }
    return by_rank;
}

void GroupJob::await(std::vector<Link::Transfer>& transfers, const std::vector<int>& peers,
                     std::chrono::milliseconds limit, const std::function<void()>& meanwhile) {
    using std::chrono::milliseconds;
    const auto began = std::chrono::steady_clock::now();
    for (;;) {
        int late = -1;
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            if (!messages_->test(transfers[i])) late = peers[i];
        }
        messages_->flush();
        if (late < 0) return;
        meanwhile();
        if (std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began) > limit) {
            const std::string why =
                fmt::format("{} has not answered within {} s", connections_->describe(late),
                            std::chrono::duration_cast<std::chrono::seconds>(limit).count());
            fail(why);
            throw Error(ErrorCode::link, why);
        }
        const int descriptor = messages_->poll_descriptor();
        sleep_at({&descriptor, 1}, std::chrono::milliseconds(1));
    }
}

void GroupJob::leave_together(const std::function<void()>& meanwhile) {
    try {
        // A rank may use its other groups for hours before it comes here.
        exchange_by_messages({}, std::chrono::milliseconds::max(), meanwhile);
    } catch (const Error&) {
        // A rank was lost: there is no need to wait for it.
    }
}

void GroupJob::warn(const std::string& line) {
    log_line("lapwing: " + line);
}

JobKey GroupJob::shared_key() {
    return key_;
}

std::uint64_t GroupJob::descriptors_to_come() const {
    return static_cast<std::uint64_t>(ranks() - 1);  // for messages
}

Settings read_group_settings(const char* const* options, const char* const* environment) {
    std::vector<std::string> chosen;
    for (; options != nullptr && *options != nullptr; ++options) chosen.push_back(as_variable(*options));
    std::vector<const char*> all;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        if (std::string_view(*environment).starts_with(prefix)) all.push_back(*environment);
    }
    // What comes later overrides.
    for (const std::string& variable : chosen) all.push_back(variable.c_str());
    all.push_back(nullptr);
    Settings settings = read_settings(all.data());
    check_settings(settings);
    if (settings.network == "mpi")
        throw_invalid("network 'mpi' is the native MPI, which a group of the C API does not have");
    if (settings.engine == "mpi")
        throw_invalid("engine 'mpi' is the native MPI, which a group of the C API does not have");
    return settings;
}

}  // namespace lapwing::c
