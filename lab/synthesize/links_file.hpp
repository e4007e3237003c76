// Link files: the links of a group with one rank on each host. lapwing/topology/links.hpp writes them.
//
//   # comment to the end of the line
//   ranks 4
//   rate 100mbit                  of each port, in both directions
//   latency 60us                  from rank to rank
//   task 5us                      of the processor, for each send and each receive; optional
//   port 3 rate 10mbit            of one rank's port
//   link 0-1 rate 10mbit          between two ranks, both ways; "link 0>1 ...": one way
//   link 0-2 none                 there is no link
#pragma once

#include <cstdint>
#include <string>

#include "synthesis/routes.hpp"

namespace lapwing::tool {

struct LinksFile {
    synthesis::Links links;  // task is 0 unless the file has it
    bool has_task = false;
    std::uint64_t fingerprint = 0;  // of the text
};

// Throws Error (system) if the file cannot be read, (parse) with the line of a mistake.
LinksFile read_links(const std::string& path);

}  // namespace lapwing::tool
