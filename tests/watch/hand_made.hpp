// Snapshots of a job, made by hand.
#pragma once

#include "support/unit.hpp"
#include "watch/calls.hpp"
#include "watch/diagnosis.hpp"

namespace lapwing::testing_watch {

using watch::CollectiveCall;
using watch::CommunicatorSnapshot;
using watch::CurrentCall;
using watch::Form;
using watch::RankSnapshot;

constexpr std::uint64_t second = 1'000'000'000;

inline CollectiveCall make_call(Collective collective, const std::string& where, std::uint64_t bytes = 8,
                                int root = 0) {
    CollectiveCall call;
    call.form = Form::nonblocking;
    call.arguments.collective = collective;
    call.arguments.root = has_root(collective) ? root : -1;
    call.arguments.bytes = collective == Collective::barrier || has_parts(collective) ? 0 : bytes;
    if (is_reduction(collective)) {
        call.arguments.type = "MPI_DOUBLE";
        call.arguments.operation = "MPI_SUM";
    }
    call.function = mpi_name(collective);
    call.where = where;
    call.by_lapwing = true;
    return call;
}

inline CollectiveCall blocking(CollectiveCall call) {
    call.form = Form::blocking;
    call.function =
        "MPI_" + std::string(1, static_cast<char>(std::toupper(call.function[5]))) + call.function.substr(6);
    return call;
}

class HandMadeJob {
  public:
    // Two ranks on each host; MPI_COMM_WORLD is communicator 0.
    explicit HandMadeJob(int ranks) : answers_(static_cast<std::size_t>(ranks)) {
        std::vector<int> all(static_cast<std::size_t>(ranks));
        std::iota(all.begin(), all.end(), 0);
        for (int rank = 0; rank < ranks; ++rank) {
            RankSnapshot& snapshot = answers_[static_cast<std::size_t>(rank)];
            snapshot.rank = rank;
            snapshot.host = "node" + std::to_string(rank / 2);
            snapshot.pid = 4000 + rank;
            snapshot.program = "solver";
        }
        communicator("MPI_COMM_WORLD", all);
    }

    int communicator(const std::string& name, const std::vector<int>& members) {
        for (const int member : members) {
            CommunicatorSnapshot snapshot;
            snapshot.id = {static_cast<std::uint64_t>(communicators_), 7};
            snapshot.name = name;
            snapshot.members = watch::runs_of(members);
            rank(member).communicators.push_back(std::move(snapshot));
        }
        return communicators_++;
    }

    RankSnapshot& rank(int rank) { return answers_[static_cast<std::size_t>(rank)]; }
    int index(int rank, int communicator) const {
        const auto& all = answers_[static_cast<std::size_t>(rank)].communicators;
        const auto found = std::ranges::find(all, static_cast<std::uint64_t>(communicator),
                                             [](const CommunicatorSnapshot& one) { return one.id[0]; });
        return found == all.end() ? -1 : static_cast<int>(found - all.begin());
    }
    CommunicatorSnapshot& of(int member, int communicator) {
        return rank(member).communicators[static_cast<std::size_t>(index(member, communicator))];
    }

    // Records a call, in flight. Returns its number.
    std::uint64_t call(int member, int communicator, CollectiveCall call, std::uint64_t age = 41 * second) {
        CommunicatorSnapshot& snapshot = of(member, communicator);
        call.number = ++snapshot.calls;
        call.age = age;
        call.in_flight = true;
        snapshot.hash = snapshot.hash * 0x9e3779b97f4a7c15 + watch::hash_of(call);
        snapshot.recent.push_back(std::move(call));
        if (snapshot.recent.size() > 16) snapshot.recent.erase(snapshot.recent.begin());
        return snapshot.calls;
    }
    std::uint64_t completed(int member, int communicator, CollectiveCall call) {
        const std::uint64_t number = this->call(member, communicator, std::move(call), 60 * second);
        complete(member, communicator, number);
        return number;
    }
    void complete(int member, int communicator, std::uint64_t number) {
        for (CollectiveCall& call : of(member, communicator).recent)
            if (call.number == number) call.in_flight = false;
    }
    CurrentCall& inside(int member, const std::string& function, const std::string& where,
                        int communicator = -1, std::uint64_t age = 41 * second) {
        CurrentCall call;
        call.function = function;
        call.where = where;
        call.age = age;
        call.communicator = communicator < 0 ? -1 : index(member, communicator);
        rank(member).current.push_back(call);
        return rank(member).current.back();
    }
    // A blocking collective, and the wait in it.
    std::uint64_t enter(int member, int communicator, const CollectiveCall& call,
                        std::uint64_t age = 41 * second) {
        const CollectiveCall entered = blocking(call);
        const std::uint64_t number = this->call(member, communicator, entered, age);
        inside(member, entered.function, entered.where, communicator, age);
        return number;
    }
    // A nonblocking collective, and MPI_Wait for it.
    std::uint64_t start_and_wait(int member, int communicator, const CollectiveCall& call,
                                 const std::string& where, std::uint64_t age = 41 * second) {
        const std::uint64_t number = this->call(member, communicator, call, age);
        inside(member, "MPI_Wait", where, communicator, age).waits_for = {number};
        return number;
    }
    void message(int member, const std::string& function, int communicator, int peer, int tag,
                 const std::string& where, std::uint64_t age = 41 * second) {
        CurrentCall& call = inside(member, function, where, communicator, age);
        call.peer = peer;
        call.tag = tag;
    }
    void leave(int member) { rank(member).current.clear(); }
    void last(int member, const std::string& function, const std::string& where,
              std::uint64_t age = 42 * second) {
        CurrentCall& call = rank(member).last;
        call.function = function;
        call.where = where;
        call.age = age;
    }
    void silence(int member, const std::string& why) {
        rank(member) = {};
        rank(member).rank = member;
        rank(member).silence = why;
    }

    const std::vector<RankSnapshot>& answers() const { return answers_; }
    int ranks() const { return static_cast<int>(answers_.size()); }
    std::vector<watch::Finding> diagnose() const { return watch::diagnose(answers_); }
    // The only one.
    watch::Finding finding() const {
        const std::vector<watch::Finding> all = diagnose();
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? watch::Finding() : all.front();
    }

  private:
    std::vector<RankSnapshot> answers_;
    int communicators_ = 0;
};

}  // namespace lapwing::testing_watch
