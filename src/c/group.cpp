// How a group comes into being and to its end.
#include "c/group.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <string_view>

#include "c/log.hpp"
#include "c/status.hpp"
#include "engines/catalogue.hpp"
#include "links/process/process_link.hpp"
#include "links/tcp/descriptors.hpp"

extern char** environ;

namespace lapwing::c {
namespace {

// Connections of one group, by what they are for.
enum : std::uint64_t { for_lanes = 1, for_messages = 2, for_lives = 3 };

constexpr std::string_view mark = "lapwing";
constexpr std::uint32_t version_of_hello = 5;

void put(char* target, std::size_t size, const std::string& text) {
    const std::size_t length = std::min(size - 1, text.size());
    std::memcpy(target, text.data(), length);
    target[length] = '\0';
}

}  // namespace

// What ranks tell each other by the exchange function.
struct Group::Hello {
    char mark[8];
    std::uint32_t version;
    std::uint32_t rank;
    std::uint32_t size;
    std::uint32_t cannot;  // take part: 1 + ErrorCode
    SettingHashes shared_settings;
    tcp::Key key;  // of rank 0: the group's
    tcp::Address address;
    shm::ShmAddress memory;
    std::uint64_t trigger_entries;  // for the triggered engine
    std::uint64_t trigger_counters;
    char why_not[256];  // it cannot take part
    // For the engine that needs them, or no deferred work or no card for the ones with that.
    char why_no_connections[256];
};

Group::Group(int rank, int size, lapwing_exchange* exchange, void* context, const char* const* options)
    : process_(::getpid()), rank_(rank), size_(size) {
    if (size < 1) refuse(fmt::format("a group has at least 1 rank, not {}", size));
    if (rank < 0 || rank >= size) refuse(fmt::format("rank {} is none of the {} ranks", rank, size));
    if (size > 1 && exchange == nullptr) refuse("the exchange function is null");
    if (size == 1) {
        options_ = read_group_settings(options, environ).plan;
        all_peers_ = std::move(process_links(1, true).front());
        engines_.emplace(rank_, options_).use(*all_peers_);
    } else {
        join(exchange, context, options);
    }
}

Group::~Group() = default;

void Group::join(lapwing_exchange* exchange, void* context, const char* const* options) {
    // Whatever is wrong here is told to all ranks: they would wait otherwise.
    Hello own{};
    GroupSettings settings;
    mark.copy(own.mark, sizeof own.mark);
    own.version = version_of_hello;
    own.rank = static_cast<std::uint32_t>(rank_);
    own.size = static_cast<std::uint32_t>(size_);
    try {
        settings = read_group_settings(options, environ);
        options_ = settings.plan;
        own.shared_settings = settings.shared;
        prepare(settings, own);
    } catch (const Error& error) {
        own.cannot = 1 + static_cast<std::uint32_t>(error.code());
        put(own.why_not, sizeof own.why_not, error.what());
    }
    std::vector<Hello> all(static_cast<std::size_t>(size_));
    const int failure = exchange(context, &own, all.data(), sizeof(Hello));
    if (failure != 0) throw ExchangeError(fmt::format("the exchange function has failed with {}", failure));
    agree(all, engine_with_connections(settings.plan.engine, false) != nullptr ||
                   names_engine_that_needs(EngineNeeds::deferred_work, settings.plan.engine) ||
                   names_engine_that_needs(EngineNeeds::card, settings.plan.engine));
    // The key was all that had to be kept from others.
    std::vector<tcp::Address> addresses;
    std::vector<std::uint64_t> hosts;
    for (const Hello& hello : all) {
        addresses.push_back(hello.address);
        hosts.push_back(hello.address.host);
    }
    placement_ = placement_on_hosts(hosts);
    options_.several_hosts = !tcp::one_host(addresses);
    endpoint_->admit(all.front().key, std::move(addresses), rank_);
    for (Hello& hello : all) ::explicit_bzero(&hello.key, sizeof hello.key);
    ::explicit_bzero(&own.key, sizeof own.key);
    connect(settings, all);
}

// What this rank can do, and its address.
void Group::prepare(const GroupSettings& settings, Hello& own) {
    const std::uint64_t peers = static_cast<std::uint64_t>(size_) - 1;
    const std::uint64_t least = peers + (rank_ == 0 ? peers : 1) + tcp::kept_descriptors;
    const std::uint64_t lanes = peers * static_cast<std::uint64_t>(settings.network.lanes);
    const std::uint64_t free = tcp::make_room_for_descriptors(least + lanes);
    if (free < least) {
        throw Error(
            ErrorCode::system,
            fmt::format("{} descriptors are free, and a group of {} ranks takes {}; raise `ulimit -n`", free,
                        size_, least));
    }
    std::string why_no_connections;
    const Engine* const engine = engine_with_connections(settings.plan.engine, false);
    const Verdict available = engine == nullptr ? Verdict::yes() : engine->available();
    if (!available) {
        why_no_connections = available.reason();
    } else if (free < least + lanes) {
        why_no_connections = fmt::format(
            "{} descriptors are free, and its connections take {}; raise `ulimit -n`, "
            "or lower LAPWING_TCP_LANES",
            free, least + lanes);
    }
    if (names_engine_that_needs(EngineNeeds::deferred_work, settings.plan.engine)) {
        DeferredWorkOptions deferred = settings.network.deferred_work;
        deferred.sharers = size_;  // on one host, perhaps
        try {
            deferred_work_ = open_deferred_work(deferred);
            own.trigger_entries = deferred_work_->entries();
            own.trigger_counters = deferred_work_->counters();
        } catch (const Error& error) {
            why_no_connections = error.what();
        }
    }
    if (names_engine_that_needs(EngineNeeds::card, settings.plan.engine)) {
        try {
            card_ = mlx5::open_card(settings.network.engine_options.card_variant);
        } catch (const Error& error) {
            why_no_connections = error.what();
        }
    }
    put(own.why_no_connections, sizeof own.why_no_connections, why_no_connections);
    endpoint_ =
        std::make_unique<tcp::Endpoint>(settings.network.tcp, [rank = rank_](const std::string& line) {
            log_line(fmt::format("lapwing: rank {}: {}", rank, line));
        });
    if (!settings.network.progress_processors.empty())
        endpoint_->event_loop().place(settings.network.progress_processors);
    own.address = endpoint_->address();
    if (settings.network.shared_memory) {
        node_ = std::make_unique<shm::ShmNode>(size_, settings.network.transfer);
        own.memory = node_->address();
    }
    if (rank_ == 0) own.key = tcp::random_key();
}

// All ranks read the same blocks, and so come to the same end. Throws Error.
void Group::agree(std::vector<Hello>& all, bool wants_more) {
    for (int rank = 0; rank < size_; ++rank) {
        Hello& hello = all[static_cast<std::size_t>(rank)];
        hello.why_not[sizeof hello.why_not - 1] =
            hello.why_no_connections[sizeof hello.why_no_connections - 1] = '\0';
        hello.address.name[sizeof hello.address.name - 1] = '\0';
        if (std::string_view(hello.mark, mark.size()) != mark ||
            hello.rank != static_cast<std::uint32_t>(rank)) {
            throw ExchangeError(
                fmt::format("the exchange function has not given the block of rank {} in its place", rank));
        }
        if (hello.version != version_of_hello || hello.size != static_cast<std::uint32_t>(size_)) {
            refuse(
                hello.version != version_of_hello
                    ? fmt::format("rank {} has another version of Lapwing", rank)
                    : fmt::format("the group has {} ranks here and {} at rank {}", size_, hello.size, rank));
        }
    }
    for (int rank = 0; rank < size_; ++rank) {
        const Hello& hello = all[static_cast<std::size_t>(rank)];
        if (hello.cannot == 0) continue;
        const std::string who = rank == rank_ ? "" : fmt::format("rank {}: ", rank);
        throw Error(static_cast<ErrorCode>(hello.cannot - 1), who + hello.why_not);
    }
    for (int rank = 1; rank < size_; ++rank) {
        const SettingHashes& first = all.front().shared_settings;
        const auto differs = std::mismatch(first.begin(), first.end(),
                                           all[static_cast<std::size_t>(rank)].shared_settings.begin())
                                 .first;
        if (differs == first.end()) continue;
        refuse(fmt::format(
            "{}, or its option, differs between rank {} and rank 0; it must be the same on all ranks",
            setting_rows()[static_cast<std::size_t>(differs - first.begin())].variable, rank));
    }
    if (!wants_more) return;
    trigger_entries_ = trigger_counters_ = UINT64_MAX;
    for (const Hello& hello : all) {
        trigger_entries_ = std::min(trigger_entries_, hello.trigger_entries);
        trigger_counters_ = std::min(trigger_counters_, hello.trigger_counters);
    }
    for (int rank = 0; rank < size_ && note_.empty(); ++rank) {
        const Hello& hello = all[static_cast<std::size_t>(rank)];
        if (hello.why_no_connections[0] != '\0')
            note_ = fmt::format("rank {} ({}): {}", rank, hello.address.name, hello.why_no_connections);
    }
}

void Group::connect(const GroupSettings& settings, const std::vector<Hello>& all) {
    std::vector<int> members(static_cast<std::size_t>(size_));
    std::iota(members.begin(), members.end(), 0);
    // All that the end of a rank must reach stands before the lifeline. Connections are made when needed.
    messages_ = endpoint_->group(for_messages, members, rank_, 1);
    lanes_ = endpoint_->group(for_lanes, members, rank_, settings.network.lanes);
    lives_ = endpoint_->group(for_lives, members, rank_, 1);
    const auto limit = settings.network.tcp.patience + settings.network.tcp.handshake;
    lifeline_ = std::make_unique<Lifeline>(*lives_, rank_, size_, limit,
                                           [this](const std::string& why) { note_broken(why); });
    const bool shares_memory = can_share_memory(all, limit);
    if (!shares_memory) {
        const std::lock_guard lock(broken_mutex_);
        node_.reset();
    }
    open_engines(settings, members, shares_memory);
}

// Whether the ranks of each host share memory: all of them, everywhere, or nobody.
bool Group::can_share_memory(const std::vector<Hello>& all, std::chrono::milliseconds limit) {
    std::set<std::uint64_t> hosts;
    std::vector<shm::ShmAddress> memories;
    for (const Hello& hello : all) {
        hosts.insert(hello.address.host);
        memories.push_back(hello.memory);
    }
    if (hosts.size() == all.size()) return false;
    if (node_ == nullptr) {
        inside_host_ = shm::in_words("LAPWING_SHARED_MEMORY=0", "");
        return false;
    }
    const std::string trouble = node_->join(memories, rank_);
    const auto signed_by_rank = [&](const std::string& why) {
        const std::string name = all[static_cast<std::size_t>(rank_)].address.name;
        return why.empty() ? "" : fmt::format("rank {} ({}): {}", rank_, name, why);
    };
    const std::vector<std::string> agreed = lifeline_->agree(
        {signed_by_rank(trouble), trouble.empty() ? signed_by_rank(node_->why_in_pieces()) : ""}, limit);
    inside_host_ = shm::in_words(agreed[0], agreed[1]);
    return agreed[0].empty();
}

void Group::open_engines(const GroupSettings& settings, const std::vector<int>& members, bool shares_memory) {
    engines_.emplace(rank_, options_);
    const bool all_share_memory = shares_memory && !options_.several_hosts;
    std::vector<bool> peers;
    if (!all_share_memory) {
        all_peers_ = std::make_unique<StreamLink>(*messages_, size_);
        engines_->use(*all_peers_);
        for (int rank = 0; shares_memory && rank < size_; ++rank) peers.push_back(node_->intra_node(rank));
    }
    if (shares_memory) {
        engines_->share_memory(node_->link(1, members), std::move(peers), nullptr);
        node_->admit_no_more();
    }
    if (names_engine_that_needs(EngineNeeds::deferred_work, options_.engine)) {
        if (!note_.empty()) return;
        EngineOptions deferred = settings.network.engine_options;
        deferred.trigger_entries = trigger_entries_;
        deferred.trigger_counters = trigger_counters_;
        engines_->use(*deferred_work_, deferred);
        return;
    }
    if (names_engine_that_needs(EngineNeeds::card, options_.engine)) {
        if (note_.empty()) engines_->use(*card_.device, *card_.variant);
        return;
    }
    if (engine_with_connections(options_.engine, all_share_memory) == nullptr)
        note_.clear();  // nothing that the group misses
    else if (note_.empty())
        engines_->connect(*lanes_, settings.network.engine_options);
}

// By any thread, also the event thread's, which must not wait for mutex_.
void Group::note_broken(const std::string& why) {
    {
        const std::lock_guard lock(broken_mutex_);
        if (broken_) return;
        why_broken_ = why;
        broken_ = true;
        if (node_ != nullptr) node_->give_up(why);
    }
    broken_changed_.notify_all();
    if (lanes_ != nullptr) lanes_->give_up(why);
    if (messages_ != nullptr) messages_->give_up(why);
}

void Group::break_up(const std::string& why) {
    // First the others are told, then the connections end: so they know why.
    if (lifeline_ != nullptr)
        lifeline_->give_up(why);
    else
        note_broken(why);
}

// For `limit` at most.
std::string Group::await_reason(std::chrono::milliseconds limit) {
    std::unique_lock lock(broken_mutex_);
    broken_changed_.wait_for(lock, limit, [this] { return broken_.load(); });
    return why_broken_;
}

bool Group::of_this_process() const {
    return process_ == ::getpid();
}

}  // namespace lapwing::c
