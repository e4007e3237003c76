#include "engines/mlx5/entries_text.hpp"

#include <fmt/format.h>

#include <array>

#include "engines/mlx5/requests.hpp"
#include "task/text.hpp"

namespace lapwing::mlx5 {
namespace {

// Numbers that cards would give, the same on all ranks.
constexpr std::uint32_t first_queue_pair = 0x100;
constexpr std::uint32_t first_receives = 0x200;
constexpr std::uint32_t sends = 0x300;
constexpr std::uint32_t copies = 0x301;

std::uint64_t address_of(const Span& span) {
    return ((std::uint64_t{static_cast<std::uint8_t>(span.space)} + 1) << 40) + span.offset;
}
std::uint32_t key_of(const Span& span) {
    return (std::uint32_t{static_cast<std::uint8_t>(span.space)} + 1) * 0x1000;
}
Data data_of(const Span& span) {
    if (span.length == 0) return {};
    return {address_of(span), static_cast<std::uint32_t>(span.length), key_of(span)};
}
RemoteData target_of(const Span& span) {
    constexpr std::uint32_t for_peers = 1;
    if (span.length == 0) return {};
    return {address_of(span), key_of(span) + for_peers};
}

std::uint32_t object_of(const WorkRequest& request) {
    if (request.kind == WorkRequest::Kind::enable) return first_queue_pair + request.queue;
    if (request.kind != WorkRequest::Kind::wait) return 0;
    if (request.source == WorkRequest::Source::sends) return sends;
    if (request.source == WorkRequest::Source::copies) return copies;
    return first_receives + request.queue;
}

std::string hex(const std::byte* bytes, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", static_cast<int>(bytes[i]));
    return text;
}

void print_request(std::string& text, const WorkQueues& queues, std::uint32_t queue, std::uint16_t index,
                   const std::vector<Span>& written) {
    const WorkRequest& request = queues.queues[queue].requests[index];
    std::array<std::byte, block_bytes> block{};
    put_request(block.data(), request,
                {first_queue_pair + queue, data_of(request.from),
                 target_of(request.kind != WorkRequest::Kind::write ? request.to
                           : written.empty()                        ? Span{}
                                                                    : written[request.count]),
                 object_of(request)});
    rearm(block.data(), request, index, 0);
    const bool sent = request.kind == WorkRequest::Kind::write && request.from.length > 0 && written.empty();
    text += fmt::format("    {}{}\n", print(queues, request), sent ? ", as a send" : "");
    for (const Field& field : fields_of(block.data())) {
        text += fmt::format("      {:>2}  {:<16}  {:<24} {}\n", field.offset,
                            hex(block.data() + field.offset, field.bytes), field.name, field.value);
    }
}

void print_receive(std::string& text, const Span& span, const Span& scattered) {
    std::array<std::byte, receive_bytes> entry{};
    put_receive(entry.data(), data_of(scattered));
    text += fmt::format("    {}\n      {} {} {}\n", print(span), hex(entry.data(), 4),
                        hex(entry.data() + 4, 4), hex(entry.data() + 8, 8));
}

}  // namespace

std::string print_entries(const WorkQueues& queues, const Written& written) {
    std::string text = fmt::format("work queues of rank {} of {}, {}: {}\n", queues.rank, queues.ranks,
                                   queues.variant.name, queues.variant.meaning);
    for (std::uint32_t at = 0; at < queues.queues.size(); ++at) {
        const WorkQueue& queue = queues.queues[at];
        if (!queue.receives.empty()) {
            text +=
                fmt::format("  receive queue from {}: bytes, local key, address; completion queue {:#x}\n",
                            queue.peer, first_receives + at);
            // What is written names its place itself.
            for (const Span& span : queue.receives) print_receive(text, span, written.here ? Span{} : span);
        }
        if (queue.requests.empty()) continue;
        const std::string which =
            at == queues.management() ? "management queue"
            : at == queues.copies()
                ? fmt::format("copy queue; completion queue {:#x}", copies)
                : fmt::format("send queue to {}; completion queue {:#x}", queue.peer, sends);
        text += fmt::format("  {}\n", which);
        std::vector<Span> targets;
        if (queues.variant.writes && at < queues.copies()) targets = written.at(queue.peer);
        for (std::size_t index = 0; index < queue.requests.size(); ++index)
            print_request(text, queues, at, static_cast<std::uint16_t>(index), targets);
    }
    if (queues.stages.size() > 1 || (!queues.stages.empty() && !queues.stages.front().host.empty()))
        text += fmt::format("  stages: {}; the CPU posts each stage when the previous stage is complete\n",
                            queues.stages.size());
    for (std::size_t at = 0; at < queues.stages.size(); ++at) {
        if (queues.stages[at].host.empty()) continue;
        text += fmt::format("  by the CPU before stage {}\n", at + 1);
        for (const Task& task : queues.stages[at].host) text += fmt::format("    {}\n", print(task));
    }
    return text;
}

}  // namespace lapwing::mlx5
