// The shared-memory protocol under the memory model of C++11, by Relacy: its own headers, on words that
// Relacy watches. First as it is: no order of steps and no stale value that the model allows may lose a
// message, change one, race, or let a rank sleep for ever. Then with each memory order in turn made weaker:
// that must be found, or be among the orders that are known to be stronger than needed.
//
//   memory_order_test [ROUNDS [NUMBER]]        so many random executions of each scenario; only the weaker
//   order of that number, in detail
#include "memory_order/watched.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <string_view>

#include "links/shm/protocol_steps.hpp"

namespace lapwing::shm {
namespace {

using test::Access;
using test::Cells;
using test::Relacy;
using test::Site;
using test::Sites;

using Bytes = std::vector<std::byte>;

void require(bool is_so, const char* what) {
    RL_ASSERT_IMPL(is_so, rl::test_result_user_assert_failed, what, RL_INFO);
}

// Rank 0 sends messages of these lengths to all others, which send one of the first length back.
struct Scenario {
    const char* name;
    int ranks;
    std::vector<std::size_t> lengths;
    Geometry geometry;
    bool direct = true;  // the system lets ranks copy
    bool sleeps = true;
    bool helped = false;  // rank 0 has a progress thread, which waits in its place
};
const Scenario* scenario = nullptr;

// A FIFO in memory of its own, with what Relacy wants constructed.
class OwnFifo {
  public:
    OwnFifo(const Geometry& geometry, Cells& cells)
        : memory_(new (std::align_val_t(128)) std::byte[Fifo<Relacy>::bytes(geometry)]()),
          fifo(Fifo<Relacy>::at(memory_.get(), geometry)) {
        std::construct_at(fifo.consumed);
        for (std::uint32_t i = 0; i < geometry.tickets; ++i) std::construct_at(fifo.tickets + i);
        for (std::uint64_t i = 0; i < geometry.slots; ++i) std::construct_at(fifo.slots + i);
        cells.watch(fifo.slots, geometry.slots * sizeof(Slot<Relacy>), sizeof(Slot<Relacy>));
        cells.watch(fifo.payload, geometry.payload, cache_line);
    }
    ~OwnFifo() {
        std::destroy_at(fifo.consumed);
        for (std::uint32_t i = 0; i < fifo.geometry.tickets; ++i) std::destroy_at(fifo.tickets + i);
        for (std::uint64_t i = 0; i < fifo.geometry.slots; ++i) std::destroy_at(fifo.slots + i);
    }
    OwnFifo(const OwnFifo&) = delete;
    OwnFifo& operator=(const OwnFifo&) = delete;

  private:
    struct Free {
        void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t(128)); }
    };
    std::unique_ptr<std::byte[], Free> memory_;

  public:
    const Fifo<Relacy> fifo;
};

// A message in its sender's or receiver's memory.
struct Buffer {
    Buffer(std::size_t length, Cells& cells) : bytes(length) {
        cells.watch(bytes.data(), std::max<std::size_t>(length, 1), 8);
    }
    static std::byte byte(std::size_t at, int number) {
        return static_cast<std::byte>(at * 3 + static_cast<std::size_t>(number) * 31 + 1);
    }
    void fill(int number) {
        Relacy::writes(bytes.data(), bytes.size());
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte(i, number);
    }
    void expect(int number) const {
        Relacy::reads(bytes.data(), bytes.size());
        bool right = true;
        for (std::size_t i = 0; i < bytes.size(); ++i) right = right && bytes[i] == byte(i, number);
        require(right, "a message is wrong");
    }
    Bytes bytes;
};

