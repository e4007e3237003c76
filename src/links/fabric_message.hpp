// The messages of all fabrics, and their groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace lapwing {

struct FabricMessage;

// The ranks that one link reaches, and its messages.
struct FabricGroup {
    std::uint64_t number = 0;
    std::vector<int> members;  // ranks in the job, by rank in the group
    std::uint64_t tag = 0;     // of all its messages, where the library has tags
    bool internal = false;     // the fabric's own: no caller waits for its messages
    std::string broken;        // why all transfers fail; empty: they may complete
    std::vector<FabricMessage*> messages;
};

// One send or receive, until its caller has seen its end.
struct FabricMessage {
    FabricGroup* group = nullptr;
    std::size_t index = 0;  // among the group's messages
    int peer = 0;           // rank in the job
    bool receive = false;
    std::uint32_t channel = 0;
    std::byte* data = nullptr;  // a send only reads it
    std::uint64_t bytes = 0;
    // What the library has in flight for it. The fabric owns these objects; each refers to its message until
    // it completes or is abandoned.
    std::vector<void*> parts;
    std::size_t left = 0;     // parts that are not complete
    std::uint64_t epoch = 0;  // when the message completed or failed; 0 while it is in flight
    ErrorCode code = ErrorCode::link;
    std::string failure;
};

}  // namespace lapwing
