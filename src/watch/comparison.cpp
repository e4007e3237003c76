#include "watch/comparison.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "watch/calls.hpp"
#include "watch/cbor.hpp"

namespace lapwing::watch {

namespace {

constexpr std::size_t fields = 17;

std::size_t bytes_of(const std::vector<std::uint64_t>& counts) {
    return counts.size() * sizeof(std::uint64_t);
}

}  // namespace

std::vector<std::byte> encode(std::span<const ReportedCall> calls) {
    nlohmann::json all = nlohmann::json::array();
    for (const ReportedCall& report : calls) {
        const CollectiveCall& call = report.call;
        const Arguments& arguments = call.arguments;
        all.push_back(nlohmann::json::array(
            {report.rank, report.members_hash, report.ordinal, report.name, report.member, report.members,
             call.number, call.form, call.function, call.where, arguments.collective, arguments.root,
             arguments.bytes, arguments.type, arguments.operation, arguments.sent, arguments.received}));
    }
    return to_cbor(all);
}

std::vector<ReportedCall> decode_calls(std::span<const std::byte> bytes) {
    return from_cbor(bytes, "record of a call", [](const nlohmann::json& all) {
        std::vector<ReportedCall> calls;
        for (const nlohmann::json& json : all) {
            if (!json.is_array() || json.size() != fields)
                throw Error(ErrorCode::link, "a rank has sent an invalid record of a call");
            ReportedCall& report = calls.emplace_back();
            CollectiveCall& call = report.call;
            Arguments& arguments = call.arguments;
            std::size_t next = 0;
            const auto read = [&json, &next](auto&... values) { (json[next++].get_to(values), ...); };
            read(report.rank, report.members_hash, report.ordinal, report.name, report.member, report.members,
                 call.number, call.form, call.function, call.where, arguments.collective, arguments.root,
                 arguments.bytes, arguments.type, arguments.operation, arguments.sent, arguments.received);
            if (static_cast<std::size_t>(arguments.collective) >= all_collectives().size() ||
                report.members < 1 || report.member < 0 || report.member >= report.members) {
                throw Error(ErrorCode::link, "a rank has sent a record of an unknown call");
            }
        }
        return calls;
    });
}

std::string counts_differ(const CollectiveCall& call, const std::string& communicator,
                          const TransferSide& sender, const TransferSide& receiver) {
    return fmt::format(
        "rank {} sends {} bytes to rank {} in {}{} (call {} on {}), but rank {} receives {} bytes from rank "
        "{}{}: "
        "the counts differ",
        sender.rank, sender.bytes, receiver.rank, call.function, at(sender.where), call.number, communicator,
        receiver.rank, receiver.bytes, sender.rank, at(receiver.where));
}

std::optional<std::string> CallComparison::add(const ReportedCall& report) {
    Communicator& communicator = communicators_[{report.members_hash, report.ordinal}];
    if (communicator.abandoned || report.members < 2) return std::nullopt;
    const auto [entry, added] = communicator.pending.try_emplace(report.call.number);
    Pending& pending = entry->second;
    if (added) {
        ++pending_;
        pending.rank = report.rank;
        const auto& last = communicator.last;
        if (last == nullptr || last->where != report.call.where ||
            difference(*last, report.call) != Difference::none) {
            auto call = std::make_shared<CollectiveCall>(report.call);
            call->arguments.sent.clear();
            call->arguments.received.clear();
            communicator.last = std::move(call);
        }
        pending.call = communicator.last;
    } else if (const Difference what = difference(*pending.call, report.call); what != Difference::none) {
        return fmt::format("rank {} called {}{} as call {} on {}, but rank {} called {}{}: {}", pending.rank,
                           describe(*pending.call), at(pending.call->where), report.call.number, report.name,
                           report.rank, describe(report.call), at(report.call.where), watch::name(what));
    }
    if (has_parts(report.call.arguments.collective)) {
        if (auto sentence = compare_counts(report, pending)) return sentence;
    }
    if (++pending.reports == report.members) {
        ++compared_;
        --pending_;
        remove_counts(pending);
        communicator.pending.erase(entry);
    } else if (communicator.pending.size() > max_pending) {
        for (const auto& [number, each] : communicator.pending) remove_counts(each);
        pending_ -= communicator.pending.size();
        communicator.pending.clear();
        communicator.abandoned = true;
        ++abandoned_;
    }
    return std::nullopt;
}

void CallComparison::remove_counts(const Pending& pending) {
    for (const auto& [member, counts] : pending.counts)
        counts_ -= bytes_of(counts.sent) + bytes_of(counts.received);
}

std::optional<std::string> CallComparison::compare_counts(const ReportedCall& report, Pending& pending) {
    const Arguments& arguments = report.call.arguments;
    const auto size = static_cast<std::size_t>(report.members);
    if (arguments.sent.size() != size && arguments.received.size() != size) return std::nullopt;
    const Counts own{report.rank, report.call.where, arguments.sent, arguments.received};
    const auto one_way = [&](const Counts& sender, int from, const Counts& receiver,
                             int to) -> std::optional<std::string> {
        if (sender.sent.size() != size || receiver.received.size() != size) return std::nullopt;
        const std::uint64_t sent = sender.sent[static_cast<std::size_t>(to)];
        const std::uint64_t received = receiver.received[static_cast<std::size_t>(from)];
        if (sent == received) return std::nullopt;
        return counts_differ(report.call, report.name, {sender.rank, sender.where, sent},
                             {receiver.rank, receiver.where, received});
    };
    if (auto sentence = one_way(own, report.member, own, report.member)) return sentence;
    for (const auto& [member, other] : pending.counts) {
        if (auto sentence = one_way(own, report.member, other, member)) return sentence;
        if (auto sentence = one_way(other, member, own, report.member)) return sentence;
    }
    const std::size_t bytes = bytes_of(own.sent) + bytes_of(own.received);
    if (counts_ + bytes <= max_counts && pending.counts.try_emplace(report.member, own).second)
        counts_ += bytes;
    return std::nullopt;
}

}  // namespace lapwing::watch
