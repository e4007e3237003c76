#include "tune/variants.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "collectives/catalogue.hpp"
#include "task/text.hpp"

namespace lapwing::tune {

std::vector<Choice> variants_of(Collective collective, const Choice* also) {
    std::vector<Choice> variants;
    for (const Algorithm* algorithm : algorithms_of(collective)) {
        const Choice usual{algorithm, default_parameters(*algorithm)};
        variants.push_back(usual);
        for (std::size_t i = 0; i < algorithm->parameters.size(); ++i) {
            const Parameter& parameter = algorithm->parameters[i];
            for (const std::int64_t value : {parameter.default_value / 2, parameter.default_value * 2}) {
                Choice other = usual;
                other.parameters[i] = std::clamp(value, parameter.min, parameter.max);
                if (other != usual) variants.push_back(other);
            }
        }
    }
    if (also != nullptr && std::find(variants.begin(), variants.end(), *also) == variants.end())
        variants.push_back(*also);
    return variants;
}

std::vector<int> representatives(const std::vector<Choice>& variants, const Problem& problem) {
    std::vector<int> places;
    std::map<std::string, int> built;
    for (const Choice& choice : variants) {
        const int place = static_cast<int>(places.size());
        places.push_back(-1);
        if (!choice.applies(problem)) continue;
        std::string lists;
        for (const int rank : {0, problem.ranks / 2, problem.ranks - 1})
            lists += print(build(problem, rank, choice));
        places.back() = built.emplace(lists, place).first->second;
    }
    return places;
}

}  // namespace lapwing::tune
