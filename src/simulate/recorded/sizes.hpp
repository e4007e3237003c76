// A recorded program on other numbers of ranks, from recordings on two or more.
//
// The calls of the largest recording are those of the prediction. What a rank computes before a call site,
// and how many bytes the site sends, grow as powers of the ranks (growth.hpp). Peers and communicators follow
// rules (layout.hpp), and so does which of several sequences of calls a rank has: by its position at the
// edges of a grid.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simulate/recorded/replay.hpp"
#include "simulate/recorded/site_growth.hpp"

namespace lapwing::simulate {

struct LeftOut {
    int site = 0;
    std::string why;
    double share = 0;  // of the measured time of the largest recording
};

struct Extrapolation {
    Replay expected;
    // The same with the smallest and the largest exponents that fit.
    Replay smallest;
    Replay largest;
    std::vector<SiteGrowth> growths;
    std::vector<LeftOut> left_out;
};

// `recordings` were made without samples. Throws Error (unsupported) if the recordings have different
// sequences of calls, or if it is unknown which sequence a rank has.
Extrapolation extrapolate(std::span<const Replay> recordings, int ranks);

}  // namespace lapwing::simulate
