#include "watch/job_watch.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "links/event/thread.hpp"
#include "links/tcp/addresses.hpp"
#include "watch/collection.hpp"
#include "watch/local_socket.hpp"
#include "watch/stall_report.hpp"

namespace lapwing::watch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_backlog = 16 << 20;               // bytes of messages to rank 0
constexpr std::size_t max_unread = std::size_t{256} << 20;  // of a collection, by `lapwing status`
constexpr std::size_t max_collections = 8;                  // at a time
// Ranks that a rank asks to report its stall, one after the other, until one of them answers.
constexpr int max_reporters = 8;

Member own_member() {
    Member member;
    member.process = this_process();
    member.host = tcp::host_number();
    tcp::host_name().copy(member.host_name, sizeof member.host_name - 1);
    ::randombytes_buf(&member.job, sizeof member.job);
    return member;
}

bool several_hosts(const std::vector<Member>& members) {
    return std::any_of(members.begin(), members.end(),
                       [&](const Member& one) { return one.host != members.front().host; });
}

std::vector<std::byte> with_sender(int rank, std::span<const std::byte> message) {
    const std::int64_t sender[] = {rank};
    const auto head = std::as_bytes(std::span(sender));
    std::vector<std::byte> bytes(head.size() + message.size());
    std::copy(message.begin(), message.end(), std::copy(head.begin(), head.end(), bytes.begin()));
    return bytes;
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

}  // namespace

// All functions run on the event thread, if not said otherwise.
struct JobWatch::State : std::enable_shared_from_this<JobWatch::State> {
    const pid_t process = ::getpid();
    const WatchOptions options;
    const Clock::time_point begin = Clock::now();
    std::string trouble;
    std::unique_ptr<EventLoop> own_loop;
    EventLoop* loop = nullptr;  // null: there is no watch
    tcp::Endpoint* endpoint = nullptr;
    std::optional<Ranks> ranks;
    tcp::Socket listener;
    bool over = false;

    std::set<std::shared_ptr<Channel>> channels;  // that other processes have opened
    std::set<std::shared_ptr<Collection>> collections;
    std::optional<StallClock> stall_clock;
    std::optional<StallReport> stall_report;
    Clock::time_point next_check{};

    Receive receive;
    std::shared_ptr<Channel> to_first;
    bool opening_first = false;
    std::vector<std::vector<std::byte>> waiting;       // for the connection to rank 0
    std::map<int, std::weak_ptr<Channel>> from_ranks;  // rank 0: by which it answers
    std::atomic<std::size_t> posted{0};  // bytes of messages that the event thread has yet to send
    std::atomic<std::size_t> unsent{0};  // that wait for the connection, or that rank 0 has yet to read

    explicit State(WatchOptions wanted) : options(std::move(wanted)) {}

    int self() const { return ranks->self(); }

    // Work for the event thread that does nothing once the watch has ended.
    template <typename Work>
    auto alive(Work work) {
        return [weak = weak_from_this(), work](auto&&... arguments) mutable {
            const auto state = weak.lock();
            if (state != nullptr && !state->over)
                work(*state, std::forward<decltype(arguments)>(arguments)...);
        };
    }

    // By the program's thread.
    void start(Job& job) {
        std::vector<Member> members = job.exchange_values(own_member());
        for (Member& member : members) member.host_name[sizeof member.host_name - 1] = '\0';
        if (several_hosts(members) || options.tcp_only) endpoint = job.sockets_if_available(trouble);
        if (endpoint == nullptr) endpoint = job.open_sockets();
        try {
            if (endpoint == nullptr) own_loop = std::make_unique<EventLoop>();
            EventLoop& found = own_loop != nullptr ? *own_loop : endpoint->event_loop();
            ranks.emplace(found, std::move(members), job.rank(), endpoint, trouble, options.tcp_only);
            listener = listen_locally(local_name(ranks->job_name(), self()));
            loop = &found;
        } catch (const Error& error) {
            trouble = error.what();
            return;
        }
        loop->watch(listener.get(), EPOLLIN, alive([](State& state, unsigned) { state.accept(); }));
        if (endpoint != nullptr) {
            endpoint->serve(Ranks::service, alive([](State& state, int, tcp::Socket socket) {
                                state.take_in(std::move(socket));
                            }));
        }
        if (options.stall.count() > 0) {
            stall_clock.emplace(options.stall);
            stall_report.emplace(options.stall, options.print);
            check_after(options.stall / 2);
        }
    }