struct World {
    World() : doorbells(static_cast<std::size_t>(scenario->ranks)) {
        Relacy::cells = &cells;
        const auto count = static_cast<std::size_t>(scenario->ranks);
        for (std::size_t pair = 0; pair < count * count; ++pair)
            fifos.push_back(std::make_unique<OwnFifo>(scenario->geometry, cells));
        for (std::size_t rank = 0; rank < count; ++rank) {
            std::vector<Protocol<Relacy>::Neighbor> places;
            for (std::size_t other = 0; other < count; ++other) {
                places.push_back({fifos[rank * count + other]->fifo, fifos[other * count + rank]->fifo,
                                  &doorbells[other], 0, static_cast<int>(other), scenario->direct});
            }
            protocol.push_back(std::make_unique<Protocol<Relacy>>(places, doorbells[rank]));
        }
        for (std::size_t rank = 0; rank < count; ++rank) {
            auto& own = buffers.emplace_back();
            for (const std::size_t length : scenario->lengths)
                own.push_back(std::make_unique<Buffer>(length, cells));
            answers.push_back(std::make_unique<Buffer>(scenario->lengths.front(), cells));
            received.push_back(std::make_unique<Buffer>(scenario->lengths.front(), cells));
        }
        if (scenario->helped) protocol[0]->share();
    }
    Cells cells;
    std::vector<std::unique_ptr<OwnFifo>> fifos;
    std::vector<Doorbell<Relacy>> doorbells;
    std::vector<std::unique_ptr<Protocol<Relacy>>> protocol;
    std::vector<std::vector<std::unique_ptr<Buffer>>> buffers;  // by rank; those of rank 0 are sent
    std::vector<std::unique_ptr<Buffer>> answers;
    std::vector<std::unique_ptr<Buffer>> received;  // by rank 0, from each
    // Of the program and its progress thread.
    Link::Transfer send, receive;
    Relacy::Word<std::uint32_t> added, work, complete;
};

void wait(Protocol<Relacy>& protocol, Link::Transfer& transfer) {
    while (!protocol.test(transfer)) {
        if (scenario->sleeps)
            protocol.sleep(-1);
        else
            rl::ctx().yield(1, RL_INFO);
    }
}

void first_rank(World& world) {
    Protocol<Relacy>& protocol = *world.protocol[0];
    std::vector<Link::Transfer> transfers;
    transfers.reserve(scenario->lengths.size() * static_cast<std::size_t>(scenario->ranks));
    for (std::size_t i = 0; i < scenario->lengths.size(); ++i) world.buffers[0][i]->fill(static_cast<int>(i));
    for (int other = 1; other < scenario->ranks; ++other) {
        for (const auto& buffer : world.buffers[0])
            protocol.send(other, 1, 0, buffer->bytes.data(), buffer->bytes.size(), transfers.emplace_back());
    }
    protocol.flush();
    // Sent, so they are the sender's again.
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        wait(protocol, transfers[i]);
        if (i + scenario->lengths.size() >= transfers.size())
            world.buffers[0][i % scenario->lengths.size()]->fill(-1);
    }
    for (int other = 1; other < scenario->ranks; ++other) {
        Buffer& answer = *world.received[static_cast<std::size_t>(other)];
        Link::Transfer receive;
        protocol.recv(other, 1, 0, answer.bytes.data(), answer.bytes.size(), receive);
        wait(protocol, receive);
        answer.expect(other);
    }
}

void other_rank(World& world, int rank) {
    const auto own = static_cast<std::size_t>(rank);
    Protocol<Relacy>& protocol = *world.protocol[own];
    std::vector<Link::Transfer> transfers(scenario->lengths.size());
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        Buffer& buffer = *world.buffers[own][i];
        protocol.recv(0, 1, 0, buffer.bytes.data(), buffer.bytes.size(), transfers[i]);
    }
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        wait(protocol, transfers[i]);
        world.buffers[own][i]->expect(static_cast<int>(i));
    }
    Buffer& answer = *world.answers[own];
    answer.fill(rank);
    Link::Transfer send;
    protocol.send(0, 1, 0, answer.bytes.data(), answer.bytes.size(), send);
    protocol.flush();
    wait(protocol, send);
    answer.fill(-1);
}

