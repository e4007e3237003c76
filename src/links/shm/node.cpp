#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "base/error.hpp"
#include "links/shm/node.hpp"
#include "links/shm/platform.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::shm {

template class Protocol<Linux>;

namespace {

using OwnFifo = Fifo<Linux>;
using OwnDoorbell = Doorbell<Linux>;
using OwnProtocol = Protocol<Linux>;

// The memory: a page with the proof, the doorbells, the FIFOs by sender and receiver.
constexpr std::uint64_t first_page = 4096;

std::uint64_t doorbells_bytes(int ranks) {
    return (static_cast<std::uint64_t>(ranks) * sizeof(OwnDoorbell) + first_page - 1) / first_page *
           first_page;
}
std::uint64_t memory_bytes(int ranks) {
    const auto pairs = static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(ranks);
    return first_page + doorbells_bytes(ranks) + pairs * OwnFifo::bytes(Geometry::of(ranks));
}

// Why the kernel does not copy from and to that process, which has `proof` at `address`; empty if it does.
std::string probe(pid_t process, std::uint64_t address, const Proof& proof) {
    const auto failed = [](const char* call, int error) {
        return fmt::format("{}: {}{}", call, std::strerror(error), error == EPERM ? why_refused() : "");
    };
    Proof found{};
    auto* const bytes = reinterpret_cast<std::byte*>(found.data());
    if (const int error = Linux::copy_from(process, address, bytes, found.size()); error != 0)
        return failed("process_vm_readv", error);
    if (found != proof) return "process_vm_readv: another process has this process ID";
    if (const int error = Linux::try_copy_to(process); error != 0) return failed("process_vm_writev", error);
    return "";
}

Proof proof_of(const ShmAddress& address) {
    Proof proof{};
    std::memcpy(proof.data(), address.proof, proof.size());
    return proof;
}

// Merges the rows of all pairs: one for each class of sizes.
std::vector<TransferTimes> merged(const std::vector<std::vector<TransferTimes>>& pairs) {
    std::map<std::uint64_t, TransferTimes> by_size;
    for (const auto& pair : pairs) {
        for (const TransferTimes& times : pair) {
            TransferTimes& sum = by_size[times.max_bytes];
            sum.max_bytes = times.max_bytes;
            sum.messages += times.messages;
            sum.chosen = times.chosen;
            for (const int way : {0, 1}) {
                sum.nanoseconds[way] += times.nanoseconds[way];
                sum.measured[way] += times.measured[way];
                sum.pairs[way] += times.pairs[way];
            }
        }
    }
    std::vector<TransferTimes> all;
    for (auto& [size, sum] : by_size) {
        for (const int way : {0, 1})
            if (sum.measured[way] > 0) sum.nanoseconds[way] /= sum.measured[way];
        if (sum.decided()) sum.chosen = sum.pairs[0] >= sum.pairs[1] ? Way::pieces : Way::direct;
        all.push_back(sum);
    }
    return all;
}

class GroupLink final : public Link {
  public:
    GroupLink(OwnProtocol& protocol, bool shared, std::uint64_t group, std::vector<int> local_ranks)
        : protocol_(protocol), shared_(shared), group_(group), local_ranks_(std::move(local_ranks)) {}

    bool any_thread() const override { return shared_; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        const auto held = protocol_.hold();
        protocol_.send(local_rank(peer), group_, channel, data, bytes, transfer);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        const auto held = protocol_.hold();
        protocol_.recv(local_rank(peer), group_, channel, data, bytes, transfer);
    }
    bool test(Transfer& transfer) override {
        if (!transfer.active) return true;
        const auto held = protocol_.hold();
        return protocol_.test(transfer);
    }
    void progress() override {
        const auto held = protocol_.hold();
        protocol_.progress();
    }
    void flush() override {
        const auto held = protocol_.hold();
        protocol_.flush();
    }

  private:
    int local_rank(int peer) const { return local_ranks_[static_cast<std::size_t>(peer)]; }

    OwnProtocol& protocol_;
    const bool shared_;  // by several threads
    const std::uint64_t group_;
    const std::vector<int> local_ranks_;  // of each rank of the group
};

}  // namespace

