#include "links/tcp/group.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "links/tcp/addresses.hpp"
#include "links/tcp/pulse.hpp"

namespace lapwing::tcp {

Group::Group(std::shared_ptr<Lines> lines, const Job& job, Attendant& attendant, Makers makers)
    : process_(getpid()),
      lines_(std::move(lines)),
      job_(job),
      attendant_(attendant),
      makers_(std::move(makers)) {}

Group::~Group() {
    // In a child of fork the connections are the parent's: to shut them down would end them there, too.
    if (process_ != getpid()) return;
    lines_->close();
    makers_.closed();
}

void Group::want(int peer, int lane) {
    if (lines_->want(peer, lane)) makers_.dial(peer, lane);
}

std::string Group::told(int peer) const {
    const Address& address = job_.members[static_cast<std::size_t>(lines_->member(peer))];
    std::string where = lines_->address(peer);
    if (where.empty()) {
        const auto places = routes(job_.own, address);
        if (!places.empty()) where = text(places.front());
    }
    return fmt::format("rank {} ({}{}{})", peer, address.name, where.empty() ? "" : ", ", where);
}

bool Group::silent(int peer) const {
    return tcp::silent(*lines_, peer);
}

void Group::give_up(const std::string& why) {
    lines_->give_up(why);
    lines_->tell();
}

}  // namespace lapwing::tcp
