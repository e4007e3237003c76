// A file that a command writes when it is done, with messages for all errors.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace lapwing::tool {

class OutputFile {
  public:
    // Opens and empties the file, to find errors before long work. `what`: for messages, such as "the
    // profile". All functions throw Error (system): "the profile cannot be written to FILE: No space left on
    // device".
    OutputFile(std::string path, std::string what);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::string_view text);
    // Some errors of a full disk appear only here.
    void close();

  private:
    [[noreturn]] void refuse(int error);

    std::string path_;
    std::string what_;
    std::FILE* file_ = nullptr;
};

// Called before a job that will write `file`: makes it, if it is missing, and tries whether it takes bytes.
// Keeps its contents. Throws as OutputFile.
void require_writable(const std::string& file, const std::string& what);

// All of a file.
void write_file(const std::string& path, std::string_view text, const std::string& what);

}  // namespace lapwing::tool
