#include "lapwing/compare/answer.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/values.hpp"
#include "lapwing/bench/statistics.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/compare/statistics.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

// Shares in percent. A narrow interval needs a decimal place.
class Percent {
  public:
    explicit Percent(double width) : places_(width < 0.03 ? 1 : 0) {}
    std::string operator()(double share) const {
        const std::string text = fmt::format("{:.{}f}", 100 * share, places_);
        return text.find_first_of("123456789") == std::string::npos ? "0" : text;
    }

  private:
    int places_;
};

double median_of(const std::vector<double>& values) {
    return spread(values).at("median");
}

std::string sentence(const Variant& native, const Variant& variant, double within) {
    const std::size_t pairs = variant.seconds.size();
    const Estimate estimate = estimate_ratio(ratios(native, variant));
    const std::string name = variant.name == "lapwing" ? "Lapwing" : fmt::format("'{}'", variant.name);
    if (!estimate.interval)
        return fmt::format("{}: {} too few for an interval; the ratio of the times is {:.2f}", name,
                           counted(pairs, "pair is", "pairs are"), estimate.middle);
    const auto [low, high] = *estimate.interval;
    const Percent percent(high - low);
    const auto found = [&](const char* verb, double middle, double from, double to) {
        return fmt::format("{} {} {} % ({} to {}, 95 % of {} pairs)", name, verb, percent(middle),
                           percent(from), percent(to), pairs);
    };
    if (high < 1) return found("saves", 1 - estimate.middle, 1 - high, 1 - low);
    if (low > 1) return found("costs", estimate.middle - 1, low - 1, high - 1);
    std::string text = fmt::format("{}: no difference can be seen (it saves {} to {} %, 95 % of {} pairs)",
                                   name, percent(1 - high), percent(1 - low), pairs);
    const std::size_t more = rounds_to_show(within, *estimate.interval, pairs);
    if (more > 1000)
        text += fmt::format("; the times differ too much from round to round to show {:g} %", 100 * within);
    else if (more > 0)
        text += fmt::format("; about {} would show {:g} %", counted(more, "more round"), 100 * within);
    return text;
}

}  // namespace

std::string answer(const std::vector<Variant>& variants, double within) {
    if (variants.front().seconds.empty()) return "No round is complete.\n";
    std::string text;
    for (std::size_t i = 1; i < variants.size(); ++i)
        text += sentence(variants.front(), variants[i], within) + "\n";
    return text;
}

std::string comparison_table(const std::vector<Variant>& variants, bool printed) {
    if (variants.front().seconds.empty()) return "";
    std::vector<std::vector<std::string>> rows = {
        {"variant", "seconds", "q1", "q3", "ratio", "from", "to", "in the program", "processor"}};
    for (const Variant& variant : variants) {
        const Json seconds = spread(variant.seconds);
        std::vector<std::string> row = {variant.name};
        for (const char* quartile : {"median", "q1", "q3"})
            row.push_back(fmt::format("{:.3f}", seconds.at(quartile).get<double>()));
        const Estimate estimate = estimate_ratio(ratios(variants.front(), variant));
        const bool has_interval = &variant != &variants.front() && estimate.interval;
        row.push_back(fmt::format("{:.3f}", estimate.middle));
        row.push_back(has_interval ? fmt::format("{:.3f}", estimate.interval->first) : "-");
        row.push_back(has_interval ? fmt::format("{:.3f}", estimate.interval->second) : "-");
        for (const std::vector<double>& times : {variant.timed.seconds, variant.timed.processor})
            row.push_back(times.empty() ? "-" : fmt::format("{:.3f}", median_of(times)));
        rows.push_back(row);
    }
    return align(rows) + fmt::format(
                             "seconds: {}, median and quartiles; in the program: from MPI_Init to "
                             "MPI_Finalize, and processor:\nof all ranks, from separate runs with a timer.\n",
                             printed ? "as printed" : "of the launcher");
}

Json comparison_row(const std::vector<Variant>& variants) {
    Json engines = Json::array();
    for (const Variant& variant : variants) {
        const std::vector<double> of_rounds = ratios(variants.front(), variant);
        const Estimate estimate = estimate_ratio(of_rounds);
        Json rounds = Json::array();
        for (std::size_t i = 0; i < of_rounds.size(); ++i)
            rounds.push_back({{"total", variant.seconds[i]}, {"ratio", of_rounds[i]}});
        Json engine = {{"engine", variant.name},
                       {"launched", variant.launch.words},
                       {"rounds", rounds},
                       {"summary", {{"total", spread(variant.seconds)}, {"ratio", spread(of_rounds)}}},
                       {"ratio", estimate.middle},
                       {"interval", nullptr}};
        for (const auto& [quantity, times] :
             {std::pair("program", variant.timed.seconds), std::pair("processor", variant.timed.processor)})
            if (!times.empty()) engine["summary"][quantity] = spread(times);
        if (estimate.interval) engine["interval"] = *estimate.interval;
        engines.push_back(engine);
    }
    return {{"collective", ""}, {"engines", engines}};
}

}  // namespace lapwing::tool
