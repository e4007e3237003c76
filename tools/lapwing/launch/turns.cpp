#include "lapwing/launch/turns.hpp"

namespace lapwing::tool {

bool run_in_turns(std::size_t jobs, std::size_t passes,
                  const std::function<bool(std::size_t job, std::size_t pass)>& run) {
    for (std::size_t pass = 0; pass < passes; ++pass) {
        for (std::size_t turn = 0; turn < jobs; ++turn) {
            if (!run((turn + pass) % jobs, pass)) return false;
        }
    }
    return true;
}

}  // namespace lapwing::tool
