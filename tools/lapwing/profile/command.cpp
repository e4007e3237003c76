// lapwing profile: how much a program's own collectives wait, and what overlap would save at most.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "base/messages.hpp"
#include "base/output_file.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/launch/job.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/profile/analysis.hpp"
#include "lapwing/timeline/timeline.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
    std::string mpi;
    std::string output;
    std::string trace;
    bool json = false;
    bool dry_run = false;
};

// Less than this share of the run is not worth a change.
constexpr double worth_it = 0.01;

std::string print_bytes(const CallSite& site) {
    const auto one = [](std::uint64_t bytes) {
        if (bytes >= 1U << 20 && bytes % (1U << 20) == 0) return fmt::format("{}Mi", bytes >> 20);
        if (bytes >= 1024 && bytes % 1024 == 0) return fmt::format("{}Ki", bytes >> 10);
        return fmt::format("{}", bytes);
    };
    if (site.min_bytes == site.max_bytes) return one(site.max_bytes);
    return fmt::format("{}-{}", one(site.min_bytes), one(site.max_bytes));
}

std::string percent(double seconds, double run) {
    return fmt::format("{} ({:.1f} % of the run)", print_seconds(seconds), run > 0 ? 100 * seconds / run : 0);
}

std::string advice_for(const CallSite& site, double run) {
    const auto of_run = [&](double seconds) { return percent(seconds, run); };
    const double least = worth_it * run;
    const std::string late = site.late < least
                                 ? ""
                                 : fmt::format(
                                       "{} of this time is spent waiting for late ranks. Overlap cannot "
                                       "hide it; balance the work before the call.",
                                       of_run(site.late));
    if (site.nonblocking) {
        std::string text;
        if (site.saved_at_once >= least) {
            text = fmt::format(
                "worth it: the program computes for {} between start and wait, and then waits. `lapwing "
                "run` can save up to {} without a change to the program.",
                print_seconds(site.away), of_run(site.saved_at_once));
        }
        if (site.saved_if_moved >= least) {
            text += fmt::format(
                "{}the program waits {} longer than it computes between start and wait: move the wait ({}) "
                "behind more work that does not need the result, or start earlier.",
                text.empty() ? "worth a change: " : " Besides, ", of_run(site.saved_if_moved),
                site.completed_at);
        }
        if (!text.empty()) return text + (late.empty() ? "" : " " + late);
    } else if (site.saved_if_moved >= least) {
        std::string nonblocking = site.function;
        nonblocking[4] = static_cast<char>(nonblocking[4] - 'A' + 'a');
        nonblocking.insert(4, "I");
        return fmt::format(
            "worth a change: the call takes {} after all ranks have arrived. Call {} instead, compute what "
            "does not need the result, then wait; `lapwing run` hides up to this time. Without a change, "
            "`lapwing run --blocking` may make the call itself faster, but hides nothing.{}{}",
            of_run(site.saved_if_moved), nonblocking, late.empty() ? "" : " ", late);
    }
    return late;
}

std::string messages_as_text(const std::vector<CallSite>& messages) {
    std::vector<std::vector<std::string>> rows = {
        {"call", "where", "could save", "calls", "bytes", "in start", "in wait", "completed at"}};
    for (const CallSite& site : messages) {
        rows.push_back({site.function, site.place.text(),
                        site.saved_at_once > 0 ? print_seconds(site.saved_at_once) : "-",
                        std::to_string(site.calls), print_bytes(site), print_seconds(site.start),
                        site.nonblocking ? print_seconds(site.wait) : "-",
                        site.nonblocking ? site.completed_at : "-"});
    }
    return align(rows) +
           "Calls and times of messages are means over the ranks that make the call. A call that completes "
           "several requests\ncounts in equal parts for each. Times include waiting for the peer. could "
           "save: what `lapwing run` could "
           "hide behind\nthe time between start and completion, of messages of at least 32 KiB.\n";
}

