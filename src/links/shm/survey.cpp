// What two processes of this host can do together, in words and measured.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "links/shm/node.hpp"

namespace lapwing::shm {

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
    const std::string pieces = fmt::format("in pieces{}", microseconds(Way::pieces));
    const std::string kernel = fmt::format("by the kernel{}", microseconds(Way::direct));
    if (!times.decided()) return fmt::format("{}: {}, {}: too few messages to choose", size, pieces, kernel);
    const bool first = times.chosen == Way::pieces;
    std::string text = fmt::format("{}: {}", size, first ? pieces : kernel);
    text += fmt::format(", not {}", first ? kernel : pieces);
    if (times.pairs[0] > 0 && times.pairs[1] > 0)
        text += fmt::format(" (between {} of {} pairs)", times.pairs[static_cast<int>(times.chosen)],
                            times.pairs[0] + times.pairs[1]);
    return text;
}

namespace {

// Enough messages of each size to measure both ways.
constexpr std::uint64_t surveyed_bytes[] = {1U << 16, 1U << 18, 1U << 20, 1U << 23};
constexpr int surveyed_messages = 2 * TransferChoice::samples;

// Run by both processes of a survey. Returns false if the other process has ended.
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
    // The parent may have ended before the call of prctl().
    if (::getppid() != parent) return;
    ShmNode other(2, method);
    const ShmAddress addresses[] = {own.address(), other.address()};
    // As in both processes: the one that has made the memory reports what is wrong with it.
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
    if (::pipe2(ends, O_CLOEXEC) != 0) return {fmt::format("unknown: pipe: {}", std::strerror(errno)), {}};
    ShmNode own(2, method);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        answer_survey(method, own, parent, ends[1]);
        ::_exit(0);
    }
    ::close(ends[1]);
    Survey found{"unknown: cannot create a child process", {}};
    SurveyAnswer answer{};
    // Less than a page: a pipe transfers it whole.
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

}  // namespace lapwing::shm
