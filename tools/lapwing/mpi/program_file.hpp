// What the file of a program says of it, without running it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lapwing::tool {

// In memory as long as this lives.
class ProgramFile {
  public:
    // Of a file that cannot be read, nothing is known.
    explicit ProgramFile(const std::string& path);
    ~ProgramFile();
    ProgramFile(const ProgramFile&) = delete;
    ProgramFile& operator=(const ProgramFile&) = delete;

    bool is_script() const { return bytes_.starts_with("#!"); }
    // Whether it is in what the program loads of its file, which excludes debug information.
    bool loads(std::string_view text) const;
    // Empty if the file is not a program of this machine, or is linked statically.
    const std::string& loader() const { return loader_; }
    const std::vector<std::string>& libraries() const { return libraries_; }

  private:
    void read_segments();

    std::string_view bytes_;
    std::vector<std::string_view> loaded_;
    std::string loader_;
    std::vector<std::string> libraries_;
};

}  // namespace lapwing::tool
