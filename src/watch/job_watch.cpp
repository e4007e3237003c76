#include "watch/job_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "links/event/wake_pipe.hpp"
#include "watch/journal.hpp"
#include "watch/local_socket.hpp"
#include "watch/stall.hpp"
#include "watch/workers.hpp"

namespace lapwing::watch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_workers = 32;
// For `lapwing status`, at a time. Fewer than workers, which must also answer the questions of other ranks.
constexpr int max_collections = 8;
// Ranks that a rank asks to report its stall, one after the other, until one of them answers.
constexpr int max_reporters = 8;
constexpr int max_reports = 5;  // of stalls, of a job
// A connection on which nothing moves for so long is closed.
constexpr std::chrono::seconds idle_limit{10};

bool several_hosts(const std::vector<Member>& members) {
    return std::ranges::any_of(members, [&](const Member& one) { return one.host != members.front().host; });
}

// The first ones of many ranks.
std::string shortened(const std::vector<std::string>& names) {
    constexpr std::size_t max_names = 4;
    const std::string text =
        fmt::format("{}", fmt::join(std::span(names).first(std::min(names.size(), max_names)), ", "));
    return names.size() > max_names ? fmt::format("{} and {} more", text, names.size() - max_names) : text;
}

}  // namespace

struct JobWatch::State {
    const pid_t process = ::getpid();
    const WatchOptions options;
    const Clock::time_point begin = Clock::now();
    std::string trouble;
    std::unique_ptr<EventLoop> own_loop;
    EventLoop* loop = nullptr;  // null: there is no watch
    tcp::Endpoint* endpoint = nullptr;
    std::optional<Ranks> ranks;

    // Used on the event thread:
    tcp::Socket listener;
    EventLoop::Timer pause_end;
    EventLoop::Timer next_tick;

    // Used by one check() at a time, and by tick() between checks:
    std::atomic<bool> checking{false};
    Clock::time_point next_check = begin;
    StallClock stall_clock{options.stall.count() > 0 ? options.stall : std::chrono::nanoseconds::max()};
    // A rank that answered before may be silent now.
    StallClock silence_clock{asks_after(), options.notice};

    // Used by report_stalls():
    int reports = 0;
    std::set<std::pair<int, std::vector<int>>> reported;  // kinds and ranks of the last findings
    std::mutex stall_mutex;
    Clock::time_point stalled_since =
        Clock::time_point::min();                            // of the latest stall that this rank was told
    Clock::time_point collected = Clock::time_point::min();  // when answers were last collected
    bool reporting = false;                                  // a worker runs report_stalls()
    std::atomic<bool> seeking{false};                        // a worker runs seek_silent()

    std::atomic<int> collections{0};  // for `lapwing status`
    std::optional<WakePipe> stop;     // ends all waiting of workers
    Workers workers{max_workers};     // destroyed first: they use what is above

    explicit State(WatchOptions wanted) : options(std::move(wanted)) {}

    // By the program's thread.

    void start(Job& job, std::vector<Member> members) {
        for (Member& member : members) member.host_name[sizeof member.host_name - 1] = '\0';
        try {
            if (several_hosts(members) || options.tcp_only) job.sockets();
        } catch (const Error& error) {
            trouble = error.what();
        }
        endpoint = job.open_sockets();
        ranks.emplace(std::move(members), job.rank(), endpoint, trouble, options.tcp_only);
        try {
            stop.emplace();
            if (endpoint == nullptr) own_loop = std::make_unique<EventLoop>();
            listener = listen_locally(local_name(ranks->job_name(), ranks->self()));
            loop = own_loop != nullptr ? own_loop.get() : &endpoint->event_loop();
            watch_listener();
        } catch (const Error& error) {
            loop = nullptr;
            trouble = error.what();
            // Other ranks must not take this one for a silent rank: each question ends at once.
            listener.reset();
            if (endpoint != nullptr) endpoint->serve(Ranks::service, [](int, const tcp::Socket&) {});
            return;
        }
        loop->post([this] { tick(); });
        if (endpoint != nullptr)
            endpoint->serve(Ranks::service,
                            [this](int, tcp::Socket socket) { take_in(std::move(socket), true); });
    }

