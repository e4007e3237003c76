#include "plan/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "base/text_file.hpp"
#include "engines/catalogue.hpp"
#include "plan/list_files.hpp"
#include "task/sample.hpp"

namespace lapwing {
namespace {

using Json = nlohmann::json;

constexpr int version = 1;

// A value, and where it stands: "tables[0].ranks".
class Node {
  public:
    Node(const Json& json, const std::string& file, std::string path)
        : json_(json), file_(file), path_(std::move(path)) {}

    template <typename... Arguments>
    [[noreturn]] void refuse(fmt::format_string<Arguments...> what, Arguments&&... arguments) const {
        throw Error(ErrorCode::parse, "{}: {}{}{}", file_, path_, path_.empty() ? "" : ": ",
                    fmt::format(what, std::forward<Arguments>(arguments)...));
    }
    const Json& json() const { return json_; }

    void be_object(const std::vector<std::string>& keys) const {
        if (!json_.is_object()) refuse("must be an object, {{...}}");
        for (const auto& entry : json_.items()) {
            if (std::ranges::find(keys, entry.key()) == keys.end())
                refuse("unknown field '{}'{}", entry.key(), suggestion(entry.key(), keys));
        }
    }
    bool has(const char* key) const { return json_.contains(key); }
    Node operator[](const char* key) const {
        if (!has(key)) refuse("the field '{}' is missing", key);
        return {json_.at(key), file_, path_.empty() ? key : fmt::format("{}.{}", path_, key)};
    }
    std::vector<Node> elements() const {
        if (!json_.is_array()) refuse("must be a list, [...]");
        std::vector<Node> fields;
        for (std::size_t i = 0; i < json_.size(); ++i)
            fields.emplace_back(json_[i], file_, fmt::format("{}[{}]", path_, i));
        return fields;
    }
    std::string text() const {
        if (!json_.is_string()) refuse("must be a text in quotes");
        return json_.get<std::string>();
    }
    bool truth() const {
        if (!json_.is_boolean()) refuse("must be true or false");
        return json_.get<bool>();
    }
    std::string one_of(const std::vector<std::string>& valid) const {
        const std::string word = text();
        if (std::ranges::find(valid, word) != valid.end()) return word;
        refuse("unknown word '{}'{}", word, suggestion(word, valid));
    }
    std::uint64_t whole(std::uint64_t least, std::uint64_t most) const {
        if (!json_.is_number_unsigned() || json_.get<std::uint64_t>() < least ||
            json_.get<std::uint64_t>() > most) {
            refuse("must be a whole number from {} to {}", least, most);
        }
        return json_.get<std::uint64_t>();
    }
    double seconds() const {
        constexpr double most = 1e6;
        if (!json_.is_number() || !(json_.get<double>() >= 0) || json_.get<double>() > most)
            refuse("must be a number from 0 to {:.0f}", most);
        return json_.get<double>();
    }

  private:
    const Json& json_;
    const std::string& file_;
    std::string path_;
};

Machine read_machine(const Node& field) {
    constexpr const char* buffer = "buffer";  // bytes, not seconds
    std::vector<std::string> keys{buffer};
    for (const NamedCost& named : machine_costs) keys.emplace_back(named.name);
    field.be_object(keys);
    Machine machine;
    for (const NamedCost& named : machine_costs) {
        if (field.has(named.name)) machine.*named.cost = field[named.name].seconds();
    }
    if (field.has(buffer))
        machine.buffer = static_cast<double>(field[buffer].whole(0, std::uint64_t{1} << 40));
    return machine;
}

Choice read_choice(const Node& field, Collective collective) {
    try {
        return read_choice(collective, field.text());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) throw;
        field.refuse("{}", error.what());
    }
}

std::vector<Tuning::Row> read_rows(const Node& field, Collective collective) {
    std::vector<Tuning::Row> rows;
    for (const Node& element : field.elements()) {
        element.be_object({"from", "take", "seconds"});
        Tuning::Row row;
        row.from = element["from"].whole(0, std::uint64_t{1} << 62);
        row.choice = read_choice(element["take"], collective);
        if (element.has("seconds")) row.seconds = element["seconds"].seconds();
        if (!rows.empty() && rows.back().from >= row.from) {
            element["from"].refuse("must be more than {}, the start of the previous row", rows.back().from);
        }
        rows.push_back(row);
    }
    return rows;
}

// The first and the last number.
std::pair<int, int> read_range(const Node& field) {
    const std::vector<Node> ends = field.elements();
    if (ends.size() != 2) field.refuse("must be the first and the last number of ranks, as [4, 8]");
    const auto read = [](const Node& end, int least) {
        return static_cast<int>(
            end.whole(static_cast<std::uint64_t>(least), std::numeric_limits<int>::max()));
    };
    const int first = read(ends[0], 1);
    return {first, read(ends[1], first)};
}

// A table of an engine that this build lacks applies to no list. A misspelled engine is an error.
std::string read_engine(const Node& field) {
    std::vector<std::string> names;
    for (const Engine* engine : engines()) names.emplace_back(engine->name());
    const std::string name = field.text();
    return nearest_name(name, names).empty() ? name : field.one_of(names);
}

Tuning::Table read_table(const Node& field) {
    // "messages": files of earlier versions have costs that nothing uses.
    field.be_object(
        {"engine", "hosts", "ranks", "ranks_per_host", "made", "measured", "machine", "messages", "choices"});
    Tuning::Table table;
    table.of.engine = read_engine(field["engine"]);
    table.of.several_hosts = field["hosts"].one_of({"one", "several"}) == "several";
    std::tie(table.first_ranks, table.last_ranks) = read_range(field["ranks"]);
    if (field.has("ranks_per_host"))
        std::tie(table.first_per_host, table.last_per_host) = read_range(field["ranks_per_host"]);
    if (field.has("machine")) table.machine = read_machine(field["machine"]);
    if (!field.has("choices")) return table;

    const Node choices = field["choices"];
    std::vector<std::string> names;
    for (const Collective collective : all_collectives()) names.emplace_back(name(collective));
    choices.be_object(names);
    for (const Collective collective : all_collectives()) {
        if (!choices.has(name(collective))) continue;
        table.choices.emplace_back(collective, read_rows(choices[name(collective)], collective));
    }
    return table;
}

// What stands behind "[json.exception.parse_error.101] parse error ".
std::string syntax_of(const char* what) {
    std::string_view text = what;
    for (const std::string_view before : {"] ", "parse error "}) {
        const std::size_t at = text.find(before);
        if (at != std::string_view::npos && at < 50) text.remove_prefix(at + before.size());
    }
    return std::string(text);
}

bool same(const Surroundings& one, const Surroundings& other) {
    return one.engine == other.engine && one.several_hosts == other.several_hosts;
}

int ranks_per_host(const Problem& problem) {
    // Tables of one host do not tell numbers of ranks apart; a placement may be there for groups inside the
    // host.
    const Placement* placement = problem.placement.get();
    return placement != nullptr && placement->hosts() > 1 ? placement->largest_host() : 1;
}

// Twice as many are as far away as half of them; 0 inside the range.
double distance(int number, int first, int last) {
    if (first <= number && number <= last) return 0;
    return std::abs(std::log2(static_cast<double>(std::clamp(number, first, last)) / number));
}

}  // namespace

