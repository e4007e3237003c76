#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>

#include "base/error.hpp"
#include "links/shm/memory.hpp"
#include "links/shm/node.hpp"
#include "links/shm/platform.hpp"
#include "links/shm/protocol.hpp"
#include "links/tcp/addresses.hpp"

namespace lapwing::shm {
namespace {

using OwnFifo = Fifo<Linux>;
using OwnDoorbell = Doorbell<Linux>;
using OwnProtocol = Protocol<Linux>;

// The memory: a page with the proof and how many have joined, the doorbells, the FIFOs by sender and
// receiver.
constexpr std::uint64_t first_page = 4096;

std::uint64_t doorbells_bytes(int ranks) {
    return (static_cast<std::uint64_t>(ranks) * sizeof(OwnDoorbell) + first_page - 1) / first_page *
           first_page;
}
std::uint64_t memory_bytes(int ranks) {
    const auto pairs = static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(ranks);
    return first_page + doorbells_bytes(ranks) + pairs * OwnFifo::bytes(Geometry::of(ranks));
}

std::uint64_t process_space() {
    struct stat space {};
    return ::stat("/proc/self/ns/pid", &space) == 0 ? static_cast<std::uint64_t>(space.st_ino) : 0;
}

// Whether the kernel copies from and to that process, which has `proof` at `address`. Empty, or why not.
std::string probe(pid_t process, std::uint64_t address, const Proof& proof) {
    const auto told = [](const char* call, int error) {
        return fmt::format("{}: {}{}", call, std::strerror(error),
                           error == EPERM ? " (a container or the system forbids it)" : "");
    };
    Proof found{};
    auto* const bytes = reinterpret_cast<std::byte*>(found.data());
    if (const int error = Linux::copy_from(process, address, bytes, found.size()); error != 0)
        return told("process_vm_readv", error);
    if (found != proof) return "process_vm_readv: it reads another process";
    if (const int error = Linux::try_copy_to(process); error != 0) return told("process_vm_writev", error);
    return "";
}

Proof proof_of(const ShmAddress& address) {
    Proof proof{};
    std::memcpy(proof.data(), address.proof, proof.size());
    return proof;
}

// One row for each class of sizes, of all pairs.
std::vector<TransferTimes> merged(const std::vector<std::vector<TransferTimes>>& pairs) {
    std::map<std::uint64_t, TransferTimes> by_size;
    for (const auto& pair : pairs) {
        for (const TransferTimes& times : pair) {
            TransferTimes& sum = by_size[times.max_bytes];
            sum.max_bytes = times.max_bytes;
            sum.messages += times.messages;
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
        sum.chosen = sum.pairs[0] >= sum.pairs[1] ? Way::pieces : Way::direct;
        all.push_back(sum);
    }
    return all;
}

class GroupLink : public Link {
  public:
    GroupLink(OwnProtocol& protocol, std::uint64_t group, std::vector<int> places)
        : protocol_(protocol), group_(group), places_(std::move(places)) {}

    const char* name() const override { return "shm"; }
    bool ready() override { return true; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        protocol_.send(place(peer), group_, channel, data, bytes, transfer);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        protocol_.recv(place(peer), group_, channel, data, bytes, transfer);
    }
    bool test(Transfer& transfer) override { return protocol_.test(transfer); }
    void progress() override { protocol_.progress(); }
    void flush() override { protocol_.flush(); }

  protected:
    OwnProtocol& protocol_;

  private:
    int place(int peer) const { return places_[static_cast<std::size_t>(peer)]; }

    const std::uint64_t group_;
    const std::vector<int> places_;  // of each rank of the group
};

// The same for several threads. A class of its own, so that the other costs no lock.
class SharedLink final : public GroupLink {
  public:
    using GroupLink::GroupLink;

    bool any_thread() const override { return true; }
    void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        const auto held = protocol_.hold();
        GroupLink::send(peer, data, bytes, channel, transfer);
    }
    void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
              Transfer& transfer) override {
        const auto held = protocol_.hold();
        GroupLink::recv(peer, data, bytes, channel, transfer);
    }
    bool test(Transfer& transfer) override {
        if (!transfer.active) return true;
        const auto held = protocol_.hold();
        return GroupLink::test(transfer);
    }
    void progress() override {
        const auto held = protocol_.hold();
        GroupLink::progress();
    }
    void flush() override {
        const auto held = protocol_.hold();
        GroupLink::flush();
    }
};

}  // namespace