    void end() {
        std::promise<void> closed;
        loop->post([&] {
            loop->forget(listener.get());
            loop->cancel(pause_end);
            loop->cancel(next_tick);
            if (endpoint != nullptr) endpoint->end_service(Ranks::service);
            closed.set_value();
        });
        closed.get_future().wait();
        listener.reset();
        WakePipe::wake(stop->writer());
    }

    // On the event thread: connections, each of which a worker serves.

    // Throws Error (system).
    void watch_listener() {
        loop->watch(listener.get(), EPOLLIN, [this](unsigned) { accept(); });
    }

    void accept() {
        while (true) {
            tcp::Socket socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (!socket) {
                if (errno == EINTR || errno == ECONNABORTED) continue;
                if (errno != EAGAIN) pause();
                return;
            }
            const auto peer = peer_of(socket.get());
            take_in(std::move(socket), peer && may_ask(peer->user));
        }
    }

    // Without a free descriptor the socket stays ready. The kernel also limits what a user watches.
    void pause() {
        loop->forget(listener.get());
        pause_end = loop->post_after(milliseconds(100), [this] {
            try {
                watch_listener();
            } catch (const Error&) {
                pause();
            }
        });
    }

    // `may_ask`: otherwise the peer's questions are not read.
    void take_in(tcp::Socket socket, bool may_ask) {
        workers.add([this, shared = std::make_shared<tcp::Socket>(std::move(socket)), may_ask] {
            try {
                if (!may_ask)
                    return refuse(shared->get(),
                                  fmt::format("this job belongs to {}", user_name(::geteuid())));
                while (true) answer(shared->get());
            } catch (const Error&) {
                // The peer has its answers, or does not read them; or this rank ends.
            }
        });
    }

    // By workers: answers.

    void send(int descriptor, FrameKind kind, std::span<const std::byte> bytes = {}) {
        send_frame(descriptor, kind, bytes, Clock::now() + idle_limit, stop->descriptor());
    }
    void refuse(int descriptor, const std::string& why) {
        send(descriptor, FrameKind::refused, std::as_bytes(std::span(why)));
    }

    void answer(int descriptor) {
        const Frame question =
            receive_frame(descriptor, max_question_bytes, Clock::now() + idle_limit, stop->descriptor());
        try {
            switch (question.kind) {
                case FrameKind::hello:
                    return send(descriptor, question.kind, encode(description()));
                case FrameKind::snapshot:
                    return send(descriptor, question.kind, own_answer());
                case FrameKind::states:
                    return send(descriptor, question.kind, ranks->states());
                case FrameKind::ping:
                    return send(descriptor, question.kind);
                case FrameKind::stall:
                    send(descriptor, question.kind);
                    return begin_report(Clock::now() - options.stall);
                case FrameKind::silence:
                    send(descriptor, question.kind);
                    return begin_search();
                case FrameKind::collect:
                    return collect_for(descriptor);
                default:
                    return refuse(descriptor,
                                  fmt::format("unknown request for Lapwing {}: do the tool and the job "
                                              "have the same version of Lapwing?",
                                              options.version));
            }
        } catch (const Error& error) {
            refuse(descriptor, error.what());
        }
    }

    JobDescription description() const {
        JobDescription found;
        found.job = ranks->job_name();
        found.version = options.version;
        found.program = options.snapshot(Lines::none).program;
        found.ranks = ranks->count();
        found.hosts = ranks->hosts();
        found.age = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
        found.trouble = trouble;
        return found;
    }

    // What this rank answers for itself.
    std::vector<std::byte> own_answer() const {
        RankSnapshot own = options.snapshot(Lines::find);
        own.rank = ranks->self();
        std::vector<std::byte> answer = encode(own);
        if (answer.size() <= max_answer_bytes) return answer;
        own = {};
        own.rank = ranks->self();
        own.silence = fmt::format("{} does not answer: its journal has {} bytes; at most {} can be sent",
                                  ranks->describe(own.rank), answer.size(), max_answer_bytes);
        return encode(own);
    }

