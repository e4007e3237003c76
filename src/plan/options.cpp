#include "plan/options.hpp"

#include "base/values.hpp"
#include "engines/catalogue.hpp"

namespace lapwing {
namespace {

std::uint64_t max_bytes_by_memory(const Settings& settings) {
    if (settings.inside == "memory") return UINT64_MAX;
    if (settings.inside == "engine") return 0;
    const auto bytes = parse_bytes(settings.inside);
    if (!bytes)
        refuse_value("LAPWING_INSIDE", "memory, engine or a number of bytes such as 4Ki", settings.inside);
    return *bytes;
}

}  // namespace

bool parse_check(const std::string& value) {
#ifdef NDEBUG
    constexpr bool debug_build = false;
#else
    constexpr bool debug_build = true;
#endif
    if (value != "auto" && value != "0" && value != "1") refuse_value("LAPWING_CHECK", "auto, 0 or 1", value);
    return value == "auto" ? debug_build : value == "1";
}

PlanOptions read_plan_options(const Settings& settings, const std::vector<std::string>& engine_words) {
    std::vector<std::string> words = {"auto"};
    words.insert(words.end(), engine_words.begin(), engine_words.end());
    for (const Engine* engine : engines()) words.emplace_back(engine->name());
    check_word("LAPWING_ENGINE", settings.engine, words);
    PlanOptions options;
    options.engine = settings.engine;
    options.requested = RequestedAlgorithms::parse(settings.algorithm);
    if (!settings.tuning.empty())
        options.tuning = std::make_shared<const Tuning>(Tuning::read(settings.tuning));
    options.check = parse_check(settings.check);
    options.max_bytes_by_memory = max_bytes_by_memory(settings);
    return options;
}

bool takes_device_memory(const Settings& settings) {
    check_word("LAPWING_DEVICE_MEMORY", settings.device_memory, {"auto", "0"});
    return settings.device_memory == "auto";
}

}  // namespace lapwing
