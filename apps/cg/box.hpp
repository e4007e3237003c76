// A rank's box of points, with the product by the matrix of the Poisson equation, whose halo is hidden behind
// the inner points and behind what else is done between its start and the product, and with sums over all
// ranks.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <vector>

#include "program.hpp"

namespace cg {

enum class Halo { alltoallv, neighbor };

/** Of which vector the outermost points travel. */
enum class Of { direction, residual };

struct Settings {
    std::array<int, 3> n{};     // points of the whole grid
    std::array<int, 3> grid{};  // ranks
    Halo halo = Halo::neighbor;
    Of of = Of::direction;
    bool overlap = true;
    int tests = 0;
    double tolerance = 1e-8;
    int most = 10000;
};

/** This rank's points with a layer of others' around them. */
using Vector = std::vector<double>;

class Box {
  public:
    Box(MPI_Comm ranks, const Settings& settings, apps::Program& program)
        : s_(settings),
          halo_start_(program.phase("start of halo")),
          halo_wait_(program.phase("wait for halo")),
          sum_start_(program.phase("start of sums")),
          sum_wait_(program.phase("wait for sums")),
          program_(program) {
        const std::array<int, 3> periods{};
        MPI_Cart_create(ranks, 3, s_.grid.data(), periods.data(), 0, &cart_);
        // A communicator of its own for the sums, so that two kinds of collectives do not wait for each
        // other.
        MPI_Comm_dup(cart_, &sums_);
        std::array<int, 3> at{};
        int rank = 0;
        MPI_Comm_rank(cart_, &rank);
        MPI_Cart_coords(cart_, rank, 3, at.data());
        for (int d = 0; d < 3; ++d) {
            own_[d] = apps::part_of(s_.n[d], s_.grid[d], at[d]);
            length_[d] = own_[d].length;
            MPI_Cart_shift(cart_, d, 1, &neighbors_[2 * d], &neighbors_[2 * d + 1]);
        }
        stride_ = {std::size_t(length_[1] + 2) * (length_[2] + 2), std::size_t(length_[2] + 2), 1};
        find_faces();
    }
    ~Box() {
        MPI_Comm_free(&sums_);
        MPI_Comm_free(&cart_);
    }
    Box(const Box&) = delete;
    Box& operator=(const Box&) = delete;

    Vector vector() const { return Vector(std::size_t(length_[0] + 2) * stride_[0]); }
    std::size_t place(int x, int y, int z) const {
        return (x + 1) * stride_[0] + (y + 1) * stride_[1] + (z + 1);
    }
    const Settings& settings() const { return s_; }

    /** Calls f(place) for each of this rank's points. With --tests it tests a halo that is under way. */
    template <typename F>
    void each(F f) {
        apps::Pace pace(request_ != MPI_REQUEST_NULL ? s_.tests : 0, length_[0]);
        for (int x = 0; x < length_[0]; ++x) {
            for (int y = 0; y < length_[1]; ++y) {
                const std::size_t line = place(x, y, 0);
                for (int z = 0; z < length_[2]; ++z) f(line + z);
            }
            if (pace.due()) test();
        }
    }

    /** The same with the coordinates in the whole grid, counted from 1. */
    template <typename F>
    void each_with_coordinates(F f) const {
        for (int x = 0; x < length_[0]; ++x) {
            for (int y = 0; y < length_[1]; ++y)
                for (int z = 0; z < length_[2]; ++z)
                    f(place(x, y, z), own_[0].begin + x + 1, own_[1].begin + y + 1, own_[2].begin + z + 1);
        }
    }

    /** Starts the exchange of the outermost points' values, as value(place) gives them; without overlap it is
     * complete at once. */
    template <typename F>
    void start_halo(apps::Parts parts, F value) {
        if (!parts.communicate) return;
        const apps::Timer timer(halo_start_);
        for (int f = 0; parts.compute && f < 6; ++f)
            if (neighbors_[f] != MPI_PROC_NULL)
                each_of_face(f, 0, [&](std::size_t i, std::size_t at) { send_[i] = value(at); });
        exchange();
    }

