#include "lapwing/bench/catalogue.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

using Unit = Column::Unit;

const std::vector<Benchmark>& all() {
    static const std::vector<Benchmark> list = {
#define LAPWING_BENCHMARK_BY(row, measured_by, ...) \
    Benchmark{.name = #row, .program = #measured_by, __VA_ARGS__},
#define LAPWING_BENCHMARK(row, ...) LAPWING_BENCHMARK_BY(row, row, __VA_ARGS__)
#include "program/benchmarks.def"
    };
    return list;
}

}  // namespace

const BenchmarkOption* Benchmark::find(const std::string& option) const {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const BenchmarkOption& one) { return option == one.name; });
    return found == options.end() ? nullptr : &*found;
}

bool Benchmark::shows(const std::string& quantity) const {
    return std::any_of(columns.begin(), columns.end(),
                       [&](const Column& column) { return quantity == column.quantity; });
}

std::span<const Benchmark> benchmarks() {
    return all();
}

const Benchmark& find_benchmark(const std::string& name) {
    std::vector<std::string> names;
    for (const Benchmark& one : all()) names.emplace_back(one.name);
    return all()[pick("benchmark", name, names)];
}

nlohmann::ordered_json benchmarks_as_json() {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Benchmark& one : all()) {
        list.push_back({{"name", one.name},
                        {"source", one.source},
                        {"question", one.question},
                        {"explanation", one.explanation},
                        {"quantities", one.plots},
                        {"x_title", one.x_title}});
    }
    return list;
}

const std::vector<Column>& columns_of(const std::string& benchmark, bool by_steps) {
    static const std::vector<Column> of_fixed = {{"base", "base us", Unit::microseconds},
                                                 {"total", "total us", Unit::microseconds},
                                                 {"overlap", "overlap %", Unit::percent, true},
                                                 {"available", "available %", Unit::percent}};
    static const std::vector<Column> of_steps = {{"base", "base us", Unit::microseconds},
                                                 {"alone", "alone us", Unit::microseconds},
                                                 {"total", "total us", Unit::microseconds},
                                                 {"overlap", "overlap %", Unit::percent, true},
                                                 {"available", "available %", Unit::percent}};
    const std::vector<Column>& own = find_benchmark(benchmark).columns;
    if (!own.empty()) return own;
    return by_steps ? of_steps : of_fixed;
}

}  // namespace lapwing::tool