    void close() {
        over = true;
        loop->forget(listener.get());
        listener.reset();
        if (endpoint != nullptr) endpoint->end_service(Ranks::service);
        ranks->close();
        for (const auto& channel : std::exchange(channels, {})) channel->close();
        if (to_first != nullptr) to_first->close();
        to_first.reset();
        collections.clear();
    }

    // Answers.

    void accept() {
        while (true) {
            tcp::Socket socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (!socket) {
                if (errno == EINTR || errno == ECONNABORTED) continue;
                if (errno != EAGAIN) pause();
                return;
            }
            const auto peer = peer_of(socket.get());
            const auto channel = take_in(std::move(socket));
            if (peer && may_ask(peer->user)) continue;
            // Its questions are not read.
            const std::string why = fmt::format("this job belongs to {}", user_name(::geteuid()));
            channel->refuse(FrameKind::refused, bytes_of(why));
        }
    }

    // Without a free descriptor the socket stays ready.
    void pause() {
        loop->forget(listener.get());
        loop->post_after(milliseconds(100), alive([](State& state) {
                             state.loop->watch(state.listener.get(), EPOLLIN,
                                               state.alive([](State& self, unsigned) { self.accept(); }));
                         }));
    }

    std::shared_ptr<Channel> take_in(tcp::Socket socket) {
        auto shared = std::make_shared<tcp::Socket>(std::move(socket));
        Channel::Work work;
        work.frame = alive([](State& state, Channel& channel, const Frame& frame) {
            try {
                state.answer(channel, frame);
            } catch (const Error& error) {
                channel.send(FrameKind::refused, bytes_of(error.what()));
            }
        });
        work.end = alive([](State& state, Channel& channel, const std::string&) {
            state.channels.erase(channel.shared_from_this());
        });
        const auto channel = Channel::open(
            *loop, shared->get(), [shared] { shared->reset(); }, max_question_bytes, std::move(work));
        channels.insert(channel);
        return channel;
    }

    void answer(Channel& channel, const Frame& frame) {
        switch (frame.kind) {
            case FrameKind::hello:
                return channel.send(FrameKind::hello, encode(description()));
            case FrameKind::ask_snapshot:
                return channel.send(FrameKind::ask_snapshot, own_reply().snapshot);
            case FrameKind::ask_states:
                return channel.send(FrameKind::ask_states, states(decode_numbers(frame.bytes)));
            case FrameKind::stall: {
                const auto numbers = decode_numbers(frame.bytes);
                channel.send(FrameKind::stall);
                if (numbers.size() == 2) report_stall(Clock::now() - std::chrono::nanoseconds(numbers[1]));
                return;
            }
            case FrameKind::collect:
                return collect_for(channel);
            case FrameKind::message:
            case FrameKind::announce:
                return take_message(channel, frame);
            default:
                return channel.send(FrameKind::refused,
                                    bytes_of(fmt::format("Lapwing {} does not know this question: do all "
                                                         "programs have the same version of Lapwing?",
                                                         options.version)));
        }
    }

