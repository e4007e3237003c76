// What the parts of an endpoint share. All of it stands before the first connection is made and does not
// change after.
#pragma once

#include <vector>

#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tcp {

struct Job {
    Options options;
    Address own;
    Key key{};  // wiped with the job
    std::vector<Address> members;
    int self = -1;  // not admitted yet

    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ~Job();
};

}  // namespace lapwing::tcp
