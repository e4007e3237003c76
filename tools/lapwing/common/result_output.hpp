// Where a result goes: tables or, with --json, JSON; to standard output or, with --output, a file.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/messages.hpp"
#include "base/output_file.hpp"

namespace lapwing::tool {

class ResultOutput {
  public:
    // Before the work: throws Error (system) for a file that cannot be written. `file` may be empty.
    ResultOutput(bool json, const std::string& file) : json_(json) {
        if (!file.empty()) file_.emplace(file, "the result");
    }
    // `tables` and `as_json` return texts.
    template <typename Tables, typename Json>
    void write(Tables tables, Json as_json) {
        if (!file_) return fmt::print("{}", json_ ? as_json() : tables());
        if (json_) print_note("{}", tables());
        file_->write(json_ ? as_json() : tables());
        file_->close();
    }

  private:
    const bool json_;
    std::optional<OutputFile> file_;
};

}  // namespace lapwing::tool
