#include "engines/mlx5/conformance.hpp"

#include "engines/mlx5/conformance_bench.hpp"

namespace lapwing::mlx5 {
namespace {

using namespace conformance;

const char* why_not(const Capabilities& can, Question::Needs needs) {
    switch (needs) {
        case Question::nothing:
            return nullptr;
        case Question::wait_in_plain:
            return can.wait_in_plain.reason();
        case Question::wait:
            return can.wait_in_plain ? nullptr : can.cross_channel.reason();
        case Question::cross_channel:
            return can.cross_channel.reason();
    }
    return nullptr;
}

Answer ask(Bench& bench, const Question& question) {
    Answer answer{question.name, question.asks, Outcome::not_asked, ""};
    if (const char* const reason = why_not(bench.capabilities, question.needs); reason != nullptr) {
        answer.found = reason;
        return answer;
    }
    try {
        question.ask(bench);
        answer.found = bench.note;
        answer.outcome = question.note ? Outcome::noted : Outcome::passed;
    } catch (const Failed& failed) {
        answer.outcome = Outcome::failed;
        answer.found = failed.why;
    } catch (const Error& error) {
        answer.outcome = Outcome::failed;
        answer.found = error.what();
    }
    return answer;
}

}  // namespace

const char* print(Outcome outcome) {
    switch (outcome) {
        case Outcome::passed:
            return "passed";
        case Outcome::failed:
            return "failed";
        case Outcome::noted:
            return "noted";
        case Outcome::not_asked:
            return "not asked";
    }
    return "?";
}

std::vector<Answer> check_conformance(Device& device, const ConformanceLimits& limits,
                                      std::string_view only) {
    std::vector<Answer> answers;
    for (const Question& question : questions()) {
        if (!only.empty() && only != question.name) continue;
        // Each question has queues of its own: errors of one must not reach the next.
        Bench bench(device, limits);
        answers.push_back(ask(bench, question));
    }
    return answers;
}

}  // namespace lapwing::mlx5
