#include "lapwing/mlx5/commands.hpp"
#include "lapwing/mlx5/nic_devices.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_schema.hpp"
#include "engines/mlx5/conformance.hpp"
#include "engines/mlx5/probe.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/tables.hpp"

namespace lapwing::tool {
namespace {

using OrderedJson = nlohmann::ordered_json;
using mlx5::Answer;
using mlx5::Outcome;

// What the engine would try before it uses the card.
struct CardProbe {
    std::string variant;
    std::string unfit;  // why not; empty: it passed
};

struct Transcript {
    std::string name;
    mlx5::Capabilities capabilities;
    std::vector<CardProbe> probes;
    std::vector<Answer> answers;

    std::size_t count(Outcome outcome) const {
        return static_cast<std::size_t>(std::count_if(
            answers.begin(), answers.end(), [&](const Answer& one) { return one.outcome == outcome; }));
    }
    bool works() const { return count(Outcome::failed) == 0; }
};

Transcript examine(mlx5::Device& device) {
    Transcript all;
    all.name = device.name();
    all.capabilities = device.capabilities();
    for (const WorkVariant& variant : work_variants()) {
        if (variant.writes) continue;  // waits and enables are the same
        all.probes.push_back({variant.name, mlx5::probe(device, variant)});
    }
    all.answers = mlx5::check_conformance(device);
    return all;
}

std::string kernel() {
    utsname name{};
    uname(&name);
    return fmt::format("{} {}, {}", name.sysname, name.release, name.machine);
}

std::string print(const Verdict& verdict) {
    return verdict ? "yes" : fmt::format("no: {}", verdict.reason());
}

std::string print(const CardProbe& probe) {
    return probe.unfit.empty() ? "yes" : fmt::format("no: {}", probe.unfit);
}

std::string print(const Transcript& card) {
    const mlx5::Capabilities& can = card.capabilities;
    std::string text = fmt::format("card {}\n", card.name);
    std::vector<std::vector<std::string>> rows = {
        {"masters and managed queue pairs", print(can.cross_channel)},
        {"WAIT in plain queue pairs", print(can.wait_in_plain)},
        {"max blocks of a send queue", std::to_string(can.max_send_blocks)},
        {"max receives of a queue", std::to_string(can.max_receive_entries)},
        {"max completions of a queue", std::to_string(can.max_completions)},
        {"max message size", fmt::format("{} bytes", can.max_message)}};
    for (const CardProbe& probe : card.probes)
        rows.push_back({fmt::format("the engine starts with {}", probe.variant), print(probe)});
    text += align(rows) + "\n";
    rows.clear();
    for (const Answer& one : card.answers) {
        rows.push_back({mlx5::print(one.outcome), one.name, one.asks});
        if (!one.found.empty()) rows.push_back({"", "", fmt::format("  {}", one.found)});
    }
    text += align(rows);
    const std::size_t asked = card.count(Outcome::passed) + card.count(Outcome::failed);
    text += fmt::format(
        "\n"
        "{} of {} questions passed, {} not asked\n",
        card.count(Outcome::passed), asked, card.count(Outcome::not_asked));
    return text;
}

OrderedJson as_json(const Transcript& card) {
    const mlx5::Capabilities& can = card.capabilities;
    OrderedJson all = {{"name", card.name},
                       {"works", card.works()},
                       {"capabilities",
                        {{"cross_channel", print(can.cross_channel)},
                         {"wait_in_plain", print(can.wait_in_plain)},
                         {"max_send_blocks", can.max_send_blocks},
                         {"max_receive_entries", can.max_receive_entries},
                         {"max_completions", can.max_completions},
                         {"max_message", can.max_message}}},
                       {"probes", OrderedJson::object()},
                       {"answers", OrderedJson::array()}};
    for (const CardProbe& probe : card.probes) all["probes"][probe.variant] = print(probe);
    for (const Answer& one : card.answers)
        all["answers"].push_back({{"name", one.name},
                                  {"asks", one.asks},
                                  {"outcome", mlx5::print(one.outcome)},
                                  {"found", one.found}});
    return all;
}

}  // namespace

int examine_nics(const std::string& name, bool json) {
    const Nics nics = open_nics(name);
    std::vector<Transcript> cards;
    for (const auto& device : nics.devices) cards.push_back(examine(*device));
    if (json) {
        OrderedJson all = {{"schema", json_schema},
                           {"version", LAPWING_VERSION},
                           {"kernel", kernel()},
                           {"cards", OrderedJson::array()}};
        for (const Transcript& card : cards) all["cards"].push_back(as_json(card));
        if (cards.empty()) all["reason"] = nics.none;
        fmt::print("{}\n", all.dump(2, ' ', false, OrderedJson::error_handler_t::replace));
    } else {
        fmt::print("lapwing {}, {}\n\n", LAPWING_VERSION, kernel());
        for (const Transcript& card : cards) fmt::print("{}\n", print(card));
        if (cards.empty()) fmt::print("No ConnectX card to test: {}.\n", nics.none);
    }
    if (cards.empty()) return not_started;
    const bool all_work =
        std::all_of(cards.begin(), cards.end(), [](const Transcript& one) { return one.works(); });
    return all_work ? success : violations_found;
}

}  // namespace lapwing::tool
