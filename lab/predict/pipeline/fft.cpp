// Transforms in three dimensions of several real variables, as apps/fft does them: pencils on rows x columns
// of ranks (P3DFFT; Pekurovsky 2012). The exchange in the columns is what is hidden, behind the transforms of
// the next variable in x and y and of the one before in z (Kandalla et al. 2011, section V). That in the rows
// is waited for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "predict/pipeline/pipeline.hpp"

namespace lapwing::tool {
namespace {

constexpr double bytes_of_complex = 16;

// Operations of lines of n complex numbers, as is usual to count them; half of that if they are real.
double operations_of(double n) {
    return 5 * n * std::log2(n);
}

// The largest divisor that is no larger than the root.
int rows_of_square(int ranks) {
    int rows = static_cast<int>(std::sqrt(static_cast<double>(ranks)));
    while (ranks % rows != 0) --rows;
    return rows;
}

Problem exchange(int ranks, double bytes) {
    return {.collective = Collective::alltoall, .ranks = ranks, .bytes = static_cast<std::uint64_t>(bytes)};
}

}  // namespace

Pipeline make_fft(const PipelineOptions& options, int ranks) {
    const int per_rank = whole(options, "per_rank", 0);
    const double n =
        per_rank > 0 ? std::round(std::cbrt(static_cast<double>(per_rank) * ranks)) : whole(options, "n", 2);
    const int variables = whole(options, "variables");
    const int window = std::min(whole(options, "window"), variables);
    int rows = whole(options, "rows", 0);
    if (rows == 0) rows = rows_of_square(ranks);
    if (ranks % rows != 0) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--pipeline fft: {} ranks are not {} rows of one length", ranks, rows));
    }
    const int columns = ranks / rows;
    if (n < std::max(rows, columns)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--pipeline fft: n={:.0f} is too small for a line of {} ranks", n,
                                std::max(rows, columns)));
    }
    const double half = n / 2 + 1;
    const double rate = number(options, "gflops") * 1e9;
    const double in_x = operations_of(n) / 2 * n * n / ranks / rate;
    const double in_y_or_z = operations_of(n) * half * n / ranks / rate;

    Pipeline pipeline;
    const int column =
        columns == 1
            ? -1
            : pipeline.operation(
                  exchange(columns, bytes_of_complex * half / rows * n / columns * n / columns), rows);
    const int row =
        rows == 1
            ? -1
            : pipeline.operation(exchange(rows, bytes_of_complex * half / rows * n / rows * n / columns));
    // x and y with the exchange between them.
    const auto plane = [&](bool forward) {
        pipeline.compute(forward ? in_x : in_y_or_z);
        if (row >= 0) {
            pipeline.add(simulate::start(row, window));
            pipeline.add(simulate::wait(window));
        }
        pipeline.compute(forward ? in_y_or_z : in_x);
    };
    for (const bool forward : {true, false}) {
        const auto finish = [&](int variable) {
            if (column >= 0) pipeline.add(simulate::wait(variable % window));
            if (forward) {
                pipeline.compute(in_y_or_z);
            } else {
                plane(false);
            }
        };
        for (int variable = 0; variable < variables; ++variable) {
            if (forward) {
                plane(true);
            } else {
                pipeline.compute(in_y_or_z);
            }
            if (column >= 0) pipeline.add(simulate::start(column, variable % window));
            if (variable + 1 >= window) finish(variable + 1 - window);
        }
        for (int variable = variables - window + 1; variable < variables; ++variable) finish(variable);
    }
    return pipeline;
}

}  // namespace lapwing::tool
