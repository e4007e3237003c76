#include "links/tcp/group_connections.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "links/tcp/addresses.hpp"
#include "links/tcp/liveness.hpp"

namespace lapwing::tcp {

GroupConnections::GroupConnections(std::shared_ptr<ConnectionTable> table, const Job& job,
                                   EventLoop& event_loop, Makers makers)
    : process_(getpid()),
      table_(std::move(table)),
      job_(job),
      event_loop_(event_loop),
      makers_(std::move(makers)) {}

GroupConnections::~GroupConnections() {
    // In a child of fork the connections are the parent's, which a shutdown would end, too.
    if (process_ != getpid()) return;
    table_->close();
    makers_.closed();
}

void GroupConnections::want(int peer, int lane) {
    if (table_->want(peer, lane)) makers_.connect(peer, lane);
}

std::string GroupConnections::describe(int peer) const {
    const Address& address = job_.members[static_cast<std::size_t>(table_->member(peer))];
    std::string where = table_->address(peer);
    if (where.empty()) {
        const auto ips = routes(job_.own, address);
        if (!ips.empty()) where = text(ips.front());
    }
    return fmt::format("rank {} ({}{}{})", peer, address.name, where.empty() ? "" : ", ", where);
}

bool GroupConnections::silent(int peer) const {
    return tcp::silent(*table_, peer);
}

void GroupConnections::give_up(const std::string& why) {
    table_->give_up(why);
    table_->tell();
}

}  // namespace lapwing::tcp
