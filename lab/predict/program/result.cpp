#include "predict/program/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/values.hpp"
#include "lapwing/bench/statistics.hpp"
#include "lapwing/common/linked_symbols.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/profile/recorded.hpp"
#include "predict/head.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

// Sites below this share of the run are not in the table.
constexpr double worth_a_row = 0.001;
constexpr double worst_ratio = 1.25;  // of a replay's time and the measured time
// So much of the run, between calls and without a processor, is worth a line.
constexpr double worth_a_line = 0.1;

double seconds_of(const std::vector<simulate::Time>& times, bool mean) {
    if (times.empty()) return 0;
    if (!mean) return simulate::to_seconds(*std::max_element(times.begin(), times.end()));
    return simulate::to_seconds(std::accumulate(times.begin(), times.end(), simulate::Time{0})) /
           static_cast<double>(times.size());
}
double measured_total(const simulate::Replay& replay) {
    return seconds_of(replay.ends, false);
}
double measured_in_mpi(const simulate::Replay& replay) {
    return seconds_of(replay.inside, true);
}
double measured_at(const simulate::Replay& replay, std::size_t site) {
    return simulate::to_seconds(replay.sites[site].inside) / replay.ranks;
}

std::string milliseconds(double seconds) {
    const double value = seconds * 1e3;
    return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0);
}

// "MPI_Wait, solve(), cg.cpp:120"
std::string name_of(const recording::Site& site, watch::Symbols& symbols) {
    const watch::Symbol symbol = symbols.find(site.module, site.offset);
    std::string name = site.function;
    std::string function = symbol.function.empty() ? site.symbol : symbol.function;
    constexpr std::string_view unnamed = "(anonymous namespace)::";
    for (std::size_t at = function.find(unnamed); at != std::string::npos; at = function.find(unnamed)) {
        function.erase(at, unnamed.size());
    }
    function.resize(std::min(function.find_first_of("(<"), function.size()));
    if (!function.empty()) name += fmt::format(", {}", function);
    const std::string file = std::filesystem::path(symbol.file).filename();
    if (!file.empty()) {
        name += fmt::format(", {}:{}", file, symbol.line);
    } else if (function.empty() && !site.module.empty()) {
        name +=
            fmt::format(", {}+{:#x}", std::filesystem::path(site.module).filename().string(), site.offset);
    }
    return name;
}

const PredictedProgram* undisturbed(const ProgramCase& one, std::string_view engine) {
    for (const PredictedProgram& row : one.rows) {
        if (row.engine->name == engine && row.noise.empty()) return &row;
    }
    return nullptr;
}

// The run that was measured, beside the simulation of the same.
struct Comparison {
    double measured = 0;
    double predicted = 0;
};
std::optional<Comparison> compare(const Study& study, const ProgramCase& one) {
    const PredictedProgram* const row = undisturbed(one, study.options.measured_with);
    if (row == nullptr) return {};
    return Comparison{measured_total(one.replay), row->total.front()};
}

double median(const std::vector<double>& values) {
    return spread(values).at("median").get<double>();
}

Json rounds_of(const PredictedProgram& row) {
    Json rounds = Json::array();
    for (const double total : row.total) {
        rounds.push_back({{"total", total},
                          {"computation", row.computing},
                          {"communication", row.communication},
                          {"in_mpi", row.in_mpi},
                          {"overlap", row.overlap()}});
    }
    return rounds;
}

