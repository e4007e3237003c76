// Noise: interruptions of the program on its processor, for example by the operating system. Noise delays
// work, never the network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// Recorded interruptions, repeated forever, in the format of Netgauge's pattern `noise`, which LogGOPSim
// reads as well: lines of start and duration in nanoseconds, comments after #.
struct NoiseTrace {
    struct Interruption {
        Time start = 0;
        Time length = 0;
    };
    std::vector<Interruption> interruptions;  // by rising start, at least one, apart from each other
    Time period = 0;  // then it begins again: the start of the last line, which belongs to the next round

    // `name` is what messages call the text. Throws Error (parse): "FILE:LINE: what is wrong".
    static NoiseTrace parse(std::string_view text, const std::string& name);
};

struct Noise {
    enum class Kind : std::uint8_t {
        none,
        periodic,  // an interruption of `length` begins each `period`
        poisson,   // from the end of one to the begin of the next: exponential; as many as periodic
        trace
    };
    Kind kind = Kind::none;
    Time period = 0;
    Time length = 0;
    std::shared_ptr<const NoiseTrace> trace = nullptr;
    bool together = false;  // strikes all processors at the same time; else each begins at a random place
    std::uint64_t seed = 1;
};

// The interruptions of one processor, asked for in the order of time. They depend on the noise and the
// processor's number alone, not on when another processor is asked.
class NoiseStream {
  public:
    NoiseStream(const Noise& noise, std::uint64_t processor);

    // When work of this length is done that begins at `begin`, or when the interruption there is over; no
    // earlier than any begin before it.
    Time finish(const Noise& noise, Time begin, Time work) {
        if (begin + work <= start_) [[likely]]
            return begin + work;
        return finish_interrupted(noise, begin, work);
    }

  private:
    Time finish_interrupted(const Noise& noise, Time begin, Time work);
    void go_to_next(const Noise& noise);
    // Periodic noise and traces: to interruption `number_` of this round.
    void place(const Noise& noise);
    void skip(const Noise& noise, Time until);

    Time start_ = never;  // of the next interruption
    Time end_ = never;
    Time period_ = 0;           // periodic, trace: of a round
    Time origin_ = 0;           // and where this round begins
    std::uint32_t number_ = 0;  // poisson: of the next random number; trace: index
    std::uint32_t processor_ = 0;
};

}  // namespace lapwing::simulate