// The program starts a message each way and computes; its progress thread sees to them. As in
// engines/progress_thread.cpp.
bool go_on(World& world) {
    return world.protocol[0]->test(world.receive) && world.protocol[0]->test(world.send);
}
void program(World& world) {
    Protocol<Relacy>& protocol = *world.protocol[0];
    Buffer& sent = *world.buffers[0].front();
    Buffer& received = *world.received[1];
    sent.fill(0);
    world.work.store(1);
    world.added.store(1);
    bool complete = false;
    {
        const auto held = protocol.hold();
        protocol.recv(1, 1, 0, received.bytes.data(), received.bytes.size(), world.receive);
        protocol.send(1, 1, 0, sent.bytes.data(), sent.bytes.size(), world.send);
        protocol.flush();
        complete = go_on(world);
    }
    bool news = complete;
    if (complete) {
        world.complete.store(1);
    } else {
        world.work.store(0);
        protocol.let_ring(true);
        const auto held = protocol.hold();
        news = protocol.has_events_for_progress_thread();
    }
    if (news) protocol.ring_here();
    while (world.complete.load() == 0) rl::ctx().yield(1, RL_INFO);
    received.expect(1);
    sent.fill(-1);
}
void progress_thread(World& world) {
    Protocol<Relacy>& protocol = *world.protocol[0];
    for (;;) {
        const std::uint32_t rings = protocol.rings();
        if (world.complete.load() != 0) break;
        {
            const auto held = protocol.hold();
            protocol.move_all();
        }
        bool again = false;
        if (world.added.load() != 0) {
            again = world.work.exchange(1) != 0;
            if (!again) {
                const auto held = protocol.hold();
                if (go_on(world)) break;
                world.work.store(0);
            }
        }
        {
            const auto held = protocol.hold();
            again = protocol.has_events_for_progress_thread() || again;
        }
        if (again)
            rl::ctx().yield(1, RL_INFO);
        else
            protocol.sleep_since(rings, -1);
    }
    world.complete.store(1);
}
void helped_peer(World& world) {
    Protocol<Relacy>& protocol = *world.protocol[1];
    Buffer& sent = *world.answers[1];
    Buffer& received = *world.buffers[1].front();
    sent.fill(1);
    Link::Transfer send, receive;
    protocol.send(0, 1, 0, sent.bytes.data(), sent.bytes.size(), send);
    protocol.flush();
    protocol.recv(0, 1, 0, received.bytes.data(), received.bytes.size(), receive);
    wait(protocol, receive);
    wait(protocol, send);
    received.expect(0);
}

// One execution, as Relacy wants it.
template <unsigned threads>
struct Execution : rl::test_suite<Execution<threads>, threads> {
    void before() { world = std::make_unique<World>(); }
    void thread(unsigned number) {
        const char* wrong = nullptr;
        try {
            if (scenario->helped)
                std::array{program, progress_thread, helped_peer}[number](*world);
            else if (number == 0)
                first_rank(*world);
            else
                other_rank(*world, static_cast<int>(number));
        } catch (const Error&) {
            wrong = "the protocol gives up";
        }
        require(wrong == nullptr, wrong);
    }
    void after() { world.reset(); }
    std::unique_ptr<World> world;
};

constexpr Geometry tiny{.slots = 2, .payload = 256, .tickets = 1, .chunk = 80, .max_in_pieces = 0};
// The payload is full before the slots are.
constexpr Geometry many{.slots = 8, .payload = 256, .tickets = 1, .chunk = 80, .max_in_pieces = 0};
// Receivers copy themselves whenever there is no piece.
constexpr Geometry mixed{.slots = 2, .payload = 256, .tickets = 1, .chunk = 80, .patience = 0};

