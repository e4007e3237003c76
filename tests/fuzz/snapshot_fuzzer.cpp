// Any bytes as a snapshot: they are refused with a message, or they are compared and described without a
// fault. The first byte chooses how many ranks send them.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "watch/diagnosis.hpp"
#include "watch/mismatches.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lapwing;
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    try {
        const watch::RankSnapshot snapshot = watch::decode(bytes);
        if (watch::decode(watch::encode(snapshot)).communicators.size() != snapshot.communicators.size())
            std::abort();
        std::vector<watch::RankSnapshot> answers(1U + data[0] % 4U, snapshot);
        for (std::size_t rank = 0; rank < answers.size(); ++rank) {
            answers[rank].rank = static_cast<int>(rank);
            // Every second rank is outside MPI, and one rank does not answer.
            if (rank % 2 == 1) answers[rank].current.clear();
            if (rank == 3) answers[rank].silence = "is stopped";
        }
        const auto findings = watch::diagnose(answers);
        if (watch::in_words(answers, findings).empty() || watch::as_json(answers, findings).empty())
            std::abort();
        watch::compare_at_end(answers);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::link || std::string_view(error.what()).empty()) std::abort();
    }
    return 0;
}
