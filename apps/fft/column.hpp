// The exchange in a column of ranks, from whole lines in y to whole lines in z and back: what is sent to
// whom, by which calls of MPI, and the buffers of the exchanges that are in flight.
#pragma once

#include <mpi.h>

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

#include "program.hpp"

namespace fft {

using Complex = std::complex<double>;

enum class Mode { blocking, nonblocking, one_sided };

struct Settings {
    std::array<int, 3> n{};  // x, y, z
    int rows = 1;            // ranks in a row: y is cut over them
    int columns = 1;         // ranks in a column: z is cut over them
    int tiles = 1;
    int window = 2;
    Mode mode = Mode::nonblocking;
    int tests = 0;  // calls of MPI_Test for each exchange, while others are computed
};

/** How many elements a rank sends to and receives from each other, and where they are. */
struct Counts {
    std::vector<int> send, send_at, receive, receive_at;
    bool equal = false;  // the same for all pairs of ranks

    void find_offsets() {
        for (auto [counts, at] : {std::pair(&send, &send_at), std::pair(&receive, &receive_at)}) {
            at->assign(counts->size(), 0);
            for (std::size_t i = 1; i < counts->size(); ++i) (*at)[i] = (*at)[i - 1] + (*counts)[i - 1];
        }
    }
};

class Column {
  public:
    struct Slot {
        std::vector<Complex> send;
        std::vector<Complex> received;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Win window = MPI_WIN_NULL;
    };

    /** The ranks of `comm`, which this frees, have x_length of the lines each. */
    Column(MPI_Comm comm, const Settings& settings, int x_length, apps::Program& program)
        : comm_(comm),
          s_(settings),
          x_length_(x_length),
          start_seconds_(program.phase("start")),
          wait_seconds_(program.phase("wait")) {
        MPI_Comm_rank(comm_, &me_);
        // Open MPI makes no window on a communicator of one rank, which has nothing to put, anyway.
        if (s_.columns == 1 && s_.mode == Mode::one_sided) s_.mode = Mode::blocking;
        int longest = 0;
        for (int r = 0; r < s_.columns; ++r)
            longest += tile_of(r, 0).length;  // the first tile is the longest
        const std::size_t size = std::max(std::size_t(x_length_) * tile_of(me_, 0).length * s_.n[1],
                                          std::size_t(x_length_) * longest * y_of(me_).length);
        slots_.resize(s_.window);
        for (Slot& slot : slots_) {
            slot.send.resize(size);
            slot.received.resize(size);
            if (s_.mode == Mode::one_sided) {
                MPI_Win_create(slot.received.data(), MPI_Aint(size * sizeof(Complex)), sizeof(Complex),
                               MPI_INFO_NULL, comm_, &slot.window);
            }
        }
        for (int tile = 0; tile < s_.tiles; ++tile)
            for (const bool forward : {true, false}) counts_[forward].push_back(make_counts(tile, forward));
    }
    ~Column() {
        for (Slot& slot : slots_)
            if (slot.window != MPI_WIN_NULL) MPI_Win_free(&slot.window);
        MPI_Comm_free(&comm_);
    }
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;

    int me() const { return me_; }
    apps::Range y_of(int r) const { return apps::part_of(s_.n[1], s_.columns, r); }
    apps::Range z_of(int r) const { return apps::part_of(s_.n[2], s_.columns, r); }
    /** The planes of a rank that are in this tile, counted from that rank's first. */
    apps::Range tile_of(int r, int tile) const { return apps::part_of(z_of(r).length, s_.tiles, tile); }
    const Counts& counts(int tile, bool forward) const { return counts_[forward][tile]; }
    Slot& slot(std::size_t unit) { return slots_[unit % slots_.size()]; }

    /** Exchanges the blocks of a tile, from slot.send to slot.received. */
    void start(Slot& slot, int tile, bool forward) {
        const apps::Timer timer(start_seconds_);
        const Counts& c = counts(tile, forward);
        switch (s_.mode) {
            case Mode::blocking:
                if (c.equal) {
                    MPI_Alltoall(slot.send.data(), c.send[0], MPI_C_DOUBLE_COMPLEX, slot.received.data(),
                                 c.send[0], MPI_C_DOUBLE_COMPLEX, comm_);
                } else {
                    MPI_Alltoallv(slot.send.data(), c.send.data(), c.send_at.data(), MPI_C_DOUBLE_COMPLEX,
                                  slot.received.data(), c.receive.data(), c.receive_at.data(),
                                  MPI_C_DOUBLE_COMPLEX, comm_);
                }
                break;
            case Mode::nonblocking:
                if (c.equal) {
                    MPI_Ialltoall(slot.send.data(), c.send[0], MPI_C_DOUBLE_COMPLEX, slot.received.data(),
                                  c.send[0], MPI_C_DOUBLE_COMPLEX, comm_, &slot.request);
                } else {
                    MPI_Ialltoallv(slot.send.data(), c.send.data(), c.send_at.data(), MPI_C_DOUBLE_COMPLEX,
                                   slot.received.data(), c.receive.data(), c.receive_at.data(),
                                   MPI_C_DOUBLE_COMPLEX, comm_, &slot.request);
                }
                break;
            case Mode::one_sided:
                MPI_Win_fence(MPI_MODE_NOPRECEDE, slot.window);
                for (int r = 0; r < s_.columns; ++r) {
                    if (c.send[r] > 0) {
                        MPI_Put(slot.send.data() + c.send_at[r], c.send[r], MPI_C_DOUBLE_COMPLEX, r,
                                place_at(r, tile, forward), c.send[r], MPI_C_DOUBLE_COMPLEX, slot.window);
                    }
                }
                break;
        }
    }

    void wait_for(Slot& slot) {
        const apps::Timer timer(wait_seconds_);
        if (s_.mode == Mode::one_sided)
            MPI_Win_fence(MPI_MODE_NOSUCCEED, slot.window);
        else
            MPI_Wait(&slot.request, MPI_STATUS_IGNORE);
    }

    void test() {
        for (Slot& slot : slots_) {
            int done = 0;
            MPI_Test(&slot.request, &done, MPI_STATUS_IGNORE);
        }
    }

  private:
    /** Blocks in the column are [x][z][y], forward from the ranks that have z to those that have y. */
    Counts make_counts(int tile, bool forward) const {
        Counts counts;
        const int mine = tile_of(me_, tile).length;
        counts.equal = s_.n[1] % s_.columns == 0;
        for (int r = 0; r < s_.columns; ++r) {
            counts.send.push_back(x_length_ * mine * y_of(r).length);
            counts.receive.push_back(x_length_ * tile_of(r, tile).length * y_of(me_).length);
            counts.equal = counts.equal && tile_of(r, tile).length == mine;
        }
        if (!forward) std::swap(counts.send, counts.receive);
        counts.find_offsets();
        return counts;
    }

    /** Where this rank's block begins in the receive buffer of a rank of the column. */
    MPI_Aint place_at(int r, int tile, bool forward) const {
        MPI_Aint at = 0;
        for (int before = 0; before < me_; ++before) {
            at += forward ? MPI_Aint(x_length_) * tile_of(before, tile).length * y_of(r).length
                          : MPI_Aint(x_length_) * tile_of(r, tile).length * y_of(before).length;
        }
        return at;
    }

    MPI_Comm comm_;
    Settings s_;
    int x_length_;
    double& start_seconds_;
    double& wait_seconds_;
    int me_ = 0;
    std::vector<Slot> slots_;
    std::array<std::vector<Counts>, 2> counts_;  // [forward][tile]
};

}  // namespace fft