const std::vector<Scenario> scenarios = {
    {"short messages", 2, {8, 0, 60, 64, 8}, tiny, true, false},
    {"short messages, asleep", 2, {8, 0, 60, 64, 8}, tiny},
    {"a full payload", 2, {64, 64, 64, 64, 64, 64, 64}, many, true, false},
    {"a full payload, asleep", 2, {64, 64, 64, 64, 64, 64, 64}, many},
    {"long messages copied by both", 2, {8, 200, 100}, tiny, true, false},
    {"long messages copied by both, asleep", 2, {8, 200, 100}, tiny},
    {"long messages in pieces", 2, {8, 200, 100}, tiny, false, false},
    {"long messages in pieces, asleep", 2, {8, 200, 100}, tiny, false},
    {"pieces, or copied by the receiver", 2, {8, 200, 100}, mixed, true, false},
    {"pieces, or copied by the receiver, asleep", 2, {8, 200, 100}, mixed},
    {"pieces, or copied by the sender", 2, {320, 8}, mixed, true, false},
    {"three ranks", 3, {8, 120}, tiny},
    {"a progress thread, short", 2, {8}, tiny, true, true, true},
    {"a progress thread, long", 2, {200}, tiny, true, true, true},
};

struct Found {
    rl::test_result_e result = rl::test_result_success;
    std::string scenario;
    std::uint64_t executions = 0;
};

template <unsigned threads>
rl::test_result_e explore(rl::test_params& parameters, bool in_detail) {
    if (in_detail) {
        rl::simulate<Execution<threads>>(parameters);
        return parameters.test_result;
    }
    rl::ostringstream state;
    return rl::run_test<Execution<threads>, rl::random_scheduler<threads>>(parameters, state, false);
}

// The first failure in random executions of all scenarios.
Found explore_all(unsigned rounds, bool in_detail) {
    static std::ostream nowhere(nullptr);
    Found found;
    for (const Scenario& one : scenarios) {
        scenario = &one;
        rl::test_params parameters;
        parameters.iteration_count = rounds;
        parameters.execution_depth_limit = 20000;
        parameters.progress_stream = &nowhere;
        parameters.output_stream = in_detail ? &std::cout : &nowhere;
        found.result = one.ranks == 2 && !one.helped ? explore<2>(parameters, in_detail)
                                                     : explore<3>(parameters, in_detail);
        found.executions += parameters.stop_iteration;
        if (found.result == rl::test_result_success) continue;
        found.scenario = one.name;
        break;
    }
    return found;
}

const char* name_of(std::memory_order order) {
    return rl::format(test::relacy_order(order));
}

std::vector<std::memory_order> weaker_than(const Site& site) {
    switch (site.order) {
        case std::memory_order_acquire:
        case std::memory_order_release:
            return {std::memory_order_relaxed};
        case std::memory_order_acq_rel:
            return {std::memory_order_acquire, std::memory_order_release};
        case std::memory_order_seq_cst:
            return {std::memory_order_acq_rel};
        default:
            return {};
    }
}

std::string text_of(const Site& site) {
    std::ifstream file(site.file);
    std::string text;
    for (unsigned line = 0; line < site.line && std::getline(file, text); ++line) {
    }
    text.erase(0, text.find_first_not_of(' '));
    return text;
}

// Orders that are stronger than what this program can show to be needed: in this file, in a line that has
// this text.
struct Known {
    std::string_view file, text;
    const char* why;
};
constexpr Known known[] = {
    {"doorbell.hpp", "doorbell.rings.load(",
     "a ring says nothing but that it was; news are looked for behind the fence"},
    {"doorbell.hpp", "doorbell.rings.fetch_add(", "the same"},
    {"protocol.hpp", "doorbell_.rings.load(", "the same"},
    {"doorbell.hpp", "doorbell.asleep.exchange(",
     "the fence behind it is enough; the thread sanitizer, which knows no fences, needs it"},
    {"protocol_steps.hpp", "doorbell_.asleep.exchange(", "the same"},
    {"protocol_steps.hpp", "message.moved + ticket.copied.load(",
     "the sender is told of the end, and that has a fence before the program learns of it"},
    {"protocol_steps.hpp", "state = ticket.state.load(",
     "in has_events(), which only says whether to look; who looks loads again"},
    {"protocol_steps.hpp", "message->moved + ticket.copied.load(", "the same"},
};

