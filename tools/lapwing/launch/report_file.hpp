// The file of a run's report, which rank 0 writes, wherever it runs: whether it could.
#pragma once

#include <sys/stat.h>

#include <string>

namespace lapwing::tool {

class ReportFile {
  public:
    // Before the job. Throws Error (system) when it is there and takes nothing.
    explicit ReportFile(std::string path);
    // After the job: rank 0 has left the file empty, as it does when there is no room for the report. A file
    // that only the host of rank 0 sees counts as written.
    bool left_empty() const;

  private:
    std::string path_;
    struct stat before_ {};
};

}  // namespace lapwing::tool
