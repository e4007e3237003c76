// The connections of one group, for engines.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "links/connections.hpp"
#include "links/tcp/connection_table.hpp"
#include "links/tcp/job.hpp"

namespace lapwing::tcp {

class GroupConnections final : public Connections {
  public:
    // Calls into the endpoint.
    struct Makers {
        std::function<void(int peer, int lane)> connect;
        std::function<void()> closed;
    };
    GroupConnections(std::shared_ptr<ConnectionTable> table, const Job& job, EventLoop& event_loop,
                     Makers makers);
    ~GroupConnections() override;

    const char* name() const override { return "tcp"; }
    int lanes() const override { return table_->lanes(); }
    void want(int peer, int lane) override;
    int descriptor(int peer, int lane) override { return table_->descriptor(peer, lane); }
    void on_change(std::function<void()> work) override { table_->on_change(std::move(work)); }
    std::string describe(int peer) const override;
    bool silent(int peer) const override;
    void give_up(const std::string& why) override;
    EventLoop& event_loop() override { return event_loop_; }

  private:
    const pid_t process_;
    const std::shared_ptr<ConnectionTable> table_;
    const Job& job_;
    EventLoop& event_loop_;
    const Makers makers_;
};

}  // namespace lapwing::tcp
