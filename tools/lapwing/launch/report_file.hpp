// The report of a run, which rank 0 writes to a file or to standard error, and the mark by which the tool
// sees how far rank 0 came.
#pragma once

#include <sys/stat.h>

#include <string>

#include "lapwing/launch/job.hpp"

namespace lapwing::tool {

class ReportFile {
  public:
    // Called before the job. Throws Error (system) if the file cannot be written. An empty path: standard
    // error.
    explicit ReportFile(const std::string& path);

    // A file in a directory of this object's own: LAPWING_REPORT_MARK.
    std::string mark() const { return directory_.path() + "/mark"; }
    const JobDirectory& directory() const { return directory_; }

    // Called after the job. Says why there is no report, and removes that of an earlier run. Returns false if
    // rank 0 should have left one and did not.
    bool check(bool job_failed) const;

  private:
    JobDirectory directory_;
    bool special_ = false;  // a device or a pipe
    std::string path_;      // empty: a device, a pipe or standard error, which keep nothing
    struct stat before_ {};
};

}  // namespace lapwing::tool