    // By workers: the answers of all ranks.

    void collect(const std::function<void(RankSnapshot)>& reply) const {
        reply(decode(own_answer()));
        ranks->collect({options.answer_limit, stop->descriptor()}, reply);
    }

    void collect_for(int descriptor) {
        struct Counted {
            std::atomic<int>& count;
            const int before = count++;
            ~Counted() { --count; }
        } const counted{collections};
        if (counted.before >= max_collections)
            throw Error(ErrorCode::link, "too many requests at the same time; try again in a few seconds");
        collect([&](const RankSnapshot& answer) { send(descriptor, FrameKind::collect, encode(answer)); });
    }

    // Waits that last long.

    // A rank is silent once it has left two questions unanswered.
    milliseconds asks_after() const {
        return std::max(std::min(options.notice, options.patience) - 2 * options.answer_limit,
                        options.answer_limit);
    }

    // A snapshot waits for the program's threads: not on the event thread, where short reductions would wait,
    // too.
    void tick() {
        CallClock::set();
        next_tick = loop->post_after(milliseconds(250), [this] { tick(); });
        if (checking || Clock::now() < next_check) return;
        checking = true;
        if (!workers.add([this] { check(); })) checking = false;
    }

    // By a worker.
    void check() {
        const RankSnapshot snapshot = options.snapshot(Lines::none);
        const auto now = Clock::now();
        const auto silence = silence_clock.check(snapshot, now, next_check);
        if (silence.stalled_since)
            workers.add([this] {
                if (!announce(FrameKind::silence)) begin_search();
            });
        const auto stall = stall_clock.check(snapshot, now, next_check);
        if (stall.stalled_since)
            workers.add([this, since = *stall.stalled_since] {
                if (!announce(FrameKind::stall)) begin_report(since);
            });
        next_check = Clock::now() + std::min(silence.next, stall.next);
        checking = false;
    }

    // By a worker. Tells rank 0, which then asks all ranks; the next one if it does not answer. Returns false
    // if this rank must ask.
    bool announce(FrameKind kind) const {
        try {
            for (int reporter = 0; reporter < max_reporters && reporter != ranks->self(); ++reporter) {
                bool answered = false;
                ranks->ask(
                    std::span(&reporter, 1), kind, {options.answer_limit, stop->descriptor()},
                    [&](int, const Frame* answer, const Ranks::Failure&) { answered = answer != nullptr; });
                if (answered) return true;
            }
            return false;
        } catch (const Error&) {
            return true;  // this rank ends
        }
    }

    void begin_search() {
        if (!seeking.exchange(true)) workers.add([this] { seek_silent(); });
    }

    // By one worker at a time. Asks all ranks, and those that are silent until they answer.
    void seek_silent() {
        const milliseconds limit = options.answer_limit;
        const milliseconds notice = std::min(options.notice, options.patience);
        std::map<int, milliseconds> silent;  // for how long
        std::set<int> named;
        std::vector<int> asked;
        for (int rank = 0; rank < ranks->count(); ++rank)
            if (rank != ranks->self()) asked.push_back(rank);
        try {
            while (!asked.empty()) {
                const auto began = Clock::now();
                std::vector<std::string> back;
                std::vector<int> still;
                ranks->ask(
                    asked, FrameKind::ping, {limit, stop->descriptor()},
                    [&](int rank, const Frame* answer, const Ranks::Failure& failure) {
                        // A rank that refuses has ended, which is a matter of the links, or has no watch.
                        if (answer == nullptr && failure.why.empty()) return still.push_back(rank);
                        if (answer != nullptr && named.erase(rank) > 0)
                            back.push_back(fmt::format("{} after {:.0f} s", ranks->describe(rank),
                                                       std::chrono::duration<double>(silent[rank]).count()));
                        silent.erase(rank);
                    });
                if (!back.empty())
                    options.print(fmt::format("answer from {}; the job continues", shortened(back)));
                // At most twice the limit: this process may have been stopped meanwhile.
                const auto round = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
                std::vector<std::string> fresh;
                for (const int rank : still) {
                    milliseconds& age = silent.try_emplace(rank, notice - 2 * limit).first->second;
                    age += std::min(round, 2 * limit);
                    if (age >= options.patience)
                        options.lost(fmt::format(
                            "{} is unreachable: no answer for {} s (LAPWING_TIMEOUT)", ranks->describe(rank),
                            std::chrono::duration_cast<std::chrono::seconds>(age).count()));
                    else if (age >= notice && named.insert(rank).second)
                        fresh.push_back(ranks->describe(rank));
                }
                if (!fresh.empty())
                    options.print(
                        fmt::format("no answer from {} for {} s; still waiting", shortened(fresh),
                                    std::chrono::duration_cast<std::chrono::seconds>(notice).count()));
                asked = std::move(still);
            }
        } catch (const Error&) {
            // This rank ends.
        }
        seeking = false;
    }

