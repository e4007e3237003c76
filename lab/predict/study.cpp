#include "predict/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <thread>

#include "base/error.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "common/simulated_costs.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {

namespace {

constexpr std::uint64_t max_tests = 100000;

std::vector<int> read_ranks(const std::string& written) {
    const auto ranks = read_range("--ranks", written, [](const std::string& word) {
        const auto number = parse_bytes(word);
        if (!number || *number < 2 || *number > static_cast<std::uint64_t>(max_ranks))
            refuse_value("--ranks", fmt::format("a number of ranks from 2 to {}", max_ranks), word);
        return *number;
    });
    return {ranks.begin(), ranks.end()};
}

// "10hz:2500us"
simulate::Noise read_noise(const std::string& written) {
    simulate::Noise noise;
    const std::string_view text = written;
    const std::size_t colon = text.find(':');
    const std::string_view frequency = text.substr(0, colon);
    if (frequency.ends_with("hz") && colon != std::string_view::npos) {
        const double hertz = real_in(fmt::format("--noise {}: the frequency", written),
                                     frequency.substr(0, frequency.size() - 2), 0.001, 1e6);
        noise.period = simulate::from_seconds(1 / hertz);
        noise.length = simulate::from_seconds(read_time("--noise", text.substr(colon + 1)));
        if (noise.length >= noise.period)
            throw_invalid(fmt::format("--noise: '{}' leaves no CPU time to the program", written));
        return noise;
    }
    throw_invalid(fmt::format("--noise: '{}' is not of the form 10hz:2500us", written));
}

// "uniform:100us" or "one:1ms".
simulate::Lateness read_lateness(const std::string& written) {
    simulate::Lateness lateness;
    if (written.empty()) return lateness;
    const std::size_t colon = std::min(written.find(':'), written.size());
    static const std::string kinds[] = {"uniform", "one"};
    lateness.kind = pick("--late", written.substr(0, colon), kinds) == 0 ? simulate::Lateness::Kind::uniform
                                                                         : simulate::Lateness::Kind::one;
    if (colon == written.size()) throw_invalid("--late: the time is missing, as in uniform:100us or one:1ms");
    lateness.max = simulate::from_seconds(read_time("--late", written.substr(colon + 1)));
    return lateness;
}

void read_work(const std::string& written, Study& study) {
    if (written.ends_with("s"))
        study.work = simulate::from_seconds(read_time("--work", written));
    else
        study.work_factor = real_in("--work", written, 0, 1e6);
}

// "latency=2us,per_byte=0.04ns"
void set_constants(const std::string& written, simulate::Parameters& parameters) {
    if (written.empty()) return;
    std::vector<std::string> names;
    for (const Constant& constant : all_constants()) names.emplace_back(constant.name);
    read_list("--constants", written, [&](const std::string& word) {
        const std::size_t equals = std::min(word.find('='), word.size());
        const Constant& constant = all_constants()[pick("constant", word.substr(0, equals), names)];
        if (equals == word.size())
            throw_invalid(fmt::format("--constants: '{}' has no value, as in latency=2us", word));
        const double seconds = read_time("--constants", word.substr(equals + 1));
        if (constant.time != nullptr)
            parameters.*constant.time = simulate::from_seconds(seconds);
        else
            parameters.*constant.of_byte = seconds * 1e12;
        return word;
    });
}

// "64Ki:4Mi", "64Ki" or "none".
void read_rendezvous(const std::string& written, Study& study) {
    if (written == "none") return;
    const std::size_t colon = written.find(':');
    study.rendezvous_bytes = read_bytes("--rendezvous", written.substr(0, colon));
    if (colon != std::string::npos)
        study.window_bytes = read_bytes("--rendezvous", written.substr(colon + 1));
}

std::uint64_t quarter_of_memory() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 4;
}

}  // namespace

