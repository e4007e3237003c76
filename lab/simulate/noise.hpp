// Noise: interruptions of the program on its processor, for example by the operating system. Noise delays
// work, never the network.
#pragma once

#include <cstdint>

#include "simulate/time.hpp"

namespace lapwing::simulate {

struct Noise {
    enum class Kind : std::uint8_t {
        none,
        periodic,  // an interruption of `length` begins each `period`
        poisson,   // from the end of one to the begin of the next: exponential; as many as periodic
    };
    Kind kind = Kind::none;
    Time period = 0;
    Time length = 0;
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
    void skip(const Noise& noise, Time until);

    Time start_ = never;  // of the next interruption
    Time end_ = never;
    std::uint32_t number_ = 0;  // poisson: of the last random number
    std::uint32_t processor_ = 0;
};

}  // namespace lapwing::simulate
