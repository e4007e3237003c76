// Checks that rank 0, on whichever host, could write the file of a run's report.
#pragma once

#include <sys/stat.h>

#include <string>

namespace lapwing::tool {

class ReportFile {
  public:
    // Called before the job. Throws Error (system) if the file exists and cannot be written.
    explicit ReportFile(std::string path);
    // Called after the job. Returns whether rank 0 left the file empty, as it does if the disk is full. A
    // file on the host of rank 0 alone counts as written.
    bool left_empty() const;

  private:
    std::string path_;
    struct stat before_ {};
};

}  // namespace lapwing::tool
