#include "links/ofi/fabric.hpp"

#include <fmt/format.h>
#include <rdma/fi_domain.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "links/event/thread.hpp"
#include "links/ofi/business_card.hpp"
#include "links/ofi/library.hpp"
#include "links/ofi/providers.hpp"
#include "links/ofi/transfers.hpp"
#include "links/rdma_devices.hpp"

namespace lapwing::ofi {
namespace {

// How long a sleeper trusts the network while something is on its way. Providers without a descriptor advance
// nothing by themselves. Some with a descriptor lose events: rendezvous over verbs; Slingshot, when another
// thread has just polled. A full provider does not announce that it has room again.
constexpr auto without_descriptor = std::chrono::microseconds(100);
constexpr auto with_backlog = std::chrono::milliseconds(1);
constexpr auto with_doubtful_descriptor = std::chrono::milliseconds(2);
constexpr auto with_descriptor = std::chrono::milliseconds(100);

// Groups of links are numbered by a rank of the job; this one is not.
constexpr std::uint64_t farewell_group = UINT32_MAX;

// No longer message is sent by libfabric's rxm before the receiver has asked for it; the limit is 16 KiB
// unless the user has set more.
constexpr std::size_t max_eager = 64 * 1024;

// A provider without a limit gets no longer piece than this.
constexpr std::size_t max_piece = std::size_t{1} << 30;

}  // namespace

OfiFabric::OfiFabric(std::unique_ptr<Endpoint> endpoint, const FabricOptions& options)
    : FabricBase(&options.internet),
      process_(::getpid()),
      endpoint_(std::move(endpoint)),
      max_bytes_(std::min(endpoint_->info().ep_attr->max_msg_size, max_piece)),
      inject_(endpoint_->info().tx_attr->inject_size),
      injects_silently_(endpoint_->traits().sends_in_order),
      overflow_(endpoint_->traits().excess_disconnects && endpoint_->info().rx_attr->iov_limit > 1 ? max_eager
                                                                                                   : 0),
      provider_(endpoint_->provider()),
      registration_(std::make_unique<Registration>(*endpoint_)) {
    if (!options.puts) return;
    const std::size_t bytes = Inboxes::bytes_of_memory(options.ranks);
    inboxes_memory_.resize((bytes + sizeof(InboxLine) - 1) / sizeof(InboxLine));
    // Registrations of messages have the keys from 1 on.
    inboxes_region_ = register_memory(*endpoint_, inboxes_memory_.front().bytes, bytes,
                                      FI_WRITE | FI_REMOTE_WRITE, [] { return std::uint64_t{0}; });
}

OfiFabric::~OfiFabric() {
    if (process_ == ::getpid()) {
        endpoint_->close();
    } else {
        // A child of fork shares the network's state with its parent.
        for (const auto& piece : pieces_.objects()) static_cast<void>(piece->span.region.release());
        static_cast<void>(inboxes_region_.release());
        static_cast<void>(registration_.release());
        static_cast<void>(endpoint_.release());
    }
}

std::string OfiFabric::description() const {
    return fmt::format("{}, {} on {}{}", library().name, provider_, endpoint_->device(),
                       way_of_short_messages());
}

std::vector<std::byte> OfiFabric::card() const {
    BusinessCard own = endpoint_->card();
    if (inboxes_region_ != nullptr) {
        if ((endpoint_->info().domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0)
            own.memory = reinterpret_cast<std::uintptr_t>(inboxes_memory_.data());
        own.memory_key = ::fi_mr_key(inboxes_region_.get());
    }
    return bytes_of(own);
}

void OfiFabric::reach(const std::vector<Peer>& peers, int self, const JobKey& key) {
    std::vector<BusinessCard> cards;
    std::vector<std::string> names;
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
        const std::optional<BusinessCard> card = card_of(peers[rank].address);
        if (!card) refuse_address(rank);
        cards.push_back(*card);
        names.push_back(describe(static_cast<int>(rank)));
    }
    const std::string apart = why_apart(cards, names);
    if (!apart.empty()) throw Error(ErrorCode::link, apart);
    std::vector<std::byte> all;
    for (const BusinessCard& card : cards) all.insert(all.end(), card.address.begin(), card.address.end());
    const std::vector<fi_addr_t> addresses = endpoint_->insert(all, cards.size());
    peers_.resize(cards.size());
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        peers_[rank].address = addresses[rank];
        peers_[rank].memory = cards[rank].memory;
        peers_[rank].memory_key = cards[rank].memory_key;
    }
    if (inboxes_region_ != nullptr) open_inboxes(inboxes_memory_.front().bytes, self, key);
    tags_ = Tags(cards.at(static_cast<std::size_t>(self)).tag_bits, static_cast<int>(cards.size()), key[0]);
    farewells_.internal = true;
    farewells_.number = farewell_group;
    add(farewells_);
}

bool OfiFabric::prepare_to_sleep() {
    const auto lock = hold();
    // The question may have taken in writes.
    return endpoint_->may_sleep() && !poll_inboxes();
}

std::chrono::nanoseconds OfiFabric::max_sleep() {
    const auto lock = hold();
    if (watch().idle() && sends_ == 0) return std::chrono::nanoseconds(-1);
    const bool wakes = endpoint_->traits().descriptor_wakes;
    if (endpoint_->descriptor() < 0 || (polls() && !wakes)) return without_descriptor;
    if (has_backlog()) return with_backlog;
    return wakes ? with_descriptor : with_doubtful_descriptor;
}

bool OfiFabric::flushed() {
    for (const int peer : std::exchange(silent_peers_, {})) {
        peer_of(peer).has_silent_sends = false;
        FabricMessage& message = start(farewells_, peer, false, nullptr, 0, 0);
        if (message.left == 0) finish(message);
    }
    return sends_ == 0 && !has_backlog();
}

}  // namespace lapwing::ofi

namespace lapwing {

std::unique_ptr<Fabric> ofi_fabric(const std::string& provider, const FabricOptions& options) {
    const KeptSignals kept;
    const BlockedSignals blocked;
    auto endpoint = ofi::open_first(
        ofi::candidates(provider, options.rdma_only, options.puts, options.internet), options.ranks);
    return std::make_unique<ofi::OfiFabric>(std::move(endpoint), options);
}

std::unique_ptr<Fabric> open_ofi(const FabricOptions& options) {
    if (options.rdma_only && infiniband_devices().empty() && slingshot_devices().empty())
        throw Error(ErrorCode::system, "no InfiniBand, RoCE, EFA, Omni-Path or Slingshot device");
    // libfabric's own variable. A single provider is used even if it is not worth using by default. A list,
    // and exclusions, are left to libfabric.
    const char* wanted = std::getenv("FI_PROVIDER");
    const std::string provider = wanted == nullptr ? "" : wanted;
    return ofi_fabric(provider.find_first_of(",^") == std::string::npos ? provider : "", options);
}

}  // namespace lapwing
