// A folder of a test's own.
#pragma once

#include <stdlib.h>

#include <system_error>

#include "support/unit.hpp"

namespace lapwing::testing_support {

// Removed at the end with all that is in it.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = testing::TempDir() + "lapwing-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder " + name);
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace lapwing::testing_support