void add_predict_options(CommandLine& app, PredictOptions& options) {
    const auto text = [&app](const char* name, std::string& value, const char* type, const char* about) {
        return app.add_option(name, value, about)->type_name(type);
    };
    app.add_option("COLLECTIVE", options.collectives, "Such as barrier, or ibcast,iallreduce");
    text("--ranks", options.ranks, "P,...", "Numbers of ranks: 100,1000; or 16:1Mi, in steps of factor 4");
    text("--bytes", options.bytes, "N,...", "Block sizes: 64Ki,256Ki; or 4Ki:1Mi, in steps of factor 4 (8)");
    text("--algorithm", options.algorithms, "A,...",
         "Algorithms, such as ring,pairwise:window=6; chosen: the one of a run; all: every one that "
         "applies (chosen)");
    text("--engine", options.engines, "E,...", "One or more of host,thread,kernel,card (host,kernel)");

    app.begin_group("The program");
    text("--work", options.work, "X",
         "Computation during the collective: a multiple of its time alone, or 1ms; 0: none (1.2)");
    text("--tests", options.tests, "N,...", "Calls of MPI_Test during the computation (0)");

    app.begin_group("Noise and late ranks");
    text("--noise", options.noise, "NOISE,...", "Such as 10hz:2500us, on each core from a random time on");
    text("--late", options.late, "LATE",
         "Ranks start late: uniform:100us: each by up to 100us; one:1ms: one rank");
    app.add_option("--iterations", options.iterations, "Iterations with noise or late ranks (100)")
        ->type_name("N")
        ->range(1, 1000000);
    app.add_option("--rounds", options.rounds, "Number of random seeds (3)")->type_name("N")->range(1, 1000);
    app.add_option("--seed", options.seed, "The first seed (1)")->type_name("N");

    app.begin_group("The network");
    text("--interconnect", options.network, "NET",
         "flat, torus:8x8x16, one-way-torus:4x4, mesh:8x8, fat-tree:... (flat)");
    text("--hop", options.hop, "TIME", "Latency of each link, except in a flat network (100ns)");
    app.add_option("--ranks-per-host", options.ranks_per_host, "Ranks that share the links of a host (1)")
        ->type_name("N")
        ->range(1, 4096);
    add_inner_group_options(app, options.inner);
    text("--placement", options.placement, "P",
         "in-order or random; in-order-known, random-known: with lists that use the order of the hosts, "
         "as with a topology file (in-order)");

    app.begin_group("Costs");
    text("--tuning", options.tuning, "FILE",
         "Constants and choices of this tuning file (LAPWING_TUNING, or the built-in one)");
    text("--constants", options.constants, "C=TIME,...",
         "Replace the file's constants: latency=2us,task=1us,per_byte=0.1ns");
    text("--rendezvous", options.rendezvous, "N[:N]",
         "Engines host and thread: messages of at least the first size are sent by rendezvous, "
         "which needs calls on both sides; the second size is what sockets buffer; or none "
         "(64Ki:4Mi)");
    text("--wake-up", options.wake_up, "TIME", "Time to wake a sleeping progress thread (5us)");

    app.begin_group("The simulation");
    app.add_option("--threads", options.threads,
                   "Number of parallel simulations; no effect on results (all CPUs)")
        ->type_name("N")
        ->range(1, 1024);
    text("--memory", options.memory, "N",
         "Memory limit, such as 4Gi; cases that need more are left out (a quarter of this machine's memory)");
    app.add_flag("--dry-run", options.dry_run, "Print the time and memory needed, simulate nothing");
    app.add_flag("--json", options.json, "Print JSON, which `lapwing report` draws, in place of the tables");
    text("-o,--output", options.output, "FILE",
         "Write the result to FILE; with --json, the tables are still printed");
}

simulate::Parameters Study::parameters(const simulate::Engine& engine, const Problem& problem,
                                       std::string* where) const {
    simulate::Parameters parameters = parameters_for(engine, problem, tuning ? &*tuning : nullptr, where);
    set_rendezvous(parameters, engine, rendezvous_bytes, window_bytes);
    set_constants(options.constants, parameters);
    return parameters;
}

