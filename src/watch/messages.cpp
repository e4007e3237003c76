#include "watch/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "watch/cbor.hpp"

namespace lapwing::watch {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobDescription, job, version, program, ranks, hosts, age, trouble)

std::vector<std::byte> encode(const JobDescription& description) {
    const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(nlohmann::json(description));
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    return {first, first + bytes.size()};
}

JobDescription decode_description(std::span<const std::byte> bytes) {
    try {
        return from_cbor(bytes).get<JobDescription>();
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::link, fmt::format("a rank has sent an invalid description: {}", error.what()));
    }
}

std::vector<std::byte> encode(const RankReply& reply) {
    const std::int64_t numbers[] = {reply.rank, reply.snapshot.empty() ? 0 : 1};
    const auto head = std::as_bytes(std::span(numbers));
    const auto rest = reply.snapshot.empty() ? std::as_bytes(std::span(reply.silence))
                                             : std::span<const std::byte>(reply.snapshot);
    std::vector<std::byte> bytes(head.size() + rest.size());
    std::copy(rest.begin(), rest.end(), std::copy(head.begin(), head.end(), bytes.begin()));
    return bytes;
}

RankReply decode_reply(std::span<const std::byte> bytes) {
    constexpr std::size_t head = 2 * sizeof(std::int64_t);
    if (bytes.size() < head) throw Error(ErrorCode::link, "a rank has sent a truncated reply");
    const auto numbers = decode_numbers(bytes.first(head));
    RankReply reply;
    reply.rank = static_cast<int>(numbers[0]);
    const auto rest = bytes.subspan(head);
    if (numbers[1] == 1)
        reply.snapshot.assign(rest.begin(), rest.end());
    else
        reply.silence.assign(reinterpret_cast<const char*>(rest.data()), rest.size());
    return reply;
}

Answer answer_of(const RankReply& reply) {
    Answer answer;
    answer.silence = reply.silence;
    if (reply.snapshot.empty()) return answer;
    try {
        answer.snapshot = decode(reply.snapshot);
    } catch (const Error& error) {
        answer.silence = fmt::format("rank {}: {}", reply.rank, error.what());
    }
    return answer;
}

std::vector<std::byte> encode_numbers(std::span<const std::int64_t> numbers) {
    const auto bytes = std::as_bytes(numbers);
    return {bytes.begin(), bytes.end()};
}

std::vector<std::int64_t> decode_numbers(std::span<const std::byte> bytes) {
    if (bytes.size() % sizeof(std::int64_t) != 0)
        throw Error(ErrorCode::link, "a rank has sent a truncated message");
    std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
}

}  // namespace lapwing::watch
