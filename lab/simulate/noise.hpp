// Noise: interruptions of the program on its processor, for example by the operating system. Noise delays
// work, never the network.
#pragma once

#include <cstdint>

#include "simulate/time.hpp"

namespace lapwing::simulate {

// An interruption of `length` begins each `period`, on each processor from a random time on.
struct Noise {
    Time period = 0;  // 0: none
    Time length = 0;
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
    void skip(const Noise& noise, Time until);

    Time start_ = never;  // of the next interruption
    Time end_ = never;
};

}  // namespace lapwing::simulate
