#include "simulate/program.hpp"

#include "simulate/random.hpp"

namespace lapwing::simulate {
namespace {

// Distinct from the streams of the noise.
constexpr std::uint64_t stream_of_lateness = std::uint64_t{1} << 40;

}  // namespace

Time Lateness::of(int of_rank, int iteration) const {
    switch (kind) {
        case Kind::none:
            break;
        case Kind::uniform:
            return static_cast<Time>(random_share(seed,
                                                  stream_of_lateness + static_cast<std::uint64_t>(of_rank),
                                                  static_cast<std::uint64_t>(iteration)) *
                                     static_cast<double>(max));
        case Kind::one:
            return of_rank == rank ? max : 0;
    }
    return 0;
}

}  // namespace lapwing::simulate
