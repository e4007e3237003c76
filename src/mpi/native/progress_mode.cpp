#include "mpi/native/progress_mode.hpp"

#include <algorithm>

namespace lapwing {
namespace {

std::string why_no_messages(const ProgressFacts& facts, const std::string& why_never) {
    if (!facts.fault_tolerant.empty()) return facts.fault_tolerant;
    if (facts.messages == "off") return "LAPWING_MESSAGES=off";
    if (facts.progress_thread == "none") return "LAPWING_PROGRESS_THREAD=none";
    if (facts.messages == "auto" && facts.fills_one_host)
        return "all ranks are on one host without spare CPUs";
    if (!why_never.empty()) return why_never;
    if (!facts.own_thread.empty())
        return "the MPI has a progress thread of its own (" + facts.own_thread + ")";
    return "";
}

std::string why_never(const ProgressFacts& facts) {
    if (facts.level < ThreadLevel::serialized) return "the MPI does not provide MPI_THREAD_SERIALIZED";
    if (!facts.gate_is_complete) return "this MPI is newer than the versions that Lapwing supports";
    return facts.has_membarrier ? "" : "this kernel refuses membarrier(2)";
}

}  // namespace

ThreadLevel level_to_ask(const LevelFacts& facts) {
    // Without a hook, lists enter the MPI from Lapwing's thread.
    if (facts.lists_enter && !facts.offers_hook) return ThreadLevel::multiple;
    if (facts.messages == "off" || facts.progress_thread == "none") return facts.wanted;
    // Open MPI 4 takes a lock for each message from MPI_THREAD_SERIALIZED on.
    if (facts.messages != "on" && facts.fills_one_host) return facts.wanted;
    return std::max(facts.wanted, ThreadLevel::serialized);
}

ProgressMode progress_mode(const ProgressFacts& facts) {
    ProgressMode mode;
    mode.why_never = why_never(facts);
    mode.threads = facts.level == ThreadLevel::multiple;
    mode.hook = facts.hook;
    mode.lists_call_mpi = !facts.others_stay_out && (facts.hook != Hook::polling || mode.threads);
    mode.why_no_messages = why_no_messages(facts, mode.why_never);
    return mode;
}

ThreadDuties ProgressMode::duties(bool over_mpi) const {
    ThreadDuties duties;
    const bool polls_messages_of_lists = hook != Hook::none && over_mpi && why_never.empty();
    duties.polls_lists = hook == Hook::polling || polls_messages_of_lists;
    // Without a hook no other thread may advance them.
    duties.lists_in_polls = lists_call_mpi && hook != Hook::polling;
    duties.completes_lists = lists_call_mpi;
    duties.messages = why_no_messages.empty();
    duties.runs = duties.polls_lists || duties.messages || hook == Hook::thread;
    duties.closes_gate = duties.runs && (lists_call_mpi || duties.messages);
    return duties;
}

}  // namespace lapwing
