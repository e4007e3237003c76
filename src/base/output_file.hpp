// A file of results.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

namespace lapwing {

// A regular file is written beside its path and takes its name when it is complete: a file of that name stays
// until then, whatever happens. What is left of a process that was killed is removed by the next one that
// writes the same file. A device, a pipe, or a descriptor such as /dev/stdout is written as it is; a pipe
// must get a reader within write_patience.
//
// Functions throw Error (system), such as "the profile cannot be written to FILE: No space left on device".
class OutputFile {
  public:
    // Tries whether the file can be written, to find errors before long work; changes and keeps nothing.
    // `what`: for messages, such as "the profile".
    OutputFile(std::string path, std::string what);
    ~OutputFile();
    OutputFile& operator=(OutputFile&&) = delete;

    void write(std::string_view text);
    // Some errors of a full disk appear only here.
    void close();

    // Whether the file is written as it is.
    bool special() const { return special_; }
    // The file behind symbolic links.
    const std::string& target() const { return target_; }

  private:
    void open();
    // Of a file with this state, or of one that is not there. Where its directory takes no other file, the
    // file itself stays open.
    void open_beside(const struct stat* found);
    void flush();
    void discard();
    [[noreturn]] void refuse(int error);

    std::string path_;
    std::string what_;
    std::string target_;
    std::string beside_;  // the file that is written, while it has another name
    std::string unwritten_;
    int descriptor_ = -1;
    bool special_ = false;
};

// All of a file.
void write_file(const std::string& path, std::string_view text, const std::string& what);

}  // namespace lapwing