std::string as_text(const Profile& profile) {
    std::string text = fmt::format("{}, {} from MPI_Init to MPI_Finalize, {} (means over the ranks)\n",
                                   counted(profile.ranks, "rank"), print_seconds(profile.seconds),
                                   profile.sites.empty()
                                       ? "no collectives"
                                       : print_seconds(profile.in_collectives) + " of them in collectives");
    if (profile.sites.empty() && profile.messages.empty()) {
        return text + (profile.without_end.empty()
                           ? "\nThe program called no collective, and sent no message.\n"
                           : "\nNo collective was completed before the program ended.\n");
    }
    if (profile.sites.empty()) return text + "\n" + messages_as_text(profile.messages);
    std::vector<std::vector<std::string>> rows = {
        {"call", "where", "could save", "calls", "bytes", "in start", "in wait", "late", "own", "away"}};
    for (const CallSite& site : profile.sites) {
        rows.push_back({site.function, site.place.text(),
                        print_seconds(site.saved_at_once + site.saved_if_moved), std::to_string(site.calls),
                        print_bytes(site), print_seconds(site.start),
                        site.nonblocking ? print_seconds(site.wait) : "-", print_seconds(site.late),
                        print_seconds(site.own), site.nonblocking ? print_seconds(site.away) : "-"});
    }
    text += "\n" + align(rows) + "\n";
    if (!profile.messages.empty()) text += messages_as_text(profile.messages) + "\n";
    bool any = false;
    for (const CallSite& site : profile.sites) {
        const std::string advice = advice_for(site, profile.seconds);
        if (advice.empty()) continue;
        any = true;
        text += fmt::format("{} at {}: {}\n", site.function, site.place.text(), advice);
    }
    if (!any) text += "No collective is worth a change: no change could save one percent of the run.\n";
    text +=
        "\n"
        "late: waiting for ranks that had not begun; own: the rest, the collective's own time; away: "
        "between start and completion,\n"
        "outside of calls of collectives. could save: an upper bound, because an engine also needs CPU "
        "time,\nand inside a host a thread of its own (LAPWING_PROGRESS_THREAD=any).\n";
    return text;
}

// What is known of any call.
Json as_json(const CallSite& site) {
    Json row = {{"function", site.function},
                {"place", site.place.text()},
                {"module", site.place.module},
                {"offset", site.place.offset}};
    if (!site.place.symbol.empty()) row["symbol"] = site.place.symbol;
    if (!site.place.file.empty()) {
        row["file"] = site.place.file;
        row["line"] = site.place.line;
    }
    if (site.nonblocking) row["completed_at"] = site.completed_at;
    row["nonblocking"] = site.nonblocking;
    row["ranks"] = site.ranks;
    row["calls"] = site.calls;
    row["bytes"] = {site.min_bytes, site.max_bytes};
    row["start_seconds"] = site.start;
    row["wait_seconds"] = site.wait;
    return row;
}

Json as_json(const Profile& profile) {
    Json json = {{"schema", json_schema},
                 {"ranks", profile.ranks},
                 {"seconds", profile.seconds},
                 {"in_collectives_seconds", profile.in_collectives},
                 {"clock_error_seconds", profile.clock_error},
                 {"dropped_events", profile.dropped},
                 {"unmatched_calls", profile.unmatched},
                 {"ranks_without_end", profile.without_end},
                 {"calls", Json::array()}};
    for (const CallSite& site : profile.sites) {
        Json row = as_json(site);
        row["away_seconds"] = site.away;
        row["late_seconds"] = site.late;
        row["own_seconds"] = site.own;
        row["saved_at_once_seconds_at_most"] = site.saved_at_once;
        row["saved_if_moved_seconds_at_most"] = site.saved_if_moved;
        row["advice"] = advice_for(site, profile.seconds);
        json["calls"].push_back(row);
    }
    json["messages"] = Json::array();
    for (const CallSite& site : profile.messages) json["messages"].push_back(as_json(site));
    return json;
}

void say(const std::string& text, const std::string& file) {
    if (!file.empty()) return write_measured(file, text, "the profile");
    if (!print_message("{}", text))
        throw Error(ErrorCode::system, "the profile cannot be written to standard error");
}

void warn(const Profile& profile) {
    if (profile.dropped > 0)
        print_message(
            "lapwing profile: {} dropped: the profile has only the end of the run; raise "
            "LAPWING_TRACE_EVENTS to keep more\n",
            counted(profile.dropped, "event was", "events were"));
    if (!profile.without_end.empty())
        print_message("lapwing profile: {} did not reach MPI_Finalize: the profile lacks their messages\n",
                      counted(profile.without_end.size(), "rank"));
    if (profile.unmatched > 0)
        print_message("lapwing profile: {} left out: not all of their ranks recorded them\n",
                      counted(profile.unmatched, "call is", "calls are"));
}