    void begin_report(Clock::time_point since) {
        const std::lock_guard lock(stall_mutex);
        stalled_since = std::max(stalled_since, since);
        if (options.stall.count() > 0 && !std::exchange(reporting, true))
            workers.add([this] { report_stalls(); });
    }

    // By one worker at a time. The ranks begin to wait one after the other, and the first to reach the limit
    // asks them all: those that have not waited for long tell nothing. They are asked again, up to three
    // times.
    void report_stalls() {
        constexpr int max_tries = 4;
        int fruitless = 0;  // tries
        try {
            while (must_report(fruitless > 0)) {
                std::vector<RankSnapshot> answers(static_cast<std::size_t>(ranks->count()));
                collect([&](RankSnapshot answer) {
                    const auto rank = static_cast<std::size_t>(answer.rank);
                    answers[rank] = std::move(answer);
                });
                fruitless = print_stall(answers) || fruitless + 1 == max_tries ? 0 : fruitless + 1;
                if (fruitless > 0) sleep(milliseconds(500 << fruitless));
            }
        } catch (const Error&) {
            // This rank ends.
        }
    }

    // Prints what the ranks wait for, unless it was printed before. Returns false if the answers tell
    // nothing: the ranks have gone on, or some have waited for too short a time to be sure.
    bool print_stall(const std::vector<RankSnapshot>& answers) {
        const std::vector<Finding> findings = diagnose(answers);
        std::set<std::pair<int, std::vector<int>>> found;
        for (const Finding& finding : findings) found.emplace(static_cast<int>(finding.kind), finding.ranks);
        if (found.empty()) return false;
        if (std::ranges::includes(reported, found)) return true;
        reported = std::move(found);
        ++reports;
        const std::string text =
            fmt::format("ranks have waited for {} s without progress (report {} of at most {})\n{}",
                        static_cast<double>(options.stall.count()) / 1000, reports, max_reports,
                        in_words(answers, findings));
        options.print(
            text +
            "The job continues. If a rank computes for this long, the wait is load imbalance, not an error. "
            "`lapwing status` shows the current state; LAPWING_STALL=0 turns these reports off.");
        return true;
    }

    // Whether to collect answers now; otherwise report_stalls() ends. Ranks that waited when answers were
    // last collected reach the limit one after the other: theirs is no other stall.
    bool must_report(bool again) {
        const std::lock_guard lock(stall_mutex);
        reporting = reports < max_reports && (again || stalled_since > collected);
        if (reporting) collected = Clock::now();
        return reporting;
    }

    void sleep(milliseconds time) const {
        pollfd ending{stop->descriptor(), POLLIN, 0};
        if (::poll(&ending, 1, static_cast<int>(time.count())) > 0)
            throw Error(ErrorCode::link, "this rank ends");
    }
};

JobWatch::JobWatch(Job& job, std::vector<Member> members, WatchOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
    state_->start(job, std::move(members));
}

JobWatch::~JobWatch() {
    if (state_->process != ::getpid())
        static_cast<void>(state_.release());  // a child of fork: the sockets and threads are the parent's
    else if (state_->loop != nullptr)
        state_->end();
}

const std::string& JobWatch::trouble() const {
    return state_->trouble;
}

const std::string& JobWatch::job_name() const {
    return state_->ranks->job_name();
}

}  // namespace lapwing::watch
