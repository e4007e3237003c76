#include "engines/mlx5/conformance.hpp"

#include "engines/mlx5/conformance_bench.hpp"

namespace lapwing::mlx5 {
namespace {

using namespace conformance;

constexpr bool note = true;
constexpr Question questions[] = {
    {"report", "Of two requests the one that reports leaves a completion.", ask_report},
    {"write", "An RDMA write with immediate arrives, its data before its completion.", ask_write},
    {"send", "Sends arrive in order, each in the receive that is next.", ask_send},
    {"receiver_late", "A send without a receive is tried again until there is one.", ask_receiver_late},
    {"write_late", "A write with immediate is not complete before there is a receive.", ask_write_late},
    {"write_nothing", "A write of no bytes completes that names no memory.", ask_write_nothing},
    {"event", "An armed completion queue gives one event for its next completion.", ask_event},
    {"key", "Memory that a key does not cover is refused.", ask_key},
    {"wait_plain", "A WAIT in a plain queue pair ends with the completion that it names.", ask_wait_plain,
     Question::wait_in_plain},
    {"wait_master", "A WAIT in a master ends with the completion that it names.", ask_wait_master,
     Question::cross_channel},
    {"wait_after", "A WAIT for a completion that is there, and read, ends at once.", ask_wait_after,
     Question::wait},
    {"wait_count", "A WAIT for the fifth completion ends with the fifth.", ask_wait_count, Question::wait},
    {"waits_in_order", "Several WAITs for one count all end, in order.", ask_waits_in_order, Question::wait},
    {"wait_quiet", "A WAIT that does not report leaves no completion.", ask_wait_quiet, Question::wait},
    {"overrun", "Where overrun is ignored, a WAIT counts more completions than their ring holds.",
     ask_overrun, Question::wait},
    {"far_wait", "A WAIT compares more than 16 bits, cyclically.", ask_far_wait, Question::wait},
    {"index_wrap", "Indices of requests wrap at 16 bits.", ask_index_wrap, Question::wait},
    {"destroy", "A queue pair that waits can be destroyed.", ask_destroy, Question::wait},
    {"enable", "A managed queue runs as far as SEND_EN says; saying it again does no harm.", ask_enable,
     Question::cross_channel},
    {"enable_in_turn", "One bell runs a chain of enables and WAITs.", ask_enable_in_turn,
     Question::cross_channel},
    {"enable_wrap", "Enables wrap at 16 bits.", ask_enable_wrap, Question::cross_channel},
    {"index", "Is the index of a request checked?", ask_index, Question::nothing, note},
    {"error_counts", "Does an error completion count for a WAIT?", ask_error_counts, Question::wait, note},
    {"fetched", "When is a request read that stands behind a WAIT?", ask_fetched, Question::wait, note},
    {"managed_fetched", "When is a request of a managed queue read?", ask_managed_fetched,
     Question::cross_channel, note},
    {"wait_time", "How long does a WAIT take that need not wait?", ask_step, Question::wait, note},
};

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
        answer.found = question.ask(bench);
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
    for (const Question& question : questions) {
        if (!only.empty() && only != question.name) continue;
        // What one has left behind, an error above all, is nothing to the next.
        Bench bench(device, limits);
        answers.push_back(ask(bench, question));
    }
    return answers;
}

}  // namespace lapwing::mlx5