const Known* find_known(std::string_view file, std::string_view text) {
    const auto* const found = std::find_if(std::begin(known), std::end(known), [&](const Known& one) {
        return one.file == file && text.find(one.text) != std::string_view::npos;
    });
    return found == std::end(known) ? nullptr : found;
}

// Lines with an order that no scenario has come to.
void print_unmet(const std::set<std::string>& files) {
    for (const std::string& path : files) {
        std::ifstream file(path);
        std::string text;
        for (unsigned line = 1; std::getline(file, text); ++line) {
            if (text.find("memory_order_") == std::string::npos ||
                text.find("memory_order_relaxed") != std::string::npos)
                continue;
            const bool met = std::any_of(
                Sites::met.begin(), Sites::met.begin() + static_cast<std::ptrdiff_t>(Sites::count),
                [&](const Site& site) { return site.line == line && path == site.file; });
            if (!met)
                std::cout << fmt::format("    not run here: {}:{} {}\n", path.substr(path.rfind('/') + 1),
                                         line, text.substr(text.find_first_not_of(' ')));
        }
    }
}

// Random executions in which a weaker order is looked for.
constexpr unsigned rounds_of_one = 400;

int check(unsigned rounds, std::size_t only) {
    const Found as_it_is = explore_all(only == Sites::none ? rounds : rounds_of_one, false);
    if (as_it_is.result != rl::test_result_success) {
        std::cout << fmt::format("WRONG: {}, in the scenario \"{}\"\n", rl::test_result_str(as_it_is.result),
                                 as_it_is.scenario);
        explore_all(rounds, true);
        return 1;
    }
    std::cout << fmt::format("As it is: right in {} executions of {} scenarios\n", as_it_is.executions,
                             scenarios.size());
    std::set<std::string> files;
    std::size_t number = 0, found_ones = 0, known_ones = 0, wrong = 0;
    for (std::size_t site = 0, sites = Sites::count; site < sites; ++site) {
        const Site& at = Sites::met[site];
        if (std::string_view(at.file).find("links/shm/") == std::string_view::npos) continue;
        files.insert(at.file);
        for (const std::memory_order order : weaker_than(at)) {
            ++number;
            if (only != Sites::none && only != number) continue;
            Sites::planted = site;
            Sites::weaker = order;
            const Found found =
                explore_all(only == Sites::none ? rounds_of_one : rounds, only != Sites::none);
            Sites::planted = Sites::none;
            const std::string file = std::string(at.file).substr(std::string_view(at.file).rfind('/') + 1);
            const std::string text = text_of(at);
            const Known* const excuse = find_known(file, text);
            std::string verdict;
            if (found.result != rl::test_result_success) {
                ++found_ones;
                verdict = fmt::format("found, {}: {}", found.scenario, rl::test_result_str(found.result));
                if (excuse != nullptr) {
                    ++wrong;
                    verdict += "; WRONG, it is in the list of those that are not";
                }
            } else if (excuse != nullptr) {
                ++known_ones;
                verdict = fmt::format("stronger than needed: {}", excuse->why);
            } else {
                ++wrong;
                verdict = "WRONG, not found";
            }
            std::cout << fmt::format("{:2} {}:{} {}\n    {} -> {}: {}\n", number, file, at.line, text,
                                     name_of(at.order), name_of(order), verdict)
                      << std::flush;
        }
    }
    if (only == Sites::none) print_unmet(files);
    std::cout << fmt::format("{} weaker orders: {} found, {} known to be stronger than needed, {} wrong\n",
                             number, found_ones, known_ones, wrong);
    return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lapwing::shm

int main(int argc, char** argv) {
    const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 3000;
    const std::size_t only =
        argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : lapwing::test::Sites::none;
    return lapwing::shm::check(rounds, only);
}
