#include "lapwing/doctor/reach_task.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/error.hpp"
#include "lapwing/doctor/places.hpp"

namespace lapwing::tool {

std::string ReachTask::write() const {
    std::string digits;
    for (const unsigned char byte : key) digits += fmt::format("{:02x}", byte);
    nlohmann::json all = {{"key", digits}, {"late", late.count()}, {"members", nlohmann::json::array()}};
    for (const Member& member : members) {
        std::vector<std::string> written;
        for (const tcp::IpAddress& place : member.places) written.push_back(write_place(place));
        all["members"].push_back(
            {{"h", member.host}, {"n", member.name}, {"p", member.ports}, {"a", written}});
    }
    return all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

ReachTask ReachTask::read(const std::string& text) {
    try {
        const nlohmann::json all = nlohmann::json::parse(text);
        ReachTask task;
        const std::string digits = all.at("key");
        if (digits.size() != 2 * task.key.size())
            throw Error(ErrorCode::invalid_argument, "the key has another length");
        for (std::size_t i = 0; i < task.key.size(); ++i)
            std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, task.key[i], 16);
        task.late = std::chrono::milliseconds(all.at("late").get<int>());
        for (const nlohmann::json& one : all.at("members")) {
            Member& member = task.members.emplace_back();
            member.host = one.at("h");
            member.name = one.at("n");
            member.ports = one.at("p").get<std::vector<std::uint16_t>>();
            for (const nlohmann::json& place : one.at("a")) member.places.push_back(read_place(place));
        }
        return task;
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} does not list the hosts: {}", reach_variable, error.what()));
    }
}

}  // namespace lapwing::tool
