// What this program can tell of Lapwing's library in its own process.
#pragma once

#include <nlohmann/json.hpp>

namespace lapwing::bench {

// Whether a preload library of Lapwing is loaded in this process.
bool is_lapwing_loaded();

// Takes up the report that Lapwing writes in MPI_Finalize (LAPWING_REPORT_FILE), in rank 0: the host of that
// rank may share no file system with the tool.
class ReportPipe {
  public:
    ReportPipe();  // before MPI_Init
    ~ReportPipe();
    ReportPipe(const ReportPipe&) = delete;
    ReportPipe& operator=(const ReportPipe&) = delete;

    // After MPI_Finalize: the report; null if there is none.
    nlohmann::json read() const;

  private:
    int ends_[2] = {-1, -1};
};

}  // namespace lapwing::bench
