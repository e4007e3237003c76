#if __has_include(<rdma/fi_tagged.h>)

#include "links/ofi/fabric.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/short_message.hpp"
#include "links/event/signals.hpp"
#include "links/fabric_lock.hpp"
#include "links/ofi/business_card.hpp"
#include "links/ofi/endpoint.hpp"
#include "links/ofi/library.hpp"
#include "links/ofi/providers.hpp"
#include "links/ofi/questions.hpp"
#include "links/ofi/tags.hpp"
#include "links/ofi/transfers.hpp"
#include "links/tcp/presence.hpp"

namespace lapwing {
namespace {

// How long a sleeper trusts the network while something is on its way. Providers without a descriptor move
// nothing by themselves. Those that have one may forget an event: rendezvous over verbs, Slingshot, when
// another thread has just looked. Nobody announces that a full provider has room again.
constexpr auto without_descriptor = std::chrono::microseconds(100);
constexpr auto with_backlog = std::chrono::milliseconds(1);
constexpr auto with_doubtful_descriptor = std::chrono::milliseconds(2);
constexpr auto with_descriptor = std::chrono::milliseconds(100);

// Between two looks at peers that are waited for.
constexpr auto look_interval = std::chrono::milliseconds(200);

class OfiFabric final : public Fabric {
  public:
    OfiFabric(std::unique_ptr<ofi::Endpoint> endpoint, const FabricOptions& options)
        : patience_(options.patience),
          endpoint_(std::move(endpoint)),
          transfers_(std::make_unique<ofi::Transfers>(*endpoint_)),
          presence_(options.internet) {}
    ~OfiFabric() override {
        if (process_ == ::getpid()) {
            endpoint_->close();
        } else {
            // A child of fork shares the network's state with its parent.
            static_cast<void>(transfers_.release());
            static_cast<void>(endpoint_.release());
        }
    }
    OfiFabric(const OfiFabric&) = delete;
    OfiFabric& operator=(const OfiFabric&) = delete;

    const char* name() const override { return "ofi"; }
    std::string description() const override {
        return fmt::format("{}, {} on {}", ofi::library().name, endpoint_->provider(), endpoint_->device());
    }
    bool rdma() const override { return endpoint_->traits().rdma; }

    std::vector<std::byte> address() const override {
        ofi::BusinessCard card = endpoint_->card();
        card.presence = presence_.address();
        return ofi::bytes_of(card);
    }
    void join(std::vector<Peer> peers, int self, const JobKey& key) override;
    std::unique_ptr<Link> link(std::uint64_t group, std::vector<int> members) override;

    bool progress() override;
    bool has_news() override {
        const auto lock = hold();
        return transfers_->has_news();
    }
    void forget_completed() override {
        const auto lock = hold();
        transfers_->forget_completed();
    }
    bool prepare_to_sleep() override {
        const auto lock = hold();
        return endpoint_->may_sleep();
    }
    int descriptor() const override { return endpoint_->descriptor(); }
    std::chrono::nanoseconds longest_sleep() override {
        const auto lock = hold();
        if (transfers_->idle()) return std::chrono::nanoseconds(-1);
        if (endpoint_->descriptor() < 0) return without_descriptor;
        if (transfers_->has_backlog()) return with_backlog;
        return endpoint_->traits().descriptor_wakes ? with_descriptor : with_doubtful_descriptor;
    }

    bool flush() override {
        const auto lock = hold();
        step();
        transfers_->say_farewell();
        return transfers_->broken() || !(transfers_->has_sends() || transfers_->has_backlog());
    }
    void give_up(const std::string& why) override {
        const auto lock = hold();
        transfers_->fail_all(why);
    }

  private:
    friend class OfiLink;

    FabricLock::Held hold() { return lock_.hold(); }
    bool step();
    void look_for_lost_peers();

    const pid_t process_ = ::getpid();
    const std::chrono::seconds patience_;
    FabricLock lock_;
    std::unique_ptr<ofi::Endpoint> endpoint_;
    std::unique_ptr<ofi::Transfers> transfers_;
    std::optional<ofi::Questions> questions_;  // none: peers may be silent
    ofi::Tags tags_;
    tcp::Presence presence_;
    std::chrono::steady_clock::time_point next_look_{};
};

class OfiLink final : public Link {
  public:
    OfiLink(OfiFabric& fabric, std::uint64_t group, std::vector<int> members) : fabric_(fabric) {
        group_.members = std::move(members);
        const auto lock = fabric_.hold();
        group_.tag = fabric_.tags_.take(group);
        fabric_.transfers_->add(group_);
    }
    ~OfiLink() override {
        const auto lock = fabric_.hold();
        fabric_.transfers_->remove(group_);
        fabric_.tags_.give_back(group_.tag);
    }
    OfiLink(const OfiLink&) = delete;
    OfiLink& operator=(const OfiLink&) = delete;

