// A file that a command writes at its end: that it cannot be written is told, with the reason.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace lapwing::tool {

class OutputFile {
  public:
    // Opens and empties the file: what forbids that is known before long work. `what` is for messages: "the
    // profile". All throw Error (system): "the profile cannot be written to FILE: No space left on device".
    OutputFile(std::string path, std::string what);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    void write(std::string_view text);
    // Errors of full disks may come as late as this.
    void close();

  private:
    [[noreturn]] void refuse(int error);

    std::string path_;
    std::string what_;
    std::FILE* file_;
};

// All of a file.
void write_file(const std::string& path, std::string_view text, const std::string& what);

}  // namespace lapwing::tool
