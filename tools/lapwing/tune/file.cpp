#include "lapwing/tune/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/tuning.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json read_tuning_file(const std::string& path) {
    Tuning::read(path);  // says what is wrong with it
    std::ifstream file(path, std::ios::binary);
    return Json::parse(file);
}

std::string print_tuning_file(const Json& file) {
    const auto join = [](const Json& all, const std::string& indent) {
        std::vector<std::string> lines;
        for (const Json& one : all) lines.push_back(indent + one.dump());
        return fmt::format("[\n{}\n{}]", fmt::join(lines, ",\n"), indent.substr(1));
    };
    std::vector<std::string> tables;
    for (const Json& table : file.at("tables")) {
        std::vector<std::string> fields;
        for (const auto& field : table.items()) {
            std::string value = field.value().dump();
            if (field.key() == "measured" && !field.value().empty()) value = join(field.value(), "    ");
            if (field.key() == "choices" && !field.value().empty()) {
                std::vector<std::string> choices;
                for (const auto& rows : field.value().items()) {
                    choices.push_back(
                        fmt::format("    {}: {}", Json(rows.key()).dump(), join(rows.value(), "     ")));
                }
                value = fmt::format("{{\n{}\n   }}", fmt::join(choices, ",\n"));
            }
            fields.push_back(fmt::format("   {}: {}", Json(field.key()).dump(), value));
        }
        tables.push_back(fmt::format("  {{\n{}\n  }}", fmt::join(fields, ",\n")));
    }
    return fmt::format("{{\n \"lapwing_tuning\": {},\n \"tables\": [\n{}\n ]\n}}\n",
                       file.at("lapwing_tuning").dump(), fmt::join(tables, ",\n"));
}

}  // namespace lapwing::tool