struct ShmNode::State {
    TransferMethod method;
    ShmAddress address;
    std::string trouble;
    Memory memory;
    std::vector<int> places;  // of each rank of the job among those of this host; -1: it is elsewhere
    std::vector<OwnProtocol::Place> neighbors;
    std::string why_in_pieces;
    std::unique_ptr<OwnProtocol> protocol;
    std::vector<int> pipes;  // that wake the others
    bool shared = false;
};

ShmNode::ShmNode(int ranks, TransferMethod method) : state_(std::make_unique<State>()) {
    state_->method = method;
    ShmAddress& address = state_->address;
    address.host = tcp::host_number();
    address.process_space = process_space();
    address.process = ::getpid();
    ::randombytes_buf(address.proof, sizeof address.proof);
    address.probe = reinterpret_cast<std::uintptr_t>(address.proof);
    if (method != TransferMethod::processor) permit_direct_copies();
    try {
        // Which ranks it is for is not known yet; what is not used costs nothing.
        state_->memory = Memory::make(memory_bytes(ranks), proof_of(address));
        address.descriptor = state_->memory.descriptor();
    } catch (const Error& error) {
        state_->trouble = error.what();
    }
}

ShmNode::~ShmNode() {
    for (const int pipe : state_->pipes) ::close(pipe);
}

const ShmAddress& ShmNode::address() const {
    return state_->address;
}

std::string ShmNode::join(std::span<const ShmAddress> addresses, int self) {
    State& state = *state_;
    const ShmAddress& own = addresses[static_cast<std::size_t>(self)];
    std::vector<int> here;
    state.places.assign(addresses.size(), -1);
    for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
        if (addresses[rank].host != own.host) continue;
        state.places[rank] = static_cast<int>(here.size());
        here.push_back(static_cast<int>(rank));
    }
    const int count = static_cast<int>(here.size());
    const ShmAddress& maker = addresses[static_cast<std::size_t>(here.front())];
    std::byte* memory = nullptr;
    try {
        if (here.front() == self) {
            if (!state.trouble.empty()) return state.trouble;
        } else {
            // Its maker says why.
            if (maker.descriptor < 0) return "";
            // Its process number means another process here.
            if (maker.process_space != own.process_space) {
                return fmt::format("rank {} of this host is in another container (process namespace)",
                                   here.front());
            }
            state.memory = Memory::open(maker.process, maker.descriptor, proof_of(maker));
        }
        memory = state.memory.map(memory_bytes(count));
    } catch (const Error& error) {
        return error.what();
    }
    const auto doorbell = [&](int place) {
        return reinterpret_cast<OwnDoorbell*>(memory + first_page) + place;
    };
    Geometry geometry = Geometry::of(count);
    if (state.method == TransferMethod::kernel) geometry.max_in_pieces = 0;
    geometry.measures_ways = state.method == TransferMethod::automatic;
    const auto fifo = [&](int from, int to) {
        const auto number = static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(count) +
                            static_cast<std::uint64_t>(to);
        return OwnFifo::at(memory + first_page + doorbells_bytes(count) + number * OwnFifo::bytes(geometry),
                           geometry);
    };
    const int me = state.places[static_cast<std::size_t>(self)];
    for (int place = 0; place < count; ++place) {
        const int rank = here[static_cast<std::size_t>(place)];
        const ShmAddress& address = addresses[static_cast<std::size_t>(rank)];
        OwnProtocol::Place& neighbor = state.neighbors.emplace_back();
        neighbor.to = fifo(me, place);
        neighbor.from = fifo(place, me);
        neighbor.doorbell = doorbell(place);
        neighbor.process = address.process;
        neighbor.rank = rank;
        const std::string why_not = state.method == TransferMethod::processor
                                        ? "LAPWING_TRANSFER asks for it"
                                        : probe(address.process, address.probe, proof_of(address));
        neighbor.copies_directly = why_not.empty();
        if (state.why_in_pieces.empty()) state.why_in_pieces = why_not;
    }
    state.protocol = std::make_unique<OwnProtocol>(state.neighbors, *doorbell(me));
    return "";
}

