// Recordings written by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "recording/recording.hpp"

namespace lapwing::simulate {

// One rank of a recording, call by call. Times are nanoseconds.
class RecordedRank {
  public:
    RecordedRank(int rank, int ranks) {
        rank_.rank = rank;
        rank_.host = "host" + std::to_string(rank);
        rank_.ended = true;
        rank_.threads.resize(1);
        std::vector<int> world;
        for (int member = 0; member < ranks; ++member) world.push_back(member);
        communicator(std::move(world));
    }

    // Returns its number.
    std::uint32_t communicator(std::vector<int> members, std::uint64_t ordinal = 0) {
        recording::Communicator one;
        one.members = std::move(members);
        one.ordinal = ordinal;
        const auto number = static_cast<std::uint32_t>(rank_.communicators.size()) + 1;
        rank_.communicators[number] = std::move(one);
        return number;
    }
    std::uint32_t counts(std::vector<std::uint64_t> bytes) {
        recording::Counts one;
        one.all = std::move(bytes);
        for (const std::uint64_t each : one.all) one.sum += each;
        const auto number = static_cast<std::uint32_t>(rank_.counts.size()) + 1;
        rank_.counts[number] = std::move(one);
        return number;
    }

    // Computes for `work`, or for each of its values in turn, then calls `function`.
    RecordedRank& call(const std::string& function, std::vector<std::uint64_t> work,
                       recording::Call call = {}, std::uint64_t inside = 0, std::uint64_t polls = 0) {
        const auto [found, fresh] =
            sites_.try_emplace(function, static_cast<std::uint32_t>(sites_.size()) + 1);
        if (fresh) rank_.sites[found->second] = {function, "program", 0, ""};
        call.site = found->second;
        if (call.communicator == 0) call.communicator = 1;
        recording::Thread& thread = rank_.threads.front();
        recording::Node node;
        node.call = static_cast<std::uint32_t>(thread.calls.size());
        thread.calls.push_back(std::move(call));
        for (const std::uint64_t one : work) {
            recording::Times times;
            times.add(recording::Time{.processor = one, .wall = one, .inside = inside, .polls = polls});
            node.times.add(times);
        }
        sequence().push_back(std::move(node));
        return *this;
    }
    // Calls from here to end() are made so many times.
    RecordedRank& loop(std::uint64_t repeats) {
        open_.emplace_back().passes.add(repeats);
        return *this;
    }
    RecordedRank& end() {
        recording::Node loop = std::move(open_.back());
        open_.pop_back();
        sequence().push_back(std::move(loop));
        return *this;
    }
    recording::Rank finish(std::uint64_t work = 0) {
        call("MPI_Finalize", {work});
        return rank_;
    }

  private:
    std::vector<recording::Node>& sequence() {
        return open_.empty() ? rank_.threads.front().sequence : open_.back().body;
    }

    recording::Rank rank_;
    std::map<std::string, std::uint32_t> sites_;
    std::vector<recording::Node> open_;
};

}  // namespace lapwing::simulate
