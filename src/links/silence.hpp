// What keeps a rank from waiting for ever for a host that is cut off: TCP tells of it after a quarter of an
// hour, and never to one that only receives; other networks may not tell at all. A peer that messages are on
// their way to or from, and of which nothing is heard, is asked whether it is there, and is lost in the end.
//
// Counted in looks and not in seconds: a process that was suspended itself has heard of nobody meanwhile.
#pragma once

#include <chrono>
#include <utility>

namespace lapwing {

// Of one peer.
class Silence {
  public:
    enum class Verdict { well, ask, lost };

    // Anything was heard of it.
    void heard() { heard_ = true; }

    // To be called every time_between_looks(). `waiting`: messages are on their way to or from it.
    Verdict look(bool waiting) {
        if (!waiting || std::exchange(heard_, false)) {
            looks_ = 0;
            return Verdict::well;
        }
        ++looks_;
        return looks_ > max_looks            ? Verdict::lost
               : looks_ >= looks_until_asked ? Verdict::ask
                                             : Verdict::well;
    }

    static std::chrono::nanoseconds time_between_looks(std::chrono::seconds patience) {
        return std::chrono::nanoseconds(patience) / max_looks;
    }

  private:
    static constexpr int max_looks = 8;
    static constexpr int looks_until_asked = 3;

    bool heard_ = false;
    int looks_ = 0;
};

}  // namespace lapwing
