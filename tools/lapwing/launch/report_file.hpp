// The file in which rank 0 writes the report of a run. Rank 0 makes it empty in MPI_Init.
#pragma once

#include <string>

namespace lapwing::tool {

class ReportFile {
  public:
    // Called before the job: removes the report of an earlier run. Throws Error (system) if the file cannot
    // be written. An empty path: a file in a new directory, whose contents print() moves to standard error.
    explicit ReportFile(std::string path);
    ~ReportFile();
    ReportFile(const ReportFile&) = delete;
    ReportFile& operator=(const ReportFile&) = delete;

    const std::string& path() const { return path_; }

    // Called after the job. Prints the report, or why there is none. Returns false if rank 0 should have
    // left a report here and did not.
    bool print(bool job_failed) const;

  private:
    std::string path_;
    std::string directory_;       // of this object alone; empty if the caller named the file
    bool keeps_contents_ = true;  // a regular file, unlike a device or a pipe
};

}  // namespace lapwing::tool