// Which ranks shared cores in the recorded run, and which do here; and how long they had none. Empty if there
// is nothing to say.
std::vector<std::string> words_on_cores(const Study& study, const std::vector<ProgramCase>& cases) {
    const std::string turns = fmt::format("turns of {} ms", simulate::to_seconds(study.slice) * 1e3);
    std::vector<std::pair<std::string, std::string>> lines;  // (ranks, text)
    for (const ProgramCase& one : cases) {
        std::string then;
        if (!one.shared_then.empty()) {
            then = print_shared(one.shared_then) + " in the recorded run";
        } else if (!one.tells_processors && !study.cores) {
            then = "the recording does not contain the CPUs of its ranks";
        }
        std::string here = "each rank has a core of its own";
        if (one.cores.groups.empty()) {
            if (then.empty()) continue;
        } else if (study.cores) {
            here = fmt::format("all ranks share {}, in {} (--cores)", counted(*study.cores, "core"), turns);
        } else {
            here = fmt::format("they take {} on these CPUs (--cores own: a core for each rank)", turns);
        }
        const std::string text = then.empty() ? here : fmt::format("{}; here {}", then, here);
        if (!lines.empty() && lines.back().second == text) {
            lines.back().first += fmt::format(", {}", one.replay.ranks);
        } else {
            lines.emplace_back(std::to_string(one.replay.ranks), text);
        }
    }
    std::vector<std::string> found;
    for (const auto& [ranks, text] : lines) found.push_back(fmt::format("{} ranks: {}", ranks, text));
    for (const ProgramCase& one : cases) {
        const PredictedProgram* const row = undisturbed(one, study.options.measured_with);
        if (row == nullptr) continue;
        const double off = seconds_of(one.replay.off_processor, true);
        if (off <= worth_a_line * measured_total(one.replay)) continue;
        found.push_back(fmt::format(
            "{} ranks: between calls a rank slept or waited for a CPU for {} ms on average; the replay has "
            "{} ms for this",
            one.replay.ranks, milliseconds(off),
            milliseconds(std::max(0.0, row->mean_computing - seconds_of(one.replay.on_processor, true)))));
    }
    return found;
}

std::string table_of_engines(const Study& study, const std::vector<ProgramCase>& cases) {
    std::vector<Columns> rows;
    for (const ProgramCase& one : cases) {
        const PredictedProgram* const native = undisturbed(one, "native");
        for (const PredictedProgram& row : one.rows) {
            Columns& columns = rows.emplace_back(
                Columns{{"ranks", std::to_string(one.replay.ranks)}, {"engine", row.engine->name}});
            if (!study.noises.empty()) columns.emplace_back("noise", row.noise.empty() ? "none" : row.noise);
            const double total = median(row.total);
            columns.insert(
                columns.end(),
                {{"total ms", milliseconds(total)},
                 {"computing ms", milliseconds(row.computing)},
                 {"in MPI ms", milliseconds(row.in_mpi)},
                 {"calls alone ms", milliseconds(row.communication)},
                 {"overlap %", percent(row.overlap())},
                 {"of native",
                  native == nullptr ? "-" : fmt::format("{:.3f}", total / native->total.front())}});
        }
    }
    return align(rows);
}

std::string table_of_sites(const Study& study, const ProgramCase& one, watch::Symbols& symbols) {
    const simulate::Replay& replay = one.replay;
    std::vector<const PredictedProgram*> engines;
    for (const simulate::Engine* engine : study.engines) {
        if (const PredictedProgram* row = undisturbed(one, engine->name)) engines.push_back(row);
    }
    if (engines.empty()) return "";
    std::vector<std::size_t> sites;
    const auto most = [&](std::size_t site) {
        double found = measured_at(replay, site);
        for (const PredictedProgram* row : engines) found = std::max(found, row->sites[site]);
        return found;
    };
    for (std::size_t site = 1; site < replay.sites.size(); ++site) {
        if (most(site) >= worth_a_row * engines.front()->total.front()) sites.push_back(site);
    }
    std::stable_sort(sites.begin(), sites.end(),
                     [&](std::size_t a, std::size_t b) { return most(a) > most(b); });
    std::vector<Columns> rows;
    for (const std::size_t site : sites) {
        const simulate::ReplaySite& of = replay.sites[site];
        Columns& columns =
            rows.emplace_back(Columns{{"call site", name_of(of.of, symbols)},
                                      {"calls", std::to_string(of.calls)},
                                      {"bytes", of.calls > 0 ? std::to_string(of.bytes / of.calls) : "-"},
                                      {"measured ms", milliseconds(measured_at(replay, site))}});
        for (const PredictedProgram* row : engines)
            columns.emplace_back(fmt::format("{} ms", row->engine->name), milliseconds(row->sites[site]));
        for (const PredictedProgram* row : engines) {
            columns.emplace_back(fmt::format("{}, later wait ms", row->engine->name),
                                 milliseconds(row->sites_if_moved[site]));
        }
        columns.emplace_back("bound ms", milliseconds(one.bound[site]));
    }
    return align(rows);
}

}  // namespace

