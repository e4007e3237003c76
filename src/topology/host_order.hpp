// The order of hosts in the network, as a text file gives it: neighbours in the network next to each other.
//
//     # comment to the end of the line
//     node07 node03                 hosts, one or more on a line
//     node[09-12,20]                a series: node09 node10 node11 node12 node20
//     torus 4x4 node[01-16]         a path through a torus whose hosts are named along x first, then y, ...
//     mesh 4x4 node[01-16]          the same where the ends of a row are not joined
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::topology {

// A torus or a mesh: a grid of any number of dimensions.
struct Grid {
    bool wraps = false;        // a torus: the last of each row is joined to the first
    std::vector<int> extents;  // along x, y, ...
    int first = 0;             // where its path begins in the order

    int size() const;
};

// A Hamiltonian path: all cells of the grid, numbered along x first, then y, ..., of which each is joined to
// the next. Through a torus all steps go upwards in one dimension, round its ring where it ends: so the path
// serves where links go one way, too. Through a mesh it turns round at the end of each row.
std::vector<int> path_through(const Grid& grid);
// Links between two cells, on the shortest way; in a torus that goes upwards only.
int distance(const Grid& grid, int from, int to);

class HostOrder {
  public:
    // Nothing is known of the network.
    HostOrder() = default;
    // Throws Error (system; parse: "FILE:LINE: what is wrong").
    static HostOrder read(const std::string& path);
    // The same of a text; `name` is the file's in messages.
    static HostOrder parse(std::string_view text, const std::string& name);

    // In their order, each once.
    const std::vector<std::string>& hosts() const { return hosts_; }
    // Of the file, in its order.
    const std::vector<Grid>& grids() const { return grids_; }
    // The place of a host in the order; -1 when it has none. "node1" and "node1.cluster.org" are the same
    // host, unless the file has both.
    int find(std::string_view host) const;
    // Differs between files that differ.
    std::uint64_t fingerprint() const { return fingerprint_; }

  private:
    std::vector<std::string> hosts_;
    std::vector<Grid> grids_;
    std::map<std::string, int, std::less<>> places_;
    std::map<std::string, int, std::less<>> short_places_;  // -1: of several hosts
    std::uint64_t fingerprint_ = 0;
};

}  // namespace lapwing::topology
