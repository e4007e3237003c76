// lapwing status: which ranks of a running job wait, in which calls, and for whom.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "base/messages.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/process.hpp"
#include "lapwing/common/tables.hpp"
#include "watch/calls.hpp"
#include "watch/local_socket.hpp"
#include "watch/messages.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
    std::string job;
    bool json = false;
};

// A job with ranks on this host.
struct FoundJob {
    std::string name;
    std::vector<int> ranks;  // those on this host
    uid_t user = 0;
    std::vector<int> pids;  // of the ranks on this host that this user may ask
};

// A rank answers within milliseconds, unless its process is stopped: then the next one is asked.
constexpr std::chrono::milliseconds hello_limit{1'000};
// Of the time between two ranks' answers: more than the watch waits for one of them.
constexpr std::chrono::milliseconds answer_limit{30'000};

// Throws Error (system).
std::vector<FoundJob> jobs_here() {
    std::map<std::string, FoundJob> jobs;
    for (const watch::LocalRank& rank : watch::local_ranks()) {
        FoundJob& job = jobs[rank.job];
        job.name = rank.job;
        const tcp::Socket socket = watch::connect_locally(watch::local_name(rank.job, rank.rank));
        if (!socket) {
            // Its queue is full, as where its process is stopped; or the rank has ended meanwhile.
            if (errno == EAGAIN) job.ranks.push_back(rank.rank);
            continue;
        }
        const auto peer = watch::peer_of(socket.get());
        if (!peer) continue;
        job.ranks.push_back(rank.rank);
        job.user = peer->user;
        job.pids.push_back(peer->pid);
    }
    std::vector<FoundJob> found;
    for (auto& [name, job] : jobs) {
        if (job.ranks.empty()) continue;
        std::sort(job.ranks.begin(), job.ranks.end());
        found.push_back(std::move(job));
    }
    return found;
}

// A connection to a rank that answers: the first one of those on this host.
class RankClient {
  public:
    // Throws Error (link, unsupported) if no rank answers, or if the job belongs to another user.
    explicit RankClient(const FoundJob& job) {
        std::string why;
        for (const int rank : job.ranks) {
            socket_ = watch::connect_locally(watch::local_name(job.name, rank));
            if (!socket_) continue;
            try {
                const auto deadline = Clock::now() + hello_limit;
                watch::send_frame(socket_.get(), watch::FrameKind::hello, {}, deadline);
                const watch::Frame answer = receive(deadline);
                if (answer.kind == watch::FrameKind::hello) {
                    description_ = watch::decode_description(answer.bytes);
                    return;
                }
            } catch (const Error& error) {
                if (error.code() == ErrorCode::unsupported) throw;
                why = error.what();
            }
        }
        throw Error(ErrorCode::link,
                    fmt::format("no rank of job {} on this host answers: {}", job.name,
                                why.empty() ? "all have ended" : why + "; they may be stopped"));
    }

    const watch::JobDescription& description() const { return description_; }

    // The answers of all ranks of the job, by rank. Throws Error (link).
    std::vector<watch::RankSnapshot> collect() {
        std::vector<watch::RankSnapshot> answers(static_cast<std::size_t>(std::max(description_.ranks, 0)));
        watch::send_frame(socket_.get(), watch::FrameKind::collect, {}, Clock::now() + answer_limit);
        for (std::size_t replies = 0; replies < answers.size(); ++replies) {
            watch::RankSnapshot answer = watch::decode(receive(Clock::now() + answer_limit).bytes);
            const auto rank = static_cast<std::size_t>(answer.rank);
            if (rank >= answers.size())
                throw Error(ErrorCode::link, "an answer names a rank that the job does not have");
            answers[rank] = std::move(answer);
        }
        return answers;
    }

  private:
    using Clock = std::chrono::steady_clock;

    watch::Frame receive(Clock::time_point deadline) {
        watch::Frame frame = watch::receive_frame(socket_.get(), watch::max_answer_bytes, deadline);
        if (frame.kind == watch::FrameKind::refused) throw Error(ErrorCode::unsupported, frame.text());
        return frame;
    }

    tcp::Socket socket_;
    watch::JobDescription description_;
};

std::string hosts_in_words(const std::vector<std::string>& hosts) {
    return hosts.size() == 1 ? hosts.front() : fmt::format("{} hosts", hosts.size());
}

Json job_as_json(const watch::JobDescription& job) {
    Json json = {{"id", job.job},      {"program", job.program}, {"lapwing", job.version},
                 {"ranks", job.ranks}, {"hosts", job.hosts},     {"age_seconds", job.age / 1'000'000'000}};
    if (!job.trouble.empty()) json["trouble"] = job.trouble;
    return json;
}

// The user's own jobs on this host, or those of all users.
int list(const std::vector<FoundJob>& jobs, bool json) {
    std::vector<std::vector<std::string>> rows = {
        {"job", "user", "program", "ranks", "hosts", "running for", "pids here"}};
    Json found = Json::array();
    for (const FoundJob& job : jobs) {
        try {
            const watch::JobDescription one = RankClient(job).description();
            Json row = job_as_json(one);
            row["user"] = watch::user_name(job.user);
            row["pids"] = job.pids;
            found.push_back(std::move(row));
            rows.push_back({one.job, watch::user_name(job.user), one.program, std::to_string(one.ranks),
                            hosts_in_words(one.hosts), watch::duration(one.age),
                            fmt::format("{}", fmt::join(job.pids, " "))});
        } catch (const Error& error) {
            print_message("lapwing status: {}\n", error.what());
        }
    }
    if (json)
        fmt::print("{}\n", Json{{"schema", json_schema}, {"jobs", found}}.dump(2));
    else
        fmt::print("{}Name one: lapwing status JOB\n", align(rows));
    return success;
}

bool has_process(const FoundJob& job, int pid) {
    std::vector<pid_t> started = processes_below(pid);
    started.push_back(pid);
    return std::ranges::find_first_of(job.pids, started) != job.pids.end();
}

constexpr const char* where =
    "Run lapwing status on a host of the job, in the job's network namespace. A job is listed from "
    "MPI_Init to MPI_Finalize if `lapwing run` started it.";

// By its name, or by the process number of a rank or of its launcher.
FoundJob named(const std::vector<FoundJob>& jobs, const std::string& word) {
    const auto pid = parse_number(word);
    std::vector<FoundJob> found;
    for (const FoundJob& job : jobs)
        if (job.name == word || (pid && has_process(job, static_cast<int>(*pid)))) found.push_back(job);
    if (found.empty()) throw_invalid(fmt::format("no job '{}' on this host. {}", word, where));
    if (found.size() > 1)
        throw_invalid(fmt::format("process {} has started {} jobs; name one: `lapwing status` lists them",
                                  word, found.size()));
    if (!watch::may_ask(found.front().user) && ::geteuid() != 0)
        throw_invalid(fmt::format("job {} belongs to {}: only that user and the superuser may query it",
                                  found.front().name, watch::user_name(found.front().user)));
    return found.front();
}

// Returns the exit status.
int show(RankClient& client, bool json) {
    const std::vector<watch::RankSnapshot> answers = client.collect();
    const std::vector<watch::Finding> findings = watch::diagnose(answers);
    const watch::JobDescription& job = client.description();
    const bool stands = std::ranges::any_of(findings, [](const watch::Finding& finding) {
        return finding.kind == watch::Finding::Kind::mismatch || finding.kind == watch::Finding::Kind::cycle;
    });
    const int found = stands ? violations_found : success;
    if (json) {
        Json all = {{"schema", json_schema}, {"job", job_as_json(job)}};
        all.update(Json::parse(watch::as_json(answers, findings)));
        fmt::print("{}\n", all.dump(2));
        return found;
    }
    fmt::print("Job {}: {}, {} on {}, running for {}\n", job.job, job.program, counted(job.ranks, "rank"),
               hosts_in_words(job.hosts), watch::duration(job.age));
    if (!job.trouble.empty()) fmt::print("Some ranks cannot be queried: {}\n", job.trouble);
    fmt::print("\n{}", watch::in_words(answers, findings));
    return found;
}

int status(const Options& options) {
    std::vector<FoundJob> jobs = jobs_here();
    if (options.job.empty()) {
        const bool all = ::geteuid() == 0;
        std::erase_if(jobs, [all](const FoundJob& job) { return !all && job.user != ::geteuid(); });
        if (jobs.empty())
            throw_invalid(fmt::format("no job{} runs on this host. {}", all ? "" : " of yours", where));
        if (jobs.size() > 1) return list(jobs, options.json);
    }
    const FoundJob job = options.job.empty() ? jobs.front() : named(jobs, options.job);
    RankClient client(job);
    return show(client, options.json);
}

}  // namespace

Command add_status(CommandLine& tool) {
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("status", "Show which ranks of a running job wait, in which calls, and for whom");
    app->add_option("JOB", options->job,
                    "Name of the job, or the process ID of a rank or of mpirun; default: the only job")
        ->type_name("");
    app->add_flag("--json", options->json, "Print JSON");
    app->footer(
        "Examples:\n"
        "  lapwing status\n"
        "  lapwing status 1a2b3c4d --json\n"
        "  lapwing status 4711\n\n"
        "Run it on any host of the job, as the user who started the job or as the superuser. Without JOB, "
        "and with\n"
        "several jobs on this host, it lists the user's jobs; for the superuser, all jobs. On a virtual host "
        "of\n"
        "`lapwing cluster`, or in a container: `nsenter --target PID --net lapwing status`, with the process "
        "ID of a\n"
        "rank. The exit status is 1 if the job cannot go on: ranks wait for each other, or their collectives "
        "do not "
        "match; 125 if no job answered; otherwise 0.");
    return {app, [options] { return status(*options); }};
}

}  // namespace lapwing::tool
