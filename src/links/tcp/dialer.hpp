// Makes the connections that this process has to make. Lives on the attendant's thread.
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "links/attendant.hpp"
#include "links/tcp/job.hpp"
#include "links/tcp/lines.hpp"

namespace lapwing::tcp {

class Dialer {
  public:
    Dialer(Attendant& attendant, const Job& job);
    // When the attendant has ended.
    ~Dialer();

    // All by the attendant.
    // Tries until the connection stands or has failed, which `lines` are told.
    void dial(const std::shared_ptr<Lines>& lines, int peer, int lane);
    // Gives up what is on its way for lines that are closed.
    void drop_closed();

  private:
    struct Attempt;
    using Shared = std::shared_ptr<Attempt>;

    void next_place(const Shared& attempt);
    void go_on(const Shared& attempt);
    void connected(const Shared& attempt);
    void place_failed(const Shared& attempt, const std::string& why);
    void round_failed(const Shared& attempt);
    void hang_up(Attempt& attempt);
    void after(const Shared& attempt, std::chrono::milliseconds delay, void (Dialer::*work)(const Shared&));
    void too_late(const Shared& attempt);
    bool given_up(const Shared& attempt);
    std::string failure(const Attempt& attempt) const;

    Attendant& attendant_;
    const Job& job_;
    std::unordered_set<Shared> attempts_;
    std::unordered_map<int, Address::Place> last_good_;  // by member
};

}  // namespace lapwing::tcp