    JobDescription description() {
        JobDescription found;
        found.job = ranks->job_name();
        found.version = options.version;
        found.program = options.snapshot().program;
        found.ranks = ranks->count();
        found.hosts = ranks->hosts();
        found.age = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count());
        found.trouble = trouble;
        return found;
    }

    RankReply own_reply() {
        RankReply reply{self(), encode(options.snapshot()), ""};
        if (reply.snapshot.size() > max_answer_bytes)
            throw Error(ErrorCode::link, fmt::format("its journal has {} bytes; at most {} can be sent",
                                                     reply.snapshot.size(), max_answer_bytes));
        return reply;
    }

    std::vector<std::byte> states(const std::vector<std::int64_t>& asked) {
        std::vector<std::byte> found;
        for (const std::int64_t rank : asked) {
            const bool valid =
                rank >= 0 && rank < ranks->count() && ranks->on_this_host(static_cast<int>(rank));
            found.push_back(static_cast<std::byte>(
                valid ? state_of(ranks->member(static_cast<int>(rank)).process) : ProcessState::unknown));
        }
        return found;
    }

    // All ranks.

    void collect(std::function<void(RankReply)> reply, std::function<void()> done) {
        const auto place = std::make_shared<std::weak_ptr<Collection>>();
        Collection::Work work;
        work.own = [this] {
            try {
                return own_reply();
            } catch (const Error& error) {
                return RankReply{self(), {}, fmt::format("{}: {}", ranks->describe(self()), error.what())};
            }
        };
        work.reply = std::move(reply);
        work.done = [this, place, done = std::move(done)] {
            // By later work: the collection is running.
            loop->post([collection = place->lock()] {});
            collections.erase(place->lock());
            done();
        };
        const auto collection = Collection::start(*ranks, *loop, options.answer_limit, std::move(work));
        *place = collection;
        collections.insert(collection);
    }

    void collect_for(Channel& channel) {
        if (collections.size() >= max_collections)
            throw Error(ErrorCode::link, "too many questions at a time; try again in a few seconds");
        const std::weak_ptr<Channel> asker = channel.weak_from_this();
        collect(
            [asker](const RankReply& reply) {
                const auto open = asker.lock();
                if (open == nullptr) return;
                if (open->unsent() > max_unread) return open->close();
                open->send(FrameKind::rank, encode(reply));
            },
            [asker] {
                if (const auto open = asker.lock()) open->send(FrameKind::done);
            });
    }

    // Stalls.

    void check_after(std::chrono::nanoseconds delay) {
        const auto rounded = std::chrono::ceil<milliseconds>(delay);
        next_check = Clock::now() + rounded;
        loop->post_after(rounded, alive([](State& state) { state.check(); }));
    }

    void check() {
        const StallClock::Finding finding = stall_clock->check(options.snapshot(), Clock::now(), next_check);
        if (finding.stalled_since) announce_stall(*finding.stalled_since, 0);
        check_after(finding.next);
    }

    // Rank 0 collects and reports, the next one if it does not answer.
    void announce_stall(Clock::time_point since, int reporter) {
        if (reporter == self() || reporter == max_reporters) return report_stall(since);
        const std::int64_t numbers[] = {self(), std::chrono::nanoseconds(Clock::now() - since).count()};
        ranks->ask(reporter, FrameKind::stall, encode_numbers(numbers), options.answer_limit,
                   alive([since, reporter](State& state, const Frame* answer, const Ranks::Failure&) {
                       if (answer == nullptr) state.announce_stall(since, reporter + 1);
                   }));
    }

    // The ranks begin to wait one after the other, and the first to reach the limit asks them all: those that
    // have not waited for long tell nothing. They are asked again, up to three times.
    void report_stall(Clock::time_point since, int tries = 0) {
        if (!stall_report || !stall_report->begin(since, tries > 0)) return;
        auto replies = std::make_shared<std::vector<RankReply>>();
        const auto ask_again = [loop = loop, tries, again = alive([since, tries](State& state) {
                                                        state.report_stall(since, tries + 1);
                                                    })] {
            if (tries < 3) loop->post_after(milliseconds(1000 << tries), again);
        };
        collect([replies](RankReply reply) { replies->push_back(std::move(reply)); },
                alive([replies, ask_again](State& state) {
                    state.stall_report->finish(std::move(*replies), ask_again);
                }));
    }

    // Messages.

    void take_message(Channel& channel, const Frame& frame) {
        constexpr std::size_t head = sizeof(std::int64_t);
        if (frame.bytes.size() < head) throw Error(ErrorCode::link, "a rank has sent a truncated message");
        const std::span<const std::byte> bytes(frame.bytes);
        const int from = static_cast<int>(decode_numbers(bytes.first(head)).front());
        if (frame.kind == FrameKind::announce)
            channel.send(FrameKind::announce);
        else
            from_ranks[from] = channel.weak_from_this();
        if (receive && from >= 0 && from < ranks->count()) receive(from, bytes.subspan(head));
    }

    void send_to_first(std::vector<std::byte> message) {
        if (to_first != nullptr) {
            to_first->send(FrameKind::message, message);
            unsent = to_first->unsent();
            return;
        }
        unsent += message.size();
        waiting.push_back(std::move(message));
        if (!std::exchange(opening_first, true)) open_first();
    }

    void open_first() {
        ranks->open(0, options.answer_limit,
                    alive([](State& state, Ranks::Opened opened) { state.opened_first(std::move(opened)); }));
    }

    void opened_first(Ranks::Opened opened) {
        // The event thread of rank 0 may be late, by more than the limit: the messages wait for the next try.
        if (opened.descriptor < 0 && !opened.refused && ranks->reachable(0)) {
            loop->post_after(options.answer_limit, alive([](State& state) { state.open_first(); }));
            return;
        }
        opening_first = false;
        const auto messages = std::exchange(waiting, {});
        unsent = 0;
        if (opened.descriptor < 0) {
            trouble = fmt::format("messages do not reach rank 0: {}", opened.why);
            return;
        }
        Channel::Work work;
        work.frame = alive([](State& state, Channel& channel, const Frame& frame) {
            if (frame.kind == FrameKind::message) state.take_message(channel, frame);
        });
        work.end = alive([](State& state, Channel&, const std::string&) {
            state.loop->post([channel = std::exchange(state.to_first, nullptr)] {});
        });
        to_first = Channel::open(*loop, opened.descriptor, std::move(opened.release), max_question_bytes,
                                 std::move(work));
        for (const auto& message : messages) send_to_first(message);
    }

    void send_to_all(const std::vector<std::byte>& message) {
        for (int rank = 0; rank < ranks->count(); ++rank) {
            if (rank == self()) continue;
            if (const auto known = from_ranks[rank].lock())
                known->send(FrameKind::message, message);
            else
                ranks->ask(rank, FrameKind::announce, message, options.answer_limit,
                           [](const Frame*, const Ranks::Failure&) {});
        }
        if (receive) receive(self(), std::span(message).subspan(sizeof(std::int64_t)));
    }
};

