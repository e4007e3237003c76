// One descriptor for two.
#pragma once

namespace lapwing {

// Gives a descriptor that is readable when one of two is; for poll() only.
class PollSet {
  public:
    PollSet() = default;
    PollSet(const PollSet&) = delete;
    PollSet& operator=(const PollSet&) = delete;
    ~PollSet();

    // -1 when one of them is: who has to ask for one again has to ask again. Stays in place until the next
    // call, and costs no system call while the two stay the same. Throws Error (system).
    int of(int first, int second);

  private:
    void close();

    int poller_ = -1;
    int watched_[2] = {-1, -1};
};

}  // namespace lapwing
