#include "links/ucx/fabric.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "links/event/thread.hpp"
#include "links/rdma_devices.hpp"

namespace lapwing::ucx {
namespace {

using namespace std::chrono_literals;

// Transports other than TCP are known to lose a wake-up now and then: a sleep ends after this time.
constexpr std::chrono::nanoseconds longest_trusted_sleep = 10ms;
// Without a descriptor.
constexpr std::chrono::nanoseconds longest_blind_sleep = 1ms;

bool is_rdma(std::string_view transport) {
    for (const char* const family : {"rc", "dc", "ud", "srd", "ugni"})
        if (transport.starts_with(family)) return true;
    return false;
}

}  // namespace

UcxFabric::UcxFabric(const FabricOptions& options)
    : FabricBase(&options.internet), ucp_(library()), process_(::getpid()) {
    const BlockedSignals blocked;
    const auto check = [&](const char* call, ucs_status_t status) {
        if (status == UCS_OK) return;
        const std::string why = fmt::format("{}: {}", call, ucp_.ucs_status_string(status));
        if (worker_ != nullptr) ucp_.ucp_worker_destroy(worker_);
        if (memory_ != nullptr) ucp_.ucp_mem_unmap(context_, memory_);
        if (context_ != nullptr) ucp_.ucp_cleanup(context_);
        throw Error(ErrorCode::system, why);
    };
    ucp_config_t* config = nullptr;
    // Lapwing follows UCX's own variables for transports and devices.
    check("ucp_config_read", ucp_.ucp_config_read(nullptr, nullptr, &config));
    // UCX must not judge peers that are only silent, and its timer would wake the process for ever. Older
    // versions do not have these.
    for (const char* const name : {"KEEPALIVE_INTERVAL", "KEEPIDLE"})
        static_cast<void>(ucp_.ucp_config_modify(config, name, "inf"));
    // Over sockets this scheme sends least in the call that starts a message: it leaves sending to progress.
    if (infiniband_devices().empty() && std::getenv("UCX_RNDV_SCHEME") == nullptr)
        static_cast<void>(ucp_.ucp_config_modify(config, "RNDV_SCHEME", "am"));
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    // This restricts UCX to transports that can wake a thread.
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP | (options.puts ? UCP_FEATURE_RMA : 0);
    params.estimated_num_eps = static_cast<std::size_t>(options.ranks);
    const ucs_status_t status = ucp_.ucp_init_version(1, 10, &params, config, &context_);
    ucp_.ucp_config_release(config);
    check("ucp_init", status);
    transports_ = read_transports();
    if (options.puts) check("ucp_mem_map", map_memory(options.ranks));
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    check("ucp_worker_create", ucp_.ucp_worker_create(context_, &worker, &worker_));
    if (ucp_.ucp_worker_get_efd(worker_, &descriptor_) != UCS_OK) descriptor_ = -1;
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    handler.id = message_id;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.arg = this;
    handler.cb = [](void* fabric, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                    const ucp_am_recv_param_t* param) {
        Header known{};
        // Not a message of Lapwing.
        if (header_bytes != sizeof known) return UCS_OK;
        std::memcpy(&known, header, sizeof known);
        return static_cast<UcxFabric*>(fabric)->arrived(known, data, bytes, param->recv_attr);
    };
    check("ucp_worker_set_am_recv_handler", ucp_.ucp_worker_set_am_recv_handler(worker_, &handler));
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    check("ucp_worker_get_address", ucp_.ucp_worker_get_address(worker_, &address, &bytes));
    const auto* const begin = reinterpret_cast<const std::byte*>(address);
    address_.assign(begin, begin + bytes);
    ucp_.ucp_worker_release_address(worker_, address);
}

// UCX allocates it: only then peers on this host can map it.
ucs_status_t UcxFabric::map_memory(int ranks) {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    params.length = Inboxes::bytes_of_memory(ranks);
    params.flags = UCP_MEM_MAP_ALLOCATE;
    ucs_status_t status = ucp_.ucp_mem_map(context_, &params, &memory_);
    if (status != UCS_OK) return status;
    ucp_mem_attr_t mapped{};
    mapped.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    status = ucp_.ucp_mem_query(memory_, &mapped);
    if (status != UCS_OK) return status;
    inboxes_memory_ = static_cast<std::byte*>(mapped.address);
    std::memset(inboxes_memory_, 0, params.length);
    void* key = nullptr;
    std::size_t bytes = 0;
    status = ucp_.ucp_rkey_pack(context_, memory_, &key, &bytes);
    if (status != UCS_OK) return status;
    packed_key_.assign(static_cast<std::byte*>(key), static_cast<std::byte*>(key) + bytes);
    ucp_.ucp_rkey_buffer_release(key);
    return UCS_OK;
}

std::vector<std::byte> UcxFabric::card() const {
    const Card head{reinterpret_cast<std::uintptr_t>(inboxes_memory_), packed_key_.size()};
    std::vector<std::byte> all(sizeof head + packed_key_.size() + address_.size());
    std::memcpy(all.data(), &head, sizeof head);
    const auto key = all.begin() + sizeof head;
    std::ranges::copy(address_, std::copy(packed_key_.begin(), packed_key_.end(), key));
    return all;
}

UcxFabric::~UcxFabric() {
    // A child of fork shares sockets and memory with its parent.
    if (process_ != ::getpid()) return;
    closing_ = true;
    for (RankState& rank : ranks_) {
        for (Arrival& arrival : rank.early) drop(arrival);
        for (auto& [number, arrival] : rank.ahead) drop(arrival);
        if (rank.endpoint == nullptr) continue;
        if (rank.key != nullptr) ucp_.ucp_rkey_destroy(rank.key);
        // No rank waits for what is still on its way: the ranks have agreed on that, or the job has failed.
        ucp_request_param_t param{};
        param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = UCP_EP_CLOSE_FLAG_FORCE;
        void* const closing = ucp_.ucp_ep_close_nbx(rank.endpoint, &param);
        if (!UCS_PTR_IS_PTR(closing)) continue;
        while (ucp_.ucp_request_check_status(closing) == UCS_INPROGRESS) ucp_.ucp_worker_progress(worker_);
        ucp_.ucp_request_free(closing);
    }
    ucp_.ucp_worker_destroy(worker_);
    if (memory_ != nullptr) ucp_.ucp_mem_unmap(context_, memory_);
    ucp_.ucp_cleanup(context_);
}

// UCX prints its transports and devices, but has no function for them: "resource 1 : md 1 dev 1 flags --
// tcp/eth0".
std::string UcxFabric::read_transports() {
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* const stream = ::open_memstream(&text, &bytes);
    if (stream == nullptr) return "";
    ucp_.ucp_context_print_info(context_, stream);
    std::fclose(stream);
    std::istringstream lines(std::string(text, bytes));
    std::free(text);
    std::map<std::string, std::string> devices_of;
    bool other_than_tcp = false;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t slash = line.rfind('/');
        if (line.find("resource") == std::string::npos || slash == std::string::npos) continue;
        const std::size_t begin = line.find_last_of(" \t", slash) + 1;
        const std::string transport = line.substr(begin, slash - begin);
        const std::string device = line.substr(slash + 1, line.find_last_not_of(" \t") - slash);
        // Transports inside a process or a host.
        if (device.starts_with("memory") || device == "lo") continue;
        if (is_rdma(transport)) rdma_ = true;
        if (transport != "tcp") other_than_tcp = true;
        std::string& devices = devices_of[transport];
        devices += (devices.empty() ? "" : ", ") + device;
    }
    wakes_reliably_ = !other_than_tcp;
    std::string all;
    for (const auto& [transport, devices] : devices_of)
        all += fmt::format("{}{} on {}", all.empty() ? "" : "; ", transport, devices);
    return all.empty() ? "intra-node only" : all;
}

