// The order of hosts in the network, from a text file. Hosts that are neighbors in the network should be next
// to each other.
//
//     # comment to the end of the line
//     node07 node03                 hosts, one or more on a line
//     node[09-12,20]                node09 node10 node11 node12 node20
//     torus 4x4 node[01-16]         a path through a torus whose hosts are named along x first, then y, ...
//     mesh 4x4 node[01-16]          the same without links between the ends of a row
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::topology {

// A torus or a mesh of any number of dimensions.
struct Grid {
    bool wraps = false;        // a torus: a link joins both ends of each row
    std::vector<int> extents;  // along x, y, ...

    int size() const;
};

// Returns a Hamiltonian path: all cells of the grid, numbered along x first, then y, ..., each linked to the
// next. Each step in a torus increases one coordinate, modulo its extent, so the path also suits links that
// go one way. In a mesh the path turns around at the end of each row.
std::vector<int> path_through(const Grid& grid);

class HostOrder {
  public:
    // The empty order.
    HostOrder() = default;
    // Throws Error (system; parse, with "FILE:LINE: reason").
    static HostOrder read(const std::string& path);
    // The same for a text. `name`: the name of the file, for messages.
    static HostOrder parse(std::string_view text, const std::string& name);

    // In their order, without repetitions.
    const std::vector<std::string>& hosts() const { return hosts_; }
    // Returns the index of a host in the order, or -1. "node1" and "node1.cluster.org" are the same host
    // unless the file has both.
    int find(std::string_view host) const;
    // Different files have different fingerprints.
    std::uint64_t fingerprint() const { return fingerprint_; }

  private:
    std::vector<std::string> hosts_;
    std::map<std::string, int, std::less<>> indices_;
    std::map<std::string, int, std::less<>> short_indices_;  // -1: several hosts have it
    std::uint64_t fingerprint_ = 0;
};

}  // namespace lapwing::topology
