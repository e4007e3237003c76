// A file of facts: lines of JSON that a rank writes while it runs. Its length is bounded.
#pragma once

#include <cstdint>
#include <string>

namespace lapwing {

class FactFile {
  public:
    static constexpr std::uint64_t max_bytes = 16U << 20;

    // The file must not exist. Returns 0 or the error number.
    int create(const std::string& path);
    // Appends `json`, which is one line without its end. Returns false if facts are lost, because the file
    // has reached its bound or could not be written.
    bool add(const std::string& json);
    // Why facts could not be written: "FILE: No space left on device". Empty if the disk took all of them.
    std::string error() const;

  private:
    std::string path_;
    int file_ = -1;
    int error_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace lapwing
