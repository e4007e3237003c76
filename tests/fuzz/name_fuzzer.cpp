// Any bytes as the name of a collective, as an algorithm with its parameters, and as LAPWING_ALGORITHM: they
// are refused with an Error, or mean what their printed form means.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "collectives/catalogue.hpp"
#include "plan/selection.hpp"

namespace {

using namespace lapwing;

void choice_of(Collective collective, std::string_view text) {
    Choice choice;
    try {
        choice = parse_choice(collective, text);
    } catch (const Error&) {
        return;
    }
    if (parse_choice(collective, print(choice)) != choice) std::abort();
}

void requested(std::string_view text) {
    std::string printed;
    RequestedAlgorithms wanted;
    try {
        wanted = RequestedAlgorithms::parse(text);
    } catch (const Error&) {
        return;
    }
    for (const Collective collective : all_collectives()) {
        const Choice* const choice = wanted.find(collective);
        if (choice == nullptr) continue;
        if (choice->algorithm->collective != collective) std::abort();
        printed += (printed.empty() ? "" : ",") + std::string(name(collective)) + "=" + print(*choice);
    }
    const RequestedAlgorithms again = RequestedAlgorithms::parse(printed);
    for (const Collective collective : all_collectives()) {
        const Choice* const before = wanted.find(collective);
        const Choice* const after = again.find(collective);
        if ((before == nullptr) != (after == nullptr)) std::abort();
        if (before != nullptr && *before != *after) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto collective = find_collective(text);
    if (collective && find_collective(name(*collective)) != collective) std::abort();
    for (const Collective each : all_collectives()) choice_of(each, text);
    requested(text);
    return 0;
}
