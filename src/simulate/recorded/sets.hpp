// Numbers that turn out to belong together (union-find).
#pragma once

#include <map>

namespace lapwing::simulate {

class Sets {
  public:
    // Returns the number that represents the set of `one`.
    int find(int one) {
        const auto found = parents_.try_emplace(one, one).first;
        return found->second == one ? one : found->second = find(found->second);
    }
    void join(int one, int other) { parents_[find(one)] = find(other); }

  private:
    std::map<int, int> parents_;
};

}  // namespace lapwing::simulate