ShmNode::ShmNode(int ranks, TransferMethod method) : method_(method) {
    address_.host = tcp::host_number();
    address_.process_space = tcp::process_space();
    address_.process = ::getpid();
    ::randombytes_buf(address_.proof, sizeof address_.proof);
    address_.probe = reinterpret_cast<std::uintptr_t>(address_.proof);
    if (method != TransferMethod::processor) permit_direct_copies();
    try {
        // For all ranks of the job: how many are on this host is not known yet. Unused pages cost nothing.
        memory_ = Memory::make(memory_bytes(ranks), proof_of(address_));
        address_.descriptor = memory_.descriptor();
    } catch (const Error& error) {
        trouble_ = error.what();
    }
}

std::string ShmNode::join(std::span<const ShmAddress> addresses, int self) {
    const ShmAddress& own = addresses[static_cast<std::size_t>(self)];
    std::vector<int> here;
    local_ranks_.assign(addresses.size(), -1);
    for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
        if (addresses[rank].host != own.host) continue;
        local_ranks_[rank] = static_cast<int>(here.size());
        here.push_back(static_cast<int>(rank));
    }
    const int count = static_cast<int>(here.size());
    const ShmAddress& maker = addresses[static_cast<std::size_t>(here.front())];
    std::byte* memory = nullptr;
    try {
        if (here.front() == self) {
            if (!trouble_.empty()) return trouble_;
        } else {
            // The rank that failed to make the memory reports why.
            if (maker.descriptor < 0) return "";
            // The maker's process number belongs to another process here.
            if (maker.process_space != own.process_space) {
                return fmt::format("rank {} of this host is in another container (process namespace)",
                                   here.front());
            }
            memory_ = Memory::open(maker.process, maker.descriptor, proof_of(maker));
        }
        memory = memory_.map(memory_bytes(count));
    } catch (const Error& error) {
        return error.what();
    }
    const auto doorbell = [&](int local_rank) {
        return reinterpret_cast<OwnDoorbell*>(memory + first_page) + local_rank;
    };
    Geometry geometry = Geometry::of(count);
    if (method_ == TransferMethod::kernel) geometry.max_in_pieces = 0;
    geometry.measures_ways = method_ == TransferMethod::automatic;
    const auto fifo = [&](int from, int to) {
        const auto number = static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(count) +
                            static_cast<std::uint64_t>(to);
        return OwnFifo::at(memory + first_page + doorbells_bytes(count) + number * OwnFifo::bytes(geometry),
                           geometry);
    };
    const int me = local_ranks_[static_cast<std::size_t>(self)];
    std::vector<OwnProtocol::Neighbor> neighbors;
    for (int local_rank = 0; local_rank < count; ++local_rank) {
        const int rank = here[static_cast<std::size_t>(local_rank)];
        const ShmAddress& address = addresses[static_cast<std::size_t>(rank)];
        OwnProtocol::Neighbor& neighbor = neighbors.emplace_back();
        neighbor.to = fifo(me, local_rank);
        neighbor.from = fifo(local_rank, me);
        neighbor.doorbell = doorbell(local_rank);
        neighbor.process = address.process;
        neighbor.rank = rank;
        const std::string why_not = method_ == TransferMethod::processor
                                        ? "LAPWING_TRANSFER requests it"
                                        : probe(address.process, address.probe, proof_of(address));
        neighbor.copies_directly = why_not.empty();
        if (why_in_pieces_.empty()) why_in_pieces_ = why_not;
    }
    ranks_ = count;
    protocol_ = std::make_unique<OwnProtocol>(neighbors, *doorbell(me));
    return "";
}

std::vector<TransferTimes> ShmNode::transfer_times() const {
    if (protocol_ == nullptr) return {};
    const auto held = protocol_->hold();
    return merged(protocol_->transfer_times());
}

std::unique_ptr<Link> ShmNode::link(std::uint64_t group, std::vector<int> members) {
    for (int& member : members) member = local_ranks_[static_cast<std::size_t>(member)];
    return std::make_unique<GroupLink>(*protocol_, shared_, group, std::move(members));
}

std::string ShmNode::reach_sleepers() {
    try {
        protocol_->reach_pipes([&](pid_t process, int writer) {
            return pipes_.emplace_back(WakePipe::open_writer(process, writer)).get();
        });
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

void ShmNode::move_all() {
    const auto held = protocol_->hold();
    protocol_->move_all();
}

bool ShmNode::has_events() {
    const auto held = protocol_->hold();
    return protocol_->has_events_for_progress_thread();
}

void ShmNode::forget_completed() {
    const auto held = protocol_->hold();
    protocol_->forget_completed();
}

}  // namespace lapwing::shm
