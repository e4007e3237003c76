// Data that the parts of an endpoint share. They do not change after the first connection.
#pragma once

#include <vector>

#include "links/tcp/address.hpp"
#include "links/tcp/options.hpp"

namespace lapwing::tcp {

struct Job {
    Options options;
    Address own;
    Key key{};  // zeroed by the destructor
    std::vector<Address> members;
    int self = -1;  // -1: admit() was not called yet

    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ~Job();
};

}  // namespace lapwing::tcp
