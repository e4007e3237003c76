#include "tune/netgauge.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "program/clock.hpp"

namespace lapwing::tune {
namespace {

using bench::now;

// Short enough that no MPI needs a rendezvous.
constexpr int sizes[] = {1, 1024, 8192, 32768};
constexpr int messages = 24;
constexpr int min_repetitions = 5;
constexpr int max_repetitions = 25;
constexpr double seconds_for_one = 0.2;
// What is left for the latency at least, of half a round trip.
constexpr double min_share = 0.1;

class Prtt {
  public:
    explicit Prtt(MPI_Comm two) : two_(two), buffer_(sizes[std::size(sizes) - 1]), requests_(messages) {
        MPI_Comm_rank(two, &rank_);
    }

    // Of several, the lower quartile at rank 0: interruptions only add.
    double operator()(int count, double apart, int bytes) {
        std::vector<double> seconds;
        const double begin = now();
        once(count, apart, bytes);
        for (int more = 1; more != 0;) {
            seconds.push_back(once(count, apart, bytes));
            more = static_cast<int>(seconds.size()) < min_repetitions ||
                           (static_cast<int>(seconds.size()) < max_repetitions &&
                            now() < begin + seconds_for_one)
                       ? 1
                       : 0;
            MPI_Bcast(&more, 1, MPI_INT, 0, two_);
        }
        std::sort(seconds.begin(), seconds.end());
        double quartile = seconds[seconds.size() / 4];
        MPI_Bcast(&quartile, 1, MPI_DOUBLE, 0, two_);
        return quartile;
    }

  private:
    double once(int count, double apart, int bytes) {
        char answer = 0;
        MPI_Request answered = MPI_REQUEST_NULL;
        MPI_Barrier(two_);
        const double begin = now();
        for (int i = 0; i < count; ++i) {
            MPI_Ibcast(buffer_.data(), bytes, MPI_BYTE, 0, two_, &requests_[static_cast<std::size_t>(i)]);
            if (rank_ != 0) continue;
            for (const double start = now(); i + 1 < count && now() < start + apart;) {
            }
        }
        if (rank_ != 0) MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE);
        MPI_Ibcast(&answer, 1, MPI_BYTE, 1, two_, &answered);
        MPI_Wait(&answered, MPI_STATUS_IGNORE);
        const double seconds = now() - begin;
        if (rank_ == 0) MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE);
        return seconds;
    }

    MPI_Comm two_;
    int rank_ = 0;
    std::vector<char> buffer_;
    std::vector<MPI_Request> requests_;
};

// The line that fits best, as ratios: {at 0, slope}, neither negative.
std::pair<double, double> line(const std::vector<std::pair<double, double>>& points) {
    double weights = 0;
    double x = 0;
    double y = 0;
    double xx = 0;
    double xy = 0;
    for (const auto& [at, value] : points) {
        const double weight = 1 / std::max(value * value, 1e-18);
        weights += weight;
        x += weight * at;
        y += weight * value;
        xx += weight * at * at;
        xy += weight * at * value;
    }
    const double slope = std::max(0.0, (weights * xy - x * y) / (weights * xx - x * x));
    return {std::max(0.0, (y - slope * x) / weights), slope};
}

}  // namespace

nlohmann::json netgauge(MPI_Comm two) {
    Prtt prtt(two);
    std::vector<std::pair<double, double>> gaps;
    std::vector<std::pair<double, double>> overheads;
    double shortest = 0;
    for (const int bytes : sizes) {
        const double one = prtt(1, 0, bytes);
        if (bytes == sizes[0]) shortest = one;
        const double each = 1.0 / (messages - 1);
        gaps.emplace_back(bytes, std::max(0.0, (prtt(messages, 0, bytes) - one) * each));
        // An interruption of either measurement is no overhead below nothing.
        const double apart = (prtt(messages, one, bytes) - one) * each;
        overheads.emplace_back(bytes, std::max(0.0, apart - one));
    }
    const auto [gap, per_byte] = line(gaps);
    const auto [task, task_per_byte] = line(overheads);
    // Half a round trip contains both overheads.
    return {{"latency", std::max(shortest / 2 - 2 * task, min_share * shortest / 2)},
            {"task", task},
            {"gap", gap},
            {"per_byte", per_byte},
            {"task_per_byte", task_per_byte}};
}

}  // namespace lapwing::tune
