// The report of a run, which rank 0 writes to a file or to standard error, and the mark by which the tool
// sees how far rank 0 came.
#pragma once

#include <string>

namespace lapwing::tool {

class ReportFile {
  public:
    // Called before the job: removes the report of an earlier run. Throws Error (system) if the file cannot
    // be written. An empty path: standard error.
    explicit ReportFile(std::string path);
    ~ReportFile();
    ReportFile(const ReportFile&) = delete;
    ReportFile& operator=(const ReportFile&) = delete;

    // A file in a directory of this object's own: LAPWING_REPORT_MARK.
    std::string mark() const { return directory_ + "/mark"; }

    // Called after the job. Says why there is no report. Returns false if rank 0 should have left one and did
    // not.
    bool check(bool job_failed) const;

  private:
    const std::string path_;
    std::string directory_;
    bool keeps_contents_ = false;  // a regular file, unlike a device, a pipe or standard error
};

}  // namespace lapwing::tool