simulate::Setting Study::setting(const simulate::Engine& engine, const Problem& problem,
                                 const simulate::Network* of) const {
    simulate::Setting setting;
    setting.engine = engine;
    setting.costs = costs;
    setting.parameters = parameters(engine, problem);
    setting.network = of;
    return setting;
}

double Constant::seconds(const simulate::Parameters& parameters) const {
    return time != nullptr ? simulate::to_seconds(parameters.*time) : parameters.*of_byte * 1e-12;
}

std::span<const Constant> all_constants() {
    using simulate::Parameters;
    static constexpr Constant all[] = {
        {"latency", &Parameters::latency},
        {"task", &Parameters::overhead},
        {"gap", &Parameters::gap},
        {"per_byte", nullptr, &Parameters::per_byte},
        {"task_per_byte", nullptr, &Parameters::overhead_per_byte},
        {"copy", &Parameters::copy},
        {"copy_per_byte", nullptr, &Parameters::copy_per_byte},
        {"intra_node_latency", &Parameters::near_latency},
        {"intra_node_task", &Parameters::near_overhead},
        {"intra_node_per_byte", nullptr, &Parameters::near_per_byte},
    };
    return all;
}

Study read_study(const PredictOptions& options) {
    Study study;
    study.options = options;
    if (options.collectives.empty()) throw_invalid("name collectives, such as barrier");
    if (options.ranks.empty()) throw_invalid("--ranks is missing, such as --ranks 64,1024");
    study.ranks = read_ranks(options.ranks);
    study.collectives = read_list("COLLECTIVE", options.collectives, read_collective);
    std::vector<std::string> names;
    for (const simulate::Engine& engine : simulate::engines()) names.emplace_back(engine.name);
    study.engines = read_list("--engine", options.engines, [&](const std::string& word) {
        return &simulate::engines()[pick("--engine", word, names)];
    });
    study.bytes = read_blocks(options.bytes);
    study.tests = read_list("--tests", options.tests, [](const std::string& word) {
        return static_cast<int>(number_in("--tests", word, 0, max_tests));
    });
    read_work(options.work, study);
    if (!options.noise.empty()) {
        read_list("--noise", options.noise, [&](const std::string& word) {
            study.noises.push_back({word, read_noise(word)});
            return word;
        });
    }
    study.lateness = read_lateness(options.late);
    study.network.shape = options.network;
    study.network.ranks_per_host = options.ranks_per_host;
    static const std::string placements[] = {"in-order", "in-order-known", "random", "random-known"};
    const std::string& placement = placements[pick("--placement", options.placement, placements)];
    study.network.random_places = placement.starts_with("random");
    study.lists_follow_hosts = placement.ends_with("-known");
    study.network.seed = options.seed;
    study.network.hop = simulate::from_seconds(read_time("--hop", options.hop));
    const GivenSetting given[] = {{"--tuning", &Settings::tuning, if_given(options.tuning)}};
    study.tuning_file = checked_settings(given).tuning;
    if (!study.tuning_file.empty()) study.tuning = Tuning::read(study.tuning_file);
    read_rendezvous(options.rendezvous, study);
    study.costs = {.wake_up = simulate::from_seconds(read_time("--wake-up", options.wake_up))};
    study.threads = options.threads > 0 ? options.threads
                                        : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    study.memory = options.memory.empty() ? quarter_of_memory() : read_bytes("--memory", options.memory);
    // What is wrong with these is known before anything runs.
    simulate::Parameters parameters;
    parameters.latency = simulate::nanosecond;
    parameters.window_bytes = study.window_bytes;
    set_constants(options.constants, parameters);
    simulate::check(parameters);
    named("--interconnect", [&] { return make_network(study.network, study.ranks.front()); });
    return study;
}

}  // namespace lapwing::tool