Problem measured_problem(Collective collective, int ranks, std::uint64_t bytes) {
    Problem problem{.collective = collective, .ranks = ranks};
    if (collective == Collective::barrier) return problem;
    if (is_reduction(collective)) {
        problem.type = Type::float64;
        bytes = (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    }
    return with_blocks(problem, bytes);
}

Tuning Tuning::parse(std::string_view text, const std::string& name) {
    Json json;
    try {
        json = Json::parse(text);
    } catch (const Json::exception& error) {  // of syntax; or a number beyond all bounds
        throw Error(ErrorCode::parse, "{}: {}", name, syntax_of(error.what()));
    }
    const Node file(json, name, "");
    if (!json.is_object() || !json.contains("lapwing_tuning"))
        file.refuse("is not a tuning file; `lapwing tune` writes one");
    file["lapwing_tuning"].whole(version, version);
    file.be_object({"lapwing_tuning", "tables"});
    Tuning tuning;
    tuning.name_ = name;
    tuning.fingerprint_ = fingerprint_of(text);
    for (const Node& table : file["tables"].elements()) tuning.tables_.push_back(read_table(table));
    return tuning;
}

Tuning Tuning::read(const std::string& path) {
    return parse(read_text_file(path, "tuning file"), path);
}

std::vector<const UserLists*> Tuning::list_files() const {
    std::vector<const UserLists*> files;
    for (const Table& table : tables_) {
        for (const auto& [collective, rows] : table.choices) {
            for (const Row& row : rows) {
                const UserLists* lists = row.choice.algorithm->lists;
                if (lists != nullptr && std::ranges::find(files, lists) == files.end())
                    files.push_back(lists);
            }
        }
    }
    return files;
}

Tuning::Found Tuning::find(const Problem& problem, const Surroundings& surroundings) const {
    for (const Table& table : tables_) {
        if (table.choices.empty() || !same(table.of, surroundings) ||
            distance(problem.ranks, table.first_ranks, table.last_ranks) > 0 ||
            distance(ranks_per_host(problem), table.first_per_host, table.last_per_host) > 0) {
            continue;
        }
        for (const auto& choices : table.choices) {
            if (choices.first != problem.collective) continue;
            const std::vector<Row>& rows = choices.second;
            const auto after =
                std::upper_bound(rows.begin(), rows.end(), problem.bytes,
                                 [](std::uint64_t bytes, const Row& row) { return bytes < row.from; });
            if (after == rows.begin()) continue;
            return {&*(after - 1), fmt::format("{}.choices.{}[{}]", where(table), name(problem.collective),
                                               after - 1 - rows.begin())};
        }
    }
    return {};
}

const Tuning::Table* Tuning::constants(const Problem& problem, const Surroundings& surroundings) const {
    const Table* nearest = nullptr;
    std::pair<double, double> least;
    for (const Table& table : tables_) {
        if (!table.machine || !same(table.of, surroundings)) continue;
        const std::pair away{distance(ranks_per_host(problem), table.first_per_host, table.last_per_host),
                             distance(problem.ranks, table.first_ranks, table.last_ranks)};
        if (nearest != nullptr && away >= least) continue;
        nearest = &table;
        least = away;
    }
    return nearest;
}

std::string Tuning::where(const Table& table) const {
    return fmt::format("{}, tables[{}]", name_, &table - tables_.data());
}

}  // namespace lapwing
