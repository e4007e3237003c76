#include "engines/catalogue.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "engines/host/engine.hpp"
#include "engines/kernel/engine.hpp"

namespace lapwing {
namespace {

const Engine* const all[] = {&kernel_engine(), &host_engine()};

}  // namespace

std::span<const Engine* const> engines() {
    return all;
}

const Engine& find_engine(std::string_view wanted) {
    std::vector<std::string> valid;
    for (const Engine* engine : all) {
        if (engine->name() == wanted) return *engine;
        valid.emplace_back(engine->name());
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("unknown engine '{}'{}", wanted, suggestion(wanted, valid)));
}

}  // namespace lapwing