    const char* name() const override { return "ofi"; }
    bool any_thread() const override { return true; }
    bool ready() override { return true; }

    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        start(peer, false, data, bytes, channel, transfer);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        start(peer, true, data, bytes, channel, transfer);
    }

    bool sends_slowly(int, std::uint64_t bytes) const override {
        return !fabric_.rdma() && bytes > max_short_bytes;
    }

    bool test(Transfer& transfer) override {
        if (!transfer.active) return true;
        auto& message = *reinterpret_cast<ofi::Message*>(transfer.handle);
        const auto lock = fabric_.hold();
        if (message.left > 0) fabric_.step();
        if (message.left > 0) return false;
        if (!message.failure.empty()) throw Error(message.code, message.failure);
        fabric_.transfers_->finish(message);
        transfer = {};
        return true;
    }

    void progress() override {
        const auto lock = fabric_.hold();
        fabric_.step();
        if (!group_.broken.empty()) throw Error(ErrorCode::link, group_.broken);
    }

  private:
    void start(int peer, bool receive, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
               Transfer& transfer) {
        const int place = group_.members.at(static_cast<std::size_t>(peer));
        const auto lock = fabric_.hold();
        if (!group_.broken.empty()) throw Error(ErrorCode::link, group_.broken);
        ofi::Message& message = fabric_.transfers_->start(group_, place, receive, data, bytes,
                                                          group_.tag | ofi::Tags::of_channel(channel));
        if (message.left == 0 && message.failure.empty()) {
            fabric_.transfers_->finish(message);
            transfer = {};
        } else {
            transfer = {reinterpret_cast<std::uintptr_t>(&message), true};
        }
    }

    OfiFabric& fabric_;
    ofi::Group group_;
};

void OfiFabric::join(std::vector<Peer> peers, int self, const JobKey& key) {
    std::vector<ofi::BusinessCard> cards;
    std::vector<std::string> names;
    std::vector<tcp::Address> presences;
    for (const Peer& peer : peers) {
        names.push_back(
            fmt::format("rank {}{}", names.size(), peer.host.empty() ? "" : " (" + peer.host + ")"));
        cards.push_back(ofi::card_of(peer.address));
        presences.push_back(cards.back().presence);
    }
    const std::string apart = ofi::why_apart(cards, names);
    if (!apart.empty()) throw Error(ErrorCode::link, apart);
    const auto lock = hold();
    tags_ =
        ofi::Tags(cards.at(static_cast<std::size_t>(self)).tag_bits, static_cast<int>(cards.size()), key[0]);
    // Of no rank: no group has it.
    transfers_->join(cards, std::move(names), tags_.take(UINT32_MAX));
    if (patience_.count() > 0) questions_.emplace(*transfers_, tags_.take(UINT32_MAX - 1), self, patience_);
    presence_.join(std::move(presences));
}

std::unique_ptr<Link> OfiFabric::link(std::uint64_t group, std::vector<int> members) {
    return std::make_unique<OfiLink>(*this, group, std::move(members));
}

bool OfiFabric::step() {
    const bool moved = transfers_->step();
    if (questions_) questions_->step();
    if (transfers_->has_unfinished()) look_for_lost_peers();
    return moved;
}

void OfiFabric::look_for_lost_peers() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return;
    next_look_ = now + look_interval;
    int lost = 0;
    const std::string why = presence_.look(transfers_->slow_peers(), lost);
    if (!why.empty()) transfers_->lose(lost, why);
}

bool OfiFabric::progress() {
    return lock_.drive([&] { return step(); });
}

}  // namespace

std::unique_ptr<Fabric> ofi_fabric(const std::string& provider, const FabricOptions& options) {
    const KeptSignals kept;
    const BlockedSignals blocked;
    auto endpoint =
        ofi::open_first(ofi::candidates(provider, options.rdma_only, options.internet), options.ranks);
    return std::make_unique<OfiFabric>(std::move(endpoint), options);
}

}  // namespace lapwing

#endif
