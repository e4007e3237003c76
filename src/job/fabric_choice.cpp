#include "job/fabric_choice.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "links/fabrics.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/options.hpp"

namespace lapwing {
namespace {

// What a rank sends to the others: the name of its host, a zero, its address.
std::vector<std::byte> introduction(const Fabric& fabric) {
    const std::string host = tcp::host_name();
    const auto* const name = reinterpret_cast<const std::byte*>(host.c_str());
    std::vector<std::byte> bytes(name, name + host.size() + 1);
    const std::vector<std::byte> address = fabric.address();
    bytes.insert(bytes.end(), address.begin(), address.end());
    return bytes;
}

Fabric::Peer read_introduction(const std::vector<std::byte>& bytes) {
    const auto zero = std::ranges::find(bytes, std::byte{0});
    if (zero == bytes.end()) throw Error(ErrorCode::link, "a rank sent a truncated address");
    Fabric::Peer peer;
    peer.host = reinterpret_cast<const char*>(bytes.data());
    peer.address.assign(zero + 1, bytes.end());
    return peer;
}

}  // namespace

std::unique_ptr<Fabric> choose_fabric(Job& job, const std::string& network,
                                      std::vector<Unavailable>& refused) {
    const bool any = network == "auto";
    FabricOptions options;
    options.ranks = job.ranks();
    options.internet = tcp::read_options(job.settings());
    options.rdma_only = any;
    options.puts = job.settings().short_messages == "put";
    for (const FabricKind& kind : fabrics()) {
        if (any ? !kind.may_have_rdma : network != kind.name) continue;
        std::unique_ptr<Fabric> fabric;
        try {
            if (kind.name == std::string_view("tcp")) options.sockets = &job.sockets();
            std::vector<Fabric::Peer> peers;
            for (const auto& bytes : job.collect([&] {
                     fabric = kind.open(options);
                     return introduction(*fabric);
                 }))
                peers.push_back(read_introduction(bytes));
            // The connections of the job have their own.
            const JobKey key = options.sockets == nullptr ? job.shared_key() : JobKey{};
            job.together([&] { fabric->join(std::move(peers), job.rank(), key); });
            return fabric;
        } catch (const Error& error) {
            if (error.code() == ErrorCode::invalid_argument) throw;
            refused.push_back({kind.name, error.what()});
        }
    }
    return nullptr;
}

void leave_fabric(Job& job, Fabric& fabric, const std::function<void()>& meanwhile) {
    const auto end = std::chrono::steady_clock::now() + tcp::read_options(job.settings()).patience;
    while (!fabric.flush() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    job.leave_together([&] {
        meanwhile();
        if (!fabric.progress()) std::this_thread::yield();
    });
}

}  // namespace lapwing
