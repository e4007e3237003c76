// Any bytes as a tuning file: they are refused with a message, or every problem still has a choice that
// applies.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "plan/selection.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lapwing;
    try {
        const Tuning tuning = Tuning::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
        for (const Tuning::Table& table : tuning.tables()) {
            for (const Collective collective : all_collectives()) {
                for (const int ranks : {table.first_ranks, 5}) {
                    if (ranks > 16) continue;
                    const Problem problem = measured_problem(collective, ranks, 100);
                    const Selection selection = select(problem, {}, {&tuning, table.of});
                    if (!selection.choice.algorithm->applies(problem, selection.choice.parameters))
                        std::abort();
                }
            }
        }
    } catch (const Error& error) {
        if (error.code() != ErrorCode::parse || std::string_view(error.what()).empty()) std::abort();
    }
    return 0;
}
