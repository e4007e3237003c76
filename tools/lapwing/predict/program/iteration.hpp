// One pass of the main loop of a simulated recording, for the drawing in `lapwing report`.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "simulate/setting.hpp"

namespace lapwing::tool {

struct DrawnSpan {
    enum class What : std::uint8_t { compute, call, flight };

    What what = What::compute;
    int rank = 0;
    int site = 0;  // call, flight: index in Replay::sites
    // From when the first rank begins the pass.
    simulate::Time begin = 0;
    simulate::Time end = 0;
};

class DrawnIteration : public simulate::Observer {
  public:
    // Of the first ranks, the pass `pass`, from 0.
    DrawnIteration(int ranks, std::uint64_t pass);

    // In the order of ranks, then of time. Without flights that end in the call that has started them.
    std::vector<DrawnSpan> spans() const;

    void called(int rank, int site, simulate::Time begin, simulate::Time left, simulate::Time end) override;
    void started(int rank, int request, int site, simulate::Time begin) override;
    void completed(int rank, int request, simulate::Time end) override;
    void began_pass(int rank, simulate::Time begin) override;

  private:
    struct Rank {
        std::uint64_t passes = 0;  // begun
        simulate::Time begin = simulate::never;
        simulate::Time end = simulate::never;
        std::vector<DrawnSpan> spans;
        std::map<int, std::pair<int, simulate::Time>> flights;  // by request: site, begin
    };

    // Adds the part that is in the pass.
    void add(int rank, DrawnSpan span);

    const std::uint64_t pass_;
    std::vector<Rank> ranks_;
};

}  // namespace lapwing::tool
