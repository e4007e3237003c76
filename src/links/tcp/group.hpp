// The connections of one group, as an engine gets them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "links/connections.hpp"
#include "links/tcp/job.hpp"
#include "links/tcp/lines.hpp"

namespace lapwing::tcp {

class Group final : public Connections {
  public:
    // What the endpoint does for it.
    struct Makers {
        std::function<void(int peer, int lane)> dial;
        std::function<void()> closed;
    };
    Group(std::shared_ptr<Lines> lines, const Job& job, Attendant& attendant, Makers makers);
    ~Group() override;

    const char* name() const override { return "tcp"; }
    int lanes() const override { return lines_->lanes(); }
    void want(int peer, int lane) override;
    int descriptor(int peer, int lane) override { return lines_->descriptor(peer, lane); }
    void on_change(std::function<void()> work) override { lines_->on_change(std::move(work)); }
    std::string told(int peer) const override;
    bool silent(int peer) const override;
    void give_up(const std::string& why) override;
    Attendant& attendant() override { return attendant_; }

  private:
    const pid_t process_;
    const std::shared_ptr<Lines> lines_;
    const Job& job_;
    Attendant& attendant_;
    const Makers makers_;
};

}  // namespace lapwing::tcp