JobWatch::JobWatch(Job& job, WatchOptions options) : state_(std::make_shared<State>(std::move(options))) {
    state_->start(job);
}

JobWatch::~JobWatch() {
    // In a child of fork the sockets and the event thread are the parent's.
    if (state_->process != ::getpid()) {
        new std::shared_ptr<State>(std::move(state_));  // never destroyed
        return;
    }
    if (state_->loop == nullptr) return;
    std::promise<void> closed;
    state_->loop->post([&] {
        state_->close();
        closed.set_value();
    });
    closed.get_future().wait();
    // What close() has left for later work uses the loop.
    state_->own_loop.reset();
    state_->stall_report.reset();
}

const std::string& JobWatch::trouble() const {
    return state_->trouble;
}

const std::string& JobWatch::job_name() const {
    return state_->ranks->job_name();
}

void JobWatch::on_message(Receive receive) {
    if (state_->loop == nullptr) return;
    state_->loop->post(
        state_->alive([receive = std::move(receive)](State& state) { state.receive = receive; }));
}

bool JobWatch::send_to_first(std::span<const std::byte> message) {
    State& state = *state_;
    if (state.loop == nullptr) return false;
    const std::size_t backlog = state.posted + state.unsent;
    if (backlog > max_backlog) {
        state.loop->post(state.alive([](State& self) {
            if (self.to_first != nullptr) self.unsent = self.to_first->unsent();
        }));
        return false;
    }
    const std::size_t bytes = message.size();
    state.posted += bytes;
    state.loop->post(state.alive([bytes, framed = with_sender(state.self(), message)](State& self) mutable {
        self.posted -= bytes;
        if (self.self() == 0) {
            if (self.receive) self.receive(0, std::span(framed).subspan(sizeof(std::int64_t)));
            return;
        }
        self.send_to_first(std::move(framed));
    }));
    return true;
}

void JobWatch::send_to_all(std::span<const std::byte> message) {
    if (state_->loop == nullptr) return;
    state_->loop->post(state_->alive(
        [framed = with_sender(state_->self(), message)](State& state) { state.send_to_all(framed); }));
}

}  // namespace lapwing::watch
