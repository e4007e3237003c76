#include "lapwing/common/this_host.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "job/settings.hpp"

namespace lapwing::tool {

nlohmann::ordered_json engines_as_json(std::span<const Engine* const> engines) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Engine* engine : engines) {
        const Verdict verdict = engine->available();
        rows.push_back(
            {{"name", engine->name()}, {"summary", engine->summary()}, {"available", bool(verdict)}});
        if (!verdict) rows.back()["reason"] = verdict.reason();
    }
    return rows;
}

shm::Survey survey_shared_memory(bool timed) {
    NetworkSettings chosen;
    try {
        chosen = read_network_settings(read_settings(environ));
    } catch (const Error&) {
        // Told by who checks the variables.
    }
    if (!chosen.shared_memory) return {"no shared memory: LAPWING_SHARED_MEMORY=0", {}};
    // The kernel's copies are tried in both; which way is faster is measured where there is a choice.
    if (!timed && chosen.transfer == shm::TransferMethod::automatic)
        chosen.transfer = shm::TransferMethod::kernel;
    return shm::survey(chosen.transfer);
}

}  // namespace lapwing::tool