void ShmNode::admit_no_more() {
    state_->memory.close();
}

bool ShmNode::intra_node(int rank) const {
    return state_->protocol != nullptr && state_->places[static_cast<std::size_t>(rank)] >= 0;
}

int ShmNode::ranks() const {
    return static_cast<int>(state_->neighbors.size());
}

const std::string& ShmNode::why_in_pieces() const {
    return state_->why_in_pieces;
}

std::vector<TransferTimes> ShmNode::transfer_times() const {
    if (state_->protocol == nullptr) return {};
    const auto held = state_->protocol->hold();
    return merged(state_->protocol->transfer_times());
}

std::string ShmNode::copies_refused() const {
    if (state_->protocol == nullptr) return "";
    const auto held = state_->protocol->hold();
    return state_->protocol->why_refused();
}

std::unique_ptr<Link> ShmNode::link(std::uint64_t group, std::vector<int> members) {
    for (int& member : members) member = state_->places[static_cast<std::size_t>(member)];
    if (state_->shared) return std::make_unique<SharedLink>(*state_->protocol, group, std::move(members));
    return std::make_unique<GroupLink>(*state_->protocol, group, std::move(members));
}

std::string in_words(const std::string& why_none, const std::string& why_in_pieces) {
    if (!why_none.empty()) return fmt::format("no shared memory: {}", why_none);
    if (!why_in_pieces.empty())
        return fmt::format("shared memory, through which long messages pass in pieces: {}", why_in_pieces);
    return "shared memory; long messages may be copied once, by the kernel";
}

std::string in_words(const TransferTimes& times) {
    const auto size = times.max_bytes >= 1U << 20 ? fmt::format("{} MiB", times.max_bytes >> 20)
                                                  : fmt::format("{} KiB", times.max_bytes >> 10);
    const auto microseconds = [&](Way way) {
        const double value = times.nanoseconds[static_cast<int>(way)] * 1e-3;
        return value > 0 ? fmt::format(" {:.{}f} us", value, value < 100 ? 1 : 0) : std::string();
    };
    const std::string pieces = fmt::format("pieces{}", microseconds(Way::pieces));
    const std::string kernel = fmt::format("kernel{}", microseconds(Way::direct));
    const bool first = times.chosen == Way::pieces;
    std::string text = fmt::format("{}: {}", size, first ? pieces : kernel);
    if (times.measured[0] > 0 && times.measured[1] > 0)
        text += fmt::format(", not {}", first ? kernel : pieces);
    if (times.pairs[0] > 0 && times.pairs[1] > 0)
        text += fmt::format(" (between {} of {} pairs)", times.pairs[static_cast<int>(times.chosen)],
                            times.pairs[0] + times.pairs[1]);
    return text;
}