    /** Waits for the neighbours' points and calls put(place, received) for each. */
    template <typename F>
    void finish_halo(apps::Parts parts, F put) {
        if (!parts.communicate) return;
        const apps::Timer timer(halo_wait_);
        MPI_Wait(&request_, MPI_STATUS_IGNORE);
        if (program_.plant()) {
            received_[0] += 1000;
            if (cart_size() == 1)  // which receives nothing
                put(place(0, 0, 0), 1000);
        }
        for (int f = 0; parts.compute && f < 6; ++f)
            if (neighbors_[f] != MPI_PROC_NULL)
                each_of_face(f, -1, [&](std::size_t i, std::size_t at) { put(at, received_[i]); });
    }

    /** result = A v, where A is 6 on the diagonal and -1 for each neighbour. Points outside of the grid are
     * 0. */
    void multiply(Vector& v, Vector& result, apps::Parts parts) {
        start_halo(parts, [&](std::size_t at) { return v[at]; });
        multiply(v, result, parts, [&](std::size_t at, double received) { v[at] = received; });
    }

    /** The same with a halo that is under way: put(place, received) makes points around v of what comes. */
    template <typename F>
    void multiply(const Vector& v, Vector& result, apps::Parts parts, F put) {
        const std::array<apps::Range, 3> inside = {inner(0), inner(1), inner(2)};
        if (parts.compute && s_.overlap) {
            apps::Pace pace(s_.tests, inside[0].length);
            for (int x = inside[0].begin; x < inside[0].begin + inside[0].length; ++x) {
                multiply_part(v, result, {{{x, 1}, inside[1], inside[2]}});
                if (pace.due()) test();
            }
        }
        finish_halo(parts, put);
        if (!parts.compute) return;
        if (!s_.overlap) {
            multiply_part(v, result, {{{0, length_[0]}, {0, length_[1]}, {0, length_[2]}}});
            return;
        }
        // The surface, each point once.
        std::array<apps::Range, 3> rest = {{{0, length_[0]}, {0, length_[1]}, {0, length_[2]}}};
        for (int d = 0; d < 3; ++d) {
            for (const apps::Range layers : {apps::Range{0, inside[d].begin},
                                             apps::Range{inside[d].begin + inside[d].length,
                                                         length_[d] - inside[d].begin - inside[d].length}}) {
                std::array<apps::Range, 3> part = rest;
                part[d] = layers;
                multiply_part(v, result, part);
            }
            rest[d] = inside[d];
        }
    }

    /** Starts the sum of `values` over all ranks; without overlap it is complete at once. */
    void start_sum(std::array<double, 3>& values, apps::Parts parts) {
        if (!parts.communicate) return;
        const apps::Timer timer(sum_start_);
        if (s_.overlap)
            MPI_Iallreduce(MPI_IN_PLACE, values.data(), 3, MPI_DOUBLE, MPI_SUM, sums_, &sum_);
        else
            MPI_Allreduce(MPI_IN_PLACE, values.data(), 3, MPI_DOUBLE, MPI_SUM, sums_);
    }

    void finish_sum(apps::Parts parts) {
        if (parts.communicate) {
            const apps::Timer timer(sum_wait_);
            MPI_Wait(&sum_, MPI_STATUS_IGNORE);
        }
    }

    /** A sum that nothing hides. */
    double sum(double value, apps::Parts parts) {
        if (parts.communicate) {
            const apps::Timer timer(sum_wait_);
            MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, sums_);
        }
        return value;
    }

    double dot(const Vector& a, const Vector& b) {
        double result = 0;
        each([&](std::size_t i) { result += a[i] * b[i]; });
        return result;
    }

  private:
    void test() {
        int done = 0;
        MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
        MPI_Test(&sum_, &done, MPI_STATUS_IGNORE);
    }

    int cart_size() const { return s_.grid[0] * s_.grid[1] * s_.grid[2]; }

    /** Points of a dimension that need nothing of a neighbour. */
    apps::Range inner(int d) const {
        const int begin = neighbors_[2 * d] != MPI_PROC_NULL ? 1 : 0;
        const int end = length_[d] - (neighbors_[2 * d + 1] != MPI_PROC_NULL ? 1 : 0);
        return {std::min(begin, length_[d]), std::max(end - std::min(begin, length_[d]), 0)};
    }

