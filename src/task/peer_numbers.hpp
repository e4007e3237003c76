// Numbers for the peers of a list, in the order in which they first occur.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

namespace lapwing {

class PeerNumbers {
  public:
    // Returns the number of the peer; the next free one if it is new.
    std::size_t of(int peer) {
        // Few peers are found faster without a table.
        constexpr std::size_t max_searched = 16;
        if (table_.empty()) {
            const auto found = std::find(peers_.begin(), peers_.end(), peer);
            if (found != peers_.end()) return static_cast<std::size_t>(found - peers_.begin());
            if (peers_.size() < max_searched) {
                peers_.push_back(peer);
                return peers_.size() - 1;
            }
            for (std::size_t number = 0; number < peers_.size(); ++number) table_[peers_[number]] = number;
        }
        const auto [found, added] = table_.try_emplace(peer, peers_.size());
        if (added) peers_.push_back(peer);
        return found->second;
    }
    // By number.
    const std::vector<int>& peers() const { return peers_; }

  private:
    std::vector<int> peers_;
    std::unordered_map<int, std::size_t> table_;  // empty while there are few peers
};

}  // namespace lapwing
