#include "tune/settings.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lapwing::tune {

Settings read_settings(const char* text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    Settings settings;
    json.at("engines").get_to(settings.engines);
    for (const nlohmann::json& word : json.at("collectives")) {
        const auto collective = find_collective(word.get<std::string>());
        if (!collective) throw Error(ErrorCode::invalid_argument, "unknown collective " + word.dump());
        settings.collectives.push_back(*collective);
    }
    settings.algorithms = RequestedAlgorithms::parse(json.at("algorithms").get<std::string>());
    json.at("bytes").get_to(settings.bytes);
    json.at("ranks").get_to(settings.ranks);
    json.at("rounds").get_to(settings.rounds);
    json.at("seconds").get_to(settings.seconds);
    return settings;
}

}  // namespace lapwing::tune