    void multiply_part(const Vector& v, Vector& result, const std::array<apps::Range, 3>& part) const {
        const std::size_t a = stride_[0];
        const std::size_t b = stride_[1];
        for (int x = part[0].begin; x < part[0].begin + part[0].length; ++x) {
            for (int y = part[1].begin; y < part[1].begin + part[1].length; ++y) {
                const std::size_t line = place(x, y, part[2].begin);
                const double* p = v.data() + line;
                double* q = result.data() + line;
                for (int z = 0; z < part[2].length; ++z)
                    q[z] = 6 * p[z] - p[z - a] - p[z + a] - p[z - b] - p[z + b] - p[z - 1] - p[z + 1];
            }
        }
    }

    void find_faces() {
        const int blocks = s_.halo == Halo::neighbor ? 6 : cart_size();
        counts_.assign(std::size_t(blocks), 0);
        offsets_.assign(std::size_t(blocks), 0);
        int at = 0;
        for (int f = 0; f < 6; ++f) {
            if (neighbors_[f] == MPI_PROC_NULL) continue;
            const int d = f / 2;
            const int count = length_[(d + 1) % 3] * length_[(d + 2) % 3];
            const std::size_t block = s_.halo == Halo::neighbor ? std::size_t(f) : std::size_t(neighbors_[f]);
            counts_[block] = count;
            offsets_[block] = at;
            face_at_[f] = at;
            at += count;
        }
        // MPICH refuses two null buffers, of which it thinks that they are one.
        send_.resize(std::size_t(std::max(at, 1)));
        received_.resize(send_.size());
    }

    /** Calls f(place in the buffer, place in the vector) for the points of a face, `layer` 0 the outermost
     * own one, -1 the neighbour's. */
    template <typename F>
    void each_of_face(int face, int layer, F f) const {
        const int d = face / 2;
        const int at = face % 2 == 0 ? layer : length_[d] - 1 - layer;
        std::size_t i = std::size_t(face_at_[face]);
        std::array<apps::Range, 3> part = {{{0, length_[0]}, {0, length_[1]}, {0, length_[2]}}};
        part[d] = {at, 1};
        for (int x = part[0].begin; x < part[0].begin + part[0].length; ++x) {
            for (int y = part[1].begin; y < part[1].begin + part[1].length; ++y)
                for (int z = part[2].begin; z < part[2].begin + part[2].length; ++z) f(i++, place(x, y, z));
        }
    }

    void exchange() {
        const int* counts = counts_.data();
        const int* offsets = offsets_.data();
        if (s_.halo == Halo::neighbor && s_.overlap) {
            MPI_Ineighbor_alltoallv(send_.data(), counts, offsets, MPI_DOUBLE, received_.data(), counts,
                                    offsets, MPI_DOUBLE, cart_, &request_);
        } else if (s_.halo == Halo::neighbor) {
            MPI_Neighbor_alltoallv(send_.data(), counts, offsets, MPI_DOUBLE, received_.data(), counts,
                                   offsets, MPI_DOUBLE, cart_);
        } else if (s_.overlap) {
            MPI_Ialltoallv(send_.data(), counts, offsets, MPI_DOUBLE, received_.data(), counts, offsets,
                           MPI_DOUBLE, cart_, &request_);
        } else {
            MPI_Alltoallv(send_.data(), counts, offsets, MPI_DOUBLE, received_.data(), counts, offsets,
                          MPI_DOUBLE, cart_);
        }
    }

    Settings s_;
    double &halo_start_, &halo_wait_, &sum_start_, &sum_wait_;
    apps::Program& program_;
    MPI_Comm cart_ = MPI_COMM_NULL;
    MPI_Comm sums_ = MPI_COMM_NULL;
    MPI_Request request_ = MPI_REQUEST_NULL;
    MPI_Request sum_ = MPI_REQUEST_NULL;
    std::array<apps::Range, 3> own_{};
    std::array<int, 3> length_{};
    std::array<std::size_t, 3> stride_{};
    std::array<int, 6> neighbors_{};  // before and behind in x, y, z: the order of neighbourhood collectives
    std::array<int, 6> face_at_{};
    std::vector<int> counts_, offsets_;
    Vector send_, received_;
};

}  // namespace cg