Json as_json(const Study& study, const std::vector<ProgramCase>& cases) {
    Json result = head_of(study, all_ranks(cases.front().replay.ranks));
    watch::Symbols symbols = linked_symbols();
    result["program"] = {{"recordings", study.options.recordings},
                         {"measured_with", study.options.measured_with}};
    if (const auto cores = words_on_cores(study, cases); !cores.empty()) result["program"]["cores"] = cores;
    Json rows = Json::array();
    for (const ProgramCase& one : cases) {
        const int ranks = one.replay.ranks;
        if (const auto both = compare(study, one)) {
            result["program"]["replays"].push_back(
                {{"ranks", ranks},
                 {"measured", both->measured},
                 {"measured_in_mpi", measured_in_mpi(one.replay)},
                 {"off_processor", seconds_of(one.replay.off_processor, true)},
                 {"predicted", both->predicted}});
        }
        Json sites = Json::array();
        for (std::size_t site = 1; site < one.replay.sites.size(); ++site) {
            const simulate::ReplaySite& of = one.replay.sites[site];
            Json entry = {{"function", of.of.function},
                          {"name", name_of(of.of, symbols)},
                          {"calls", of.calls},
                          {"bytes", of.bytes},
                          {"measured", measured_at(one.replay, site)}};
            for (const PredictedProgram& row : one.rows) {
                if (!row.noise.empty()) continue;
                entry["predicted"][row.engine->name] = row.sites[site];
                entry["later_wait"][row.engine->name] = row.sites_if_moved[site];
            }
            if (!one.bound.empty()) entry["bound"] = one.bound[site];
            sites.push_back(std::move(entry));
        }
        result["program"]["sites"].push_back({{"ranks", ranks}, {"sites", std::move(sites)}});
        for (const PredictedProgram& row : one.rows) {
            Json head = {{"collective", "program"},
                         {"bytes", 0},
                         {"method", "program"},
                         {"parameter", {{"name", "ranks"}, {"value", ranks}}}};
            if (!study.noises.empty()) head["noise"] = row.noise.empty() ? "none" : row.noise;
            add_row(rows, std::move(head), measurement_of(*row.engine, "", row.messages, rounds_of(row)));
        }
    }
    result["rows"] = std::move(rows);
    for (const std::string& one : left_out_of(cases)) result["left_out"].push_back(one);
    return result;
}

std::string as_table(const Study& study, const std::vector<ProgramCase>& cases) {
    std::string text;
    for (const ProgramCase& one : cases) {
        const auto both = compare(study, one);
        if (!both) continue;
        text += fmt::format(
            "{}: measured {} ms, {} ms of it in MPI; replayed by {} {} ms: {:.3f} of the measured "
            "time\n",
            counted(one.replay.ranks, "rank"), milliseconds(both->measured),
            milliseconds(measured_in_mpi(one.replay)), study.options.measured_with,
            milliseconds(both->predicted), both->predicted / both->measured);
        if (std::max(both->predicted, both->measured) >
            worst_ratio * std::min(both->predicted, both->measured))
            text +=
                "This replay differs much from the measured time, and the table below may be as "
                "inaccurate. `lapwing tune` on\n"
                "the same hosts measures their network; pass its file by --tuning.\n";
    }
    for (const std::string& line : words_on_cores(study, cases)) text += line + "\n";
    text += headline(study, all_ranks(cases.front().replay.ranks));
    text += "\n" + table_of_engines(study, cases);
    watch::Symbols symbols = linked_symbols();
    for (const ProgramCase& one : cases) {
        if (const std::string sites = table_of_sites(study, one, symbols); !sites.empty()) {
            text += fmt::format("\nIn MPI, each rank on average, {}:\n{}", counted(one.replay.ranks, "rank"),
                                sites);
        }
    }
    std::vector<std::string> notes;
    for (const ProgramCase& one : cases) {
        for (const std::string& note : one.replay.notes) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
        }
    }
    for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
    return text + lines_of(left_out_of(cases));
}

}  // namespace lapwing::tool
