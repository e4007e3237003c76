#include "lapwing/bench/catalogue.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

using Unit = Column::Unit;

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
    static const std::vector<Benchmark> list = {
#define LAPWING_BENCHMARK_BY(row, measured_by, ...) \
    Benchmark{.name = #row, .program = #measured_by, __VA_ARGS__},
#define LAPWING_BENCHMARK(row, ...) LAPWING_BENCHMARK_BY(row, row, __VA_ARGS__)
#include "program/benchmarks.def"
    };
    return list;
}

const Benchmark& find_benchmark(const std::string& name) {
    std::vector<std::string> names;
    for (const Benchmark& one : benchmarks()) names.emplace_back(one.name);
    return benchmarks()[pick("benchmark", name, names)];
}

nlohmann::ordered_json benchmarks_as_json() {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Benchmark& one : benchmarks()) {
        list.push_back({{"name", one.name},
                        {"source", one.source},
                        {"question", one.question},
                        {"explanation", one.explanation},
                        {"quantities", one.plots},
                        {"x_title", one.x_title}});
    }
    return list;
}

const std::vector<Column>& columns_of(const std::string& benchmark, const std::string& method,
                                      bool by_steps) {
    static const Column base{"base", "base us", Unit::microseconds};
    static const Column start{"start", "start us", Unit::microseconds};
    static const Column wait{"wait", "wait us", Unit::microseconds};
    static const Column alone{"alone", "alone us", Unit::microseconds};
    static const Column total{"total", "total us", Unit::microseconds};
    static const Column share{"overlap", "overlap %", Unit::share, true};
    static const Column overlap{"overlap", "overlap %", Unit::percent, true};
    static const Column available{"available", "available %", Unit::percent};
    static const Column per_time{"available_per_second", "overlap %/ms", Unit::percent_per_ms};
    static const std::vector<Column> of_steps = {base, alone, total, overlap, available};
    static const std::vector<Column> of_fixed = {base, total, overlap, available};
    static const Column ratio{"ratio", "/ native", Unit::number};
    static const std::vector<Column> of_wait = {base, start, wait, alone, total, ratio, share};
    static const std::vector<Column> of_poll = {base, start, total, share, per_time};
    const std::vector<Column>& own = find_benchmark(benchmark).columns;
    if (!own.empty()) return own;
    if (by_steps) return of_steps;
    return method == "wait" ? of_wait : method == "poll" ? of_poll : of_fixed;
}

}  // namespace lapwing::tool