// The events as those of `lapwing run --trace`. A profile has one event of each collective from its start to
// its completion, and one of the time in the calls that complete it, which become one MPI_Wait at the end.
RankPart as_traced(const RankPart& part) {
    RankPart traced = part;
    traced.events.clear();
    std::map<std::pair<std::int32_t, std::uint32_t>, trace::Event> completions;
    for (const trace::Event& event : part.events) {
        if (event.what == trace::What::call) completions[{event.peer, event.operation}] = event;
    }
    const auto completion = [&](const trace::Event& event) {
        const auto found = completions.find({event.peer, event.operation});
        return found == completions.end() ? nullptr : &found->second;
    };
    // Collectives that are completed by one call have equal shares of its time.
    std::map<std::uint64_t, std::uint64_t> inside;
    for (const trace::Event& event : part.events) {
        if (event.what != trace::What::collective) continue;
        if (const trace::Event* end = completion(event)) inside[event.ended] += end->ended - end->began;
    }
    std::uint32_t number = 0;
    for (trace::Event event : part.events) {
        if (event.what != trace::What::collective) continue;
        const trace::Event* const end = completion(event);
        const auto site = part.sites.find(event.index);
        traced.plans[event.index] = {
            {"function", site == part.sites.end() ? "unknown" : site->second.value("function", "unknown")},
            {"tasks", 0}};
        event.operation = ++number;
        traced.events.push_back(event);
        trace::Event call = event;
        call.what = trace::What::call;
        call.kind = static_cast<std::uint8_t>(trace::Call::start);
        if (end != nullptr) call.ended = end->began;
        traced.events.push_back(call);
        if (end == nullptr) continue;
        call.kind = static_cast<std::uint8_t>(trace::Call::wait);
        call.index = 1;
        call.began = std::max(end->began, event.ended - inside[event.ended]);
        call.ended = event.ended;
        traced.events.push_back(call);
    }
    return traced;
}

// Whether ranks began and could not write: they have printed why, and left files without facts.
bool ranks_could_not_write(const std::filesystem::path& directory) {
    bool began = false;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().extension() != ".facts") continue;
        if (entry.file_size() > 0) return false;
        began = true;
    }
    return began;
}

int run(const CommandLine& app, const Options& options, const Words& words) {
    require_output_of_json(options.json, options.output);
    require_words(app, words, "command", "lapwing profile", "no command to run", "mpirun -n 2 ./program");
    Settings settings = checked_settings();
    const Starter starter = find_starter(words.words, options.mpi);
    const std::filesystem::path place =
        std::filesystem::absolute(options.output.empty() ? "lapwing-profile" : options.output);
    settings.trace = place.string() + ".parts";
    if (options.dry_run) {
        fmt::print("{}", print(arrange(starter, words.words, settings, Preload::profile)));
        return success;
    }
    if (!options.output.empty()) const OutputFile profile(place, "the profile");
    if (!options.trace.empty())
        const OutputFile timeline(std::filesystem::absolute(options.trace), "the timeline");
    int status = 0;
    {
        const JobDirectory recordings(place.string() + ".parts");
        settings.trace = recordings.path();
        leave_guard({&recordings});
        status = run_job(arrange(starter, words.words, settings, Preload::profile));
        try {
            const std::vector<RankPart> parts = read_trace_parts(settings.trace);
            if (!parts.empty()) {
                const Profile profile = analyse(parts);
                say(options.json ? as_json(profile).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                 : as_text(profile),
                    options.output);
                if (!options.trace.empty()) {
                    std::vector<RankPart> traced;
                    std::ranges::transform(parts, std::back_inserter(traced), as_traced);
                    write_timeline(traced, std::filesystem::absolute(options.trace));
                }
                warn(profile);
            } else if (!ranks_could_not_write(settings.trace)) {
                throw Error(ErrorCode::system,
                            "no rank wrote a profile: the program ended before MPI_Init, or the preload "
                            "library was not loaded");
            }
        } catch (const std::exception& error) {
            print_message("lapwing profile: {}\n", error.what());
            if (status == 0) status = not_started << 8;
        }
    }
    return end_as(status);
}

}  // namespace

Command add_profile(CommandLine& tool, const Words& words) {
    auto options = std::make_shared<Options>();
    CommandLine* app = tool.add_subcommand(
        "profile",
        "Measure how long a program waits for collectives and messages, and what overlap would save");
    app->usage("Usage: lapwing profile [OPTIONS] -- LAUNCHER ARGUMENTS...");
    app->add_flag("--json", options->json, "Write JSON; needs --output");
    app->add_option("-o,--output", options->output, "Write the profile to FILE instead of standard error")
        ->type_name("FILE");
    app->add_option("--trace", options->trace,
                    "Also write a timeline of the program's calls, as `lapwing run --trace` does")
        ->type_name("FILE");
    add_launch_options(*app, options->mpi, options->dry_run, mpis_of_programs);
    app->footer(
        "Examples:\n"
        "  lapwing profile -- mpirun -n 2 ./program\n"
        "  lapwing profile --json -o profile.json -- mpiexec -n 16 python3 program.py\n"
        "\n"
        "The program runs on its own MPI; lapwing times its collectives and its messages.\n"
        "Compile it with -g to see source lines. The ranks write to a temporary directory beside FILE, or "
        "in the\n"
        "working directory, on a file system that all hosts share. The exit status is the launcher's; "
        "125 if nothing was started, or if the launcher returned 0 but there is no profile.");
    app->prefix_command();  // everything after the first word that is no option belongs to the job
    return {app, [app, options, &words] { return run(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