namespace {

// So many messages of a size that both ways are measured.
constexpr std::uint64_t surveyed_bytes[] = {1U << 16, 1U << 18, 1U << 20, 1U << 23};
constexpr int surveyed_messages = 2 * TransferChoice::samples;

// What both processes of a survey do. False: the other one has ended.
bool exchange_long_messages(Link& link, int self, const std::function<bool()>& other_lives) {
    const std::vector<std::byte> sent(*std::rbegin(surveyed_bytes));
    std::vector<std::byte> received(sent.size());
    for (const std::uint64_t bytes : surveyed_bytes) {
        for (int i = 0; i < surveyed_messages; ++i) {
            Link::Transfer send;
            Link::Transfer receive;
            link.recv(1 - self, received.data(), bytes, 0, receive);
            link.send(1 - self, sent.data(), bytes, 0, send);
            link.flush();
            for (int tests = 1; !link.test(receive) || !link.test(send); ++tests) {
                if (tests % 1024 == 0 && !other_lives()) return false;
                ::sched_yield();
            }
        }
    }
    return true;
}

struct SurveyAnswer {
    ShmAddress address;
    bool may_measure;
    char words[512];
};

void answer_survey(TransferMethod method, ShmNode& own, pid_t parent, int answers) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent is no descendant of the child's, as little as one rank is another's.
    if (::getppid() != parent) return;
    ShmNode other(2, method);
    const ShmAddress addresses[] = {own.address(), other.address()};
    // As both would: who has made the memory says what is wrong with it.
    std::string trouble = own.join(addresses, 0);
    if (trouble.empty()) trouble = other.join(addresses, 1);
    SurveyAnswer answer{};
    answer.address = other.address();
    answer.may_measure =
        trouble.empty() && other.why_in_pieces().empty() && method == TransferMethod::automatic;
    const std::string words = in_words(trouble, other.why_in_pieces());
    words.copy(answer.words, sizeof answer.words - 1);
    if (::write(answers, &answer, sizeof answer) != sizeof answer || !answer.may_measure) return;
    exchange_long_messages(*other.link(1, {0, 1}), 1, [] { return true; });
}

}  // namespace

Survey survey(TransferMethod method) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return {fmt::format("not known here: pipe: {}", std::strerror(errno)), {}};
    ShmNode own(2, method);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        answer_survey(method, own, parent, ends[1]);
        ::_exit(0);
    }
    ::close(ends[1]);
    Survey found{"not known here: no child process", {}};
    SurveyAnswer answer{};
    // Less than a page: a pipe does not tear it.
    if (child > 0 && ::read(ends[0], &answer, sizeof answer) == sizeof answer) {
        found.shared_memory = answer.words;
        const ShmAddress addresses[] = {own.address(), answer.address};
        const auto child_lives = [&] {
            siginfo_t ended{};
            return ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                   ended.si_pid == 0;
        };
        if (answer.may_measure && own.join(addresses, 0).empty() &&
            exchange_long_messages(*own.link(1, {0, 1}), 0, child_lives))
            found.times = own.transfer_times();
    }
    ::close(ends[0]);
    if (child > 0) ::waitpid(child, nullptr, 0);
    return found;
}

bool ShmNode::sleep(std::chrono::nanoseconds limit) {
    return state_->protocol->sleep(static_cast<long>(limit.count()));
}

std::optional<std::uint32_t> ShmNode::prepare_to_sleep() {
    return state_->protocol->prepare_to_sleep();
}

bool ShmNode::sleep_on(std::uint32_t seen, std::chrono::nanoseconds limit) {
    return state_->protocol->sleep_on(seen, static_cast<long>(limit.count()));
}

void ShmNode::share() {
    state_->shared = true;
    state_->protocol->share();
}

void ShmNode::sleep_at(const WakePipe& pipe) {
    state_->protocol->sleep_at_pipe(pipe.writer());
}

std::string ShmNode::reach_sleepers() {
    try {
        state_->protocol->reach_pipes([&](pid_t process, int writer) {
            return state_->pipes.emplace_back(WakePipe::open_writer(process, writer));
        });
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

void ShmNode::move_all() {
    const auto held = state_->protocol->hold();
    state_->protocol->move_all();
}

bool ShmNode::has_news() {
    const auto held = state_->protocol->hold();
    return state_->protocol->has_news_for_progress_thread();
}

void ShmNode::forget_completed() {
    const auto held = state_->protocol->hold();
    state_->protocol->forget_completed();
}

void ShmNode::let_ring(bool on) {
    state_->protocol->let_ring(on);
}

std::uint32_t ShmNode::rings() const {
    return state_->protocol->rings();
}

void ShmNode::ring_here() {
    state_->protocol->ring_here();
}

void ShmNode::sleep_since(std::uint32_t rings, std::chrono::nanoseconds limit) {
    state_->protocol->sleep_since(rings, static_cast<long>(limit.count()));
}

void ShmNode::give_up(const std::string& why) {
    if (state_->protocol != nullptr) state_->protocol->give_up(why);
}

}  // namespace lapwing::shm
