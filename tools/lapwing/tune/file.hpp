// Tuning files as `lapwing tune` writes them; plan/tuning.hpp has their fields.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lapwing/common/output_file.hpp"

namespace lapwing::tool {

// Throws Error (parse or system) with the place of what is wrong.
nlohmann::ordered_json read_tuning_file(const std::string& path);

// Returns the text of a file: a line for each row, so that files can be read and compared.
std::string print_tuning_file(const nlohmann::ordered_json& file);

// A new tuning file. Is written beside `path` and then renamed, so that no reader sees half of it; a path
// that is not a regular file, such as /dev/stdout, is written itself. The constructor throws Error (system)
// if the file cannot be written.
class NewTuningFile {
  public:
    explicit NewTuningFile(const std::string& path);
    ~NewTuningFile();
    NewTuningFile(const NewTuningFile&) = delete;
    NewTuningFile& operator=(const NewTuningFile&) = delete;
    // Prints the text to standard output if it cannot be written: it took minutes to measure.
    void write(const std::string& text);

  private:
    std::string path_;
    std::string beside_;
    OutputFile file_;
};

}  // namespace lapwing::tool
