#include "engines/catalogue.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/nearest_name.hpp"

namespace lapwing {

#define LAPWING_ENGINE(name) const Engine& name##_engine();
#include "engines/catalogue.def"

namespace {

const Engine* const all[] = {
#define LAPWING_ENGINE(name) &name##_engine(),
#include "engines/catalogue.def"
};

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
    throw_invalid("unknown engine '{}'{}", wanted, suggestion(wanted, valid));
}

}  // namespace lapwing