std::string UcxFabric::description() const {
    return fmt::format("UCX {}, {}{}", ucp_.version, transports_, way_of_short_messages());
}

void UcxFabric::reach(const std::vector<Peer>& peers, int self, const JobKey& key) {
    ranks_ = std::vector<RankState>(peers.size());
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
        const std::vector<std::byte>& address = peers[rank].address;
        Card head;
        if (address.size() >= sizeof head) std::memcpy(&head, address.data(), sizeof head);
        if (address.size() < sizeof head || address.size() - sizeof head < head.key_bytes)
            refuse_address(rank);
        const auto packed_key = address.begin() + sizeof head;
        const auto address_of_ucx = packed_key + static_cast<std::ptrdiff_t>(head.key_bytes);
        ranks_[rank].fabric = this;
        ranks_[rank].rank = static_cast<int>(rank);
        ranks_[rank].memory = head.memory;
        ranks_[rank].packed_key.assign(packed_key, address_of_ucx);
        ranks_[rank].address.assign(address_of_ucx, address.end());
    }
    if (memory_ != nullptr) open_inboxes(inboxes_memory_, self, key);
    key_ = key[0];
    self_ = self;
}

// False: the peer is lost.
bool UcxFabric::connect(int peer) {
    RankState& rank = at(peer);
    if (is_lost(peer)) return false;
    if (rank.endpoint != nullptr) return true;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(rank.address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.arg = &rank;
    params.err_handler.cb = [](void* arg, ucp_ep_h, ucs_status_t status) {
        const RankState& lost = *static_cast<RankState*>(arg);
        lost.fabric->lose_by(lost.rank, status);
    };
    ucs_status_t status = ucp_.ucp_ep_create(worker_, &params, &rank.endpoint);
    if (status != UCS_OK) rank.endpoint = nullptr;
    if (status == UCS_OK && !rank.packed_key.empty())
        status = ucp_.ucp_ep_rkey_unpack(rank.endpoint, rank.packed_key.data(), &rank.key);
    if (status == UCS_OK) return true;
    lose_by(peer, status);
    return false;
}

void UcxFabric::lose_by(int peer, ucs_status_t status) {
    if (!closing_) lose_out_of_reach(peer, fmt::format("UCX reports: {}", ucp_.ucs_status_string(status)));
}

bool UcxFabric::prepare_to_sleep() {
    if (descriptor_ < 0) return true;
    const auto lock = hold();
    if (poll_inboxes()) return false;
    const ucs_status_t status = ucp_.ucp_worker_arm(worker_);
    // After any other error, to retry again and again would occupy a processor.
    if (status != UCS_OK && status != UCS_ERR_BUSY) wakes_reliably_ = false;
    return status != UCS_ERR_BUSY;
}

std::chrono::nanoseconds UcxFabric::max_sleep() {
    if (descriptor_ < 0) return longest_blind_sleep;
    const auto lock = hold();
    // Also while nothing is on its way: what a thread of the program starts meanwhile wakes no sleeper.
    if (!wakes_reliably_) return polls() ? longest_blind_sleep : longest_trusted_sleep;
    return watch().idle() ? std::chrono::nanoseconds(-1) : PeerWatch::interval;
}

bool UcxFabric::flushed() {
    if (flushed_) return true;
    if (flushing_ == nullptr) {
        ucp_request_param_t param{};
        void* const request = ucp_.ucp_worker_flush_nbx(worker_, &param);
        if (UCS_PTR_IS_PTR(request)) flushing_ = request;
        flushed_ = flushing_ == nullptr;
    } else if (ucp_.ucp_request_check_status(flushing_) != UCS_INPROGRESS) {
        ucp_.ucp_request_free(std::exchange(flushing_, nullptr));
        flushed_ = true;
    }
    return flushed_;
}

}  // namespace lapwing::ucx

namespace lapwing {

std::unique_ptr<Fabric> open_ucx(const FabricOptions& options) {
    if (options.rdma_only && infiniband_devices().empty())
        throw Error(ErrorCode::system, "no InfiniBand or RoCE device");
    auto fabric = std::make_unique<ucx::UcxFabric>(options);
    if (options.rdma_only && !fabric->rdma())
        throw Error(ErrorCode::system, "no transport with RDMA: " + fabric->description());
    return fabric;
}

}  // namespace lapwing
