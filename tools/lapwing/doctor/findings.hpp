// The problems and hints that `lapwing doctor` prints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lapwing::tool {

enum class Severity {
    problem,  // Lapwing cannot work, or cannot overlap
    hint,     // anything else worth knowing
};

struct Finding {
    Severity severity = Severity::hint;
    std::string layer;   // "launcher", "host", "network", "MPI", "Lapwing"
    std::string where;   // "node2", "node1 to node3"; empty: everywhere
    std::string what;    // a sentence without its full stop
    std::string advice;  // what to do
};

class Findings {
  public:
    void problem(std::string layer, std::string where, std::string what, std::string advice) {
        all_.push_back(
            {Severity::problem, std::move(layer), std::move(where), std::move(what), std::move(advice)});
    }
    void hint(std::string layer, std::string where, std::string what, std::string advice) {
        all_.push_back(
            {Severity::hint, std::move(layer), std::move(where), std::move(what), std::move(advice)});
    }
    void add(Severity severity, std::string layer, std::string where, std::string what, std::string advice) {
        all_.push_back({severity, std::move(layer), std::move(where), std::move(what), std::move(advice)});
    }
    bool any(Severity severity) const;
    // "problems\n  node2: ...\n    advice\n"; empty without findings.
    std::string print(Severity severity, std::size_t width) const;
    nlohmann::ordered_json as_json(Severity severity) const;

  private:
    std::vector<Finding> all_;
};

}  // namespace lapwing::tool
