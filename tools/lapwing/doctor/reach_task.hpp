// The description of all agents that each agent of `lapwing doctor` gets before it connects.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "links/tcp/address.hpp"

namespace lapwing::tool {

// Passed in an environment variable.
struct ReachTask {
    struct Member {
        std::uint64_t host = 0;  // its number
        std::string name;
        std::vector<std::uint16_t> ports;
        std::vector<tcp::IpAddress> places;
    };
    tcp::Key key{};
    std::chrono::milliseconds late{0};  // maximum delay between the starts of two agents
    std::vector<Member> members;

    std::string write() const;
    // Throws Error (invalid_argument).
    static ReachTask read(const std::string& text);
};

inline constexpr const char* reach_variable = "DOCTOR_OF_LAPWING";  // LAPWING_* are settings

}  // namespace lapwing::tool
