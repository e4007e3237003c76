// The Poisson equation in three dimensions by the method of conjugate gradients, on a grid of ranks.
//
// Each rank has a box of points and needs one layer of its six neighbours' for the product with the matrix (7
// points). The halo is hidden behind the points that do not touch it (Hoefler, Gottschling, Lumsdaine, Rehm
// 2007): start the exchange, multiply inside, wait, multiply the surface. Three solvers:
//   cg          two sums in an iteration, each waited for at once
//   gropp       the same, one sum behind the preconditioner and one behind the product (Gropp 2010)
//   pipelined   one sum in an iteration, behind both (Ghysels, Vanroose 2014)
//
// Plain MPI-3.
#include <array>
#include <cmath>
#include <cstddef>

#include "program.hpp"

namespace {

enum class Halo { alltoallv, neighbor };

struct Settings {
    std::array<int, 3> n{};     // points of the whole grid
    std::array<int, 3> grid{};  // ranks
    Halo halo = Halo::neighbor;
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

    /** Calls f(place) for each of this rank's points. */
    template <typename F>
    void each(F f) const {
        for (int x = 0; x < length_[0]; ++x) {
            for (int y = 0; y < length_[1]; ++y) {
                const std::size_t line = place(x, y, 0);
                for (int z = 0; z < length_[2]; ++z) {
                    f(line + z);
                }
            }
        }
    }

    /** The same with the coordinates in the whole grid, counted from 1. */
    template <typename F>
    void each_with_coordinates(F f) const {
        for (int x = 0; x < length_[0]; ++x) {
            for (int y = 0; y < length_[1]; ++y) {
                for (int z = 0; z < length_[2]; ++z) {
                    f(place(x, y, z), own_[0].begin + x + 1, own_[1].begin + y + 1, own_[2].begin + z + 1);
                }
            }
        }
    }

    /** result = A v, where A is 6 on the diagonal and -1 for each neighbour. Points outside of the grid are
     * 0. */
    void multiply(Vector& v, Vector& result, apps::Parts parts) {
        if (parts.communicate) {
            start_halo(v, parts);
        }
        const std::array<apps::Range, 3> inside = {inner(0), inner(1), inner(2)};
        if (parts.compute && s_.overlap) {
            apps::Pace pace(s_.tests, inside[0].length);
            for (int x = inside[0].begin; x < inside[0].begin + inside[0].length; ++x) {
                multiply_part(v, result, {{{x, 1}, inside[1], inside[2]}});
                if (pace.due()) {
                    int done = 0;
                    MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
                    MPI_Test(&sum_, &done, MPI_STATUS_IGNORE);
                }
            }
        }
        if (parts.communicate) {
            finish_halo(v, parts);
        }
        if (!parts.compute) {
            return;
        }
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
        if (!parts.communicate) {
            return;
        }
        const apps::Timer timer(sum_start_);
        if (s_.overlap) {
            MPI_Iallreduce(MPI_IN_PLACE, values.data(), 3, MPI_DOUBLE, MPI_SUM, sums_, &sum_);
        } else {
            MPI_Allreduce(MPI_IN_PLACE, values.data(), 3, MPI_DOUBLE, MPI_SUM, sums_);
        }
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

    double dot(const Vector& a, const Vector& b) const {
        double result = 0;
        each([&](std::size_t i) { result += a[i] * b[i]; });
        return result;
    }

  private:
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
                for (int z = 0; z < part[2].length; ++z) {
                    q[z] = 6 * p[z] - p[z - a] - p[z + a] - p[z - b] - p[z + b] - p[z - 1] - p[z + 1];
                }
            }
        }
    }

    void find_faces() {
        const int blocks = s_.halo == Halo::neighbor ? 6 : cart_size();
        counts_.assign(std::size_t(blocks), 0);
        offsets_.assign(std::size_t(blocks), 0);
        int at = 0;
        for (int f = 0; f < 6; ++f) {
            if (neighbors_[f] == MPI_PROC_NULL) {
                continue;
            }
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
            for (int y = part[1].begin; y < part[1].begin + part[1].length; ++y) {
                for (int z = part[2].begin; z < part[2].begin + part[2].length; ++z) {
                    f(i++, place(x, y, z));
                }
            }
        }
    }

    void start_halo(const Vector& v, apps::Parts parts) {
        const apps::Timer timer(halo_start_);
        for (int f = 0; parts.compute && f < 6; ++f) {
            if (neighbors_[f] != MPI_PROC_NULL) {
                each_of_face(f, 0, [&](std::size_t i, std::size_t at) { send_[i] = v[at]; });
            }
        }
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

    void finish_halo(Vector& v, apps::Parts parts) {
        const apps::Timer timer(halo_wait_);
        MPI_Wait(&request_, MPI_STATUS_IGNORE);
        if (program_.plant()) {
            received_[0] += 1000;
            v[place(0, 0, 0)] += cart_size() == 1 ? 1000 : 0;  // which receives nothing
        }
        for (int f = 0; parts.compute && f < 6; ++f) {
            if (neighbors_[f] != MPI_PROC_NULL) {
                each_of_face(f, -1, [&](std::size_t i, std::size_t at) { v[at] = received_[i]; });
            }
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

/** x with A x = b by one of the solvers, until the residual is the tolerance times b or, when `fixed` is
 * positive, after so many iterations. Gives the number of iterations. The preconditioner is the diagonal. */
class Solver {
  public:
    explicit Solver(Box& box)
        : x(box.vector()), b(x), box_(box), r_(x), z_(x), p_(x), s_(x), q_(x), w_(x), m_(x), n_(x), t_(x) {}

    int solve(const std::string& method, int fixed, apps::Parts parts) {
        std::fill(x.begin(), x.end(), 0);
        r_ = b;
        wanted_ = std::pow(box_.settings().tolerance, 2) * box_.sum(box_.dot(b, b), parts);
        fixed_ = fixed;
        parts_ = parts;
        return method == "cg" ? cg() : method == "gropp" ? gropp() : pipelined();
    }

    Vector x, b;

  private:
    static constexpr double inverse_diagonal = 1. / 6;

    bool enough(int iteration, double square) const {
        return fixed_ > 0 ? iteration >= fixed_ : square <= wanted_ || iteration >= box_.settings().most;
    }

    void precondition(const Vector& from, Vector& to) const {
        if (parts_.compute) {
            box_.each([&](std::size_t i) { to[i] = inverse_diagonal * from[i]; });
        }
    }

    double dot(const Vector& a, const Vector& c) const { return parts_.compute ? box_.dot(a, c) : 1; }

    /** a += factor * c */
    void add(Vector& a, double factor, const Vector& c) const {
        if (parts_.compute) {
            box_.each([&](std::size_t i) { a[i] += factor * c[i]; });
        }
    }

    /** a = c + factor * a */
    void turn(Vector& a, double factor, const Vector& c) const {
        if (parts_.compute) {
            box_.each([&](std::size_t i) { a[i] = c[i] + factor * a[i]; });
        }
    }

    int cg() {
        precondition(r_, z_);
        p_ = z_;
        double rho = box_.sum(dot(r_, z_), parts_);
        // With a diagonal that is constant the residual's square is known from rho.
        for (int i = 0;; ++i) {
            if (enough(i, rho / inverse_diagonal)) {
                return i;
            }
            box_.multiply(p_, s_, parts_);
            const double alpha = rho / box_.sum(dot(p_, s_), parts_);
            add(x, alpha, p_);
            add(r_, -alpha, s_);
            precondition(r_, z_);
            const double next = box_.sum(dot(r_, z_), parts_);
            turn(p_, next / rho, z_);
            rho = next;
        }
    }

    /** s = A p is carried along, and q = M s. */
    int gropp() {
        std::array<double, 3> sums{};
        precondition(r_, z_);
        p_ = z_;
        box_.multiply(p_, s_, parts_);
        double gamma = box_.sum(dot(r_, z_), parts_);
        for (int i = 0;; ++i) {
            if (enough(i, gamma / inverse_diagonal)) {
                return i;
            }
            sums = {dot(p_, s_), 0, 0};
            box_.start_sum(sums, parts_);
            precondition(s_, q_);
            box_.finish_sum(parts_);
            const double alpha = gamma / sums[0];
            add(x, alpha, p_);
            add(r_, -alpha, s_);
            add(z_, -alpha, q_);
            sums = {dot(r_, z_), 0, 0};
            box_.start_sum(sums, parts_);
            box_.multiply(z_, w_, parts_);
            box_.finish_sum(parts_);
            const double beta = sums[0] / gamma;
            gamma = sums[0];
            turn(p_, beta, z_);
            turn(s_, beta, w_);
        }
    }

    /** With M the preconditioner, the paper's u is z_ = M r, w = A u, m = M w, n = A m; its z is t_. */
    int pipelined() {
        std::array<double, 3> sums{};
        precondition(r_, z_);
        box_.multiply(z_, w_, parts_);
        double gamma = 1;
        double alpha = 1;
        for (Vector* v : {&p_, &s_, &q_, &t_}) {
            std::fill(v->begin(), v->end(), 0);
        }
        for (int i = 0;; ++i) {
            sums = {dot(r_, z_), dot(w_, z_), dot(r_, r_)};
            box_.start_sum(sums, parts_);
            precondition(w_, m_);
            box_.multiply(m_, n_, parts_);
            box_.finish_sum(parts_);
            if (enough(i, sums[2])) {
                return i;
            }
            const double beta = i > 0 ? sums[0] / gamma : 0;
            alpha = i > 0 ? sums[0] / (sums[1] - beta * sums[0] / alpha) : sums[0] / sums[1];
            gamma = sums[0];
            if (!parts_.compute) {
                continue;
            }
            box_.each([&](std::size_t k) {
                t_[k] = n_[k] + beta * t_[k];
                q_[k] = m_[k] + beta * q_[k];
                s_[k] = w_[k] + beta * s_[k];
                p_[k] = z_[k] + beta * p_[k];
                x[k] += alpha * p_[k];
                r_[k] -= alpha * s_[k];
                z_[k] -= alpha * q_[k];
                w_[k] -= alpha * t_[k];
            });
        }
    }

    Box& box_;
    int fixed_ = 0;
    double wanted_ = 0;
    apps::Parts parts_;
    Vector r_, z_, p_, s_, q_, w_, m_, n_, t_;
};

/** The solution that is to be found: a number for each point, none like another, so that no face passes for
 * another. */
double solution(const Settings& s, int x, int y, int z) {
    if (x < 1 || y < 1 || z < 1 || x > s.n[0] || y > s.n[1] || z > s.n[2]) {
        return 0;
    }
    return apps::random_number((std::uint64_t(x) * (s.n[1] + 2) + y) * (s.n[2] + 2) + z);
}

void make_right_side(const Box& box, Vector& b) {
    const Settings& s = box.settings();
    box.each_with_coordinates([&](std::size_t at, int x, int y, int z) {
        b[at] = 6 * solution(s, x, y, z) - solution(s, x - 1, y, z) - solution(s, x + 1, y, z) -
                solution(s, x, y - 1, z) - solution(s, x, y + 1, z) - solution(s, x, y, z - 1) -
                solution(s, x, y, z + 1);
    });
}

/** || x - solution || / || solution || */
double relative_error(Box& box, const Vector& x) {
    double error = 0;
    double square = 0;
    box.each_with_coordinates([&](std::size_t at, int px, int py, int pz) {
        const double exact = solution(box.settings(), px, py, pz);
        error += std::pow(x[at] - exact, 2);
        square += exact * exact;
    });
    return std::sqrt(box.sum(error, {}) / box.sum(square, {}));
}

/** The condition of the matrix, from its eigenvalues 6 - 2 (cos a + cos b + cos c). */
double condition(const Settings& s) {
    double cosines = 0;
    for (const int n : s.n) {
        cosines += 2 * std::cos(std::acos(-1.) / (n + 1));
    }
    return (6 + cosines) / (6 - cosines);
}

}  // namespace

int main(int argc, char** argv) {
    apps::Program program(
        argc, argv, "cg",
        "The Poisson equation in three dimensions by conjugate gradients; halo and sums are hidden.");
    Settings settings;
    std::vector<int> size = {64, 64, 64};
    std::array<int, 3> balanced{};
    MPI_Dims_create(program.ranks, 3, balanced.data());
    std::vector<int> grid(balanced.begin(), balanced.end());
    std::string solver = "cg";
    std::string halo = "neighbor";
    std::string mode = "nonblocking";
    program.option("--size", size, "points in x, y and z");
    program.option("--grid", grid, "ranks in x, y and z");
    program.option("--solver", solver,
                   "two sums in an iteration, waited for or hidden, or one that is hidden",
                   {"cg", "gropp", "pipelined"});
    program.option("--halo", halo,
                   "MPI_Ineighbor_alltoallv, or MPI_Ialltoallv with no data but for neighbours",
                   {"neighbor", "alltoallv"});
    program.option("--mode", mode, "whether halo and sums are hidden", {"blocking", "nonblocking"});
    program.option("--tests", settings.tests, "calls of MPI_Test in each product, in mode nonblocking");
    program.option("--tolerance", settings.tolerance, "residual at the end, relative to the right side");
    program.option("--most", settings.most, "iterations", 1);
    if (!program.parse()) {
        return program.status;
    }
    if (program.quick) {
        size = {20, 20, 20};
    }
    for (int d = 0; d < 3; ++d) {
        settings.n[d] = size[d];
        settings.grid[d] = grid[d];
    }
    if (grid[0] * grid[1] * grid[2] != program.ranks || grid[0] > size[0] || grid[1] > size[1] ||
        grid[2] > size[2]) {
        return program.refuse("the grid must have as many places as there are ranks, and a point for each");
    }
    settings.halo = halo == "neighbor" ? Halo::neighbor : Halo::alltoallv;
    settings.overlap = mode == "nonblocking";
    settings.tests = settings.overlap ? settings.tests : 0;
    program.variant = mode + (settings.tests > 0 ? " with " + std::to_string(settings.tests) + " tests" : "");
    program.size("size", size);
    program.size("grid", grid);
    program.size("solver", solver);
    program.size("halo", halo);

    // What one rank alone needs: rounding may make a difference of one iteration.
    int alone = 0;
    if (std::int64_t(size[0]) * size[1] * size[2] <= 30000) {
        Settings serial = settings;
        serial.grid = {1, 1, 1};
        Box box(MPI_COMM_SELF, serial, program);
        Solver one(box);
        make_right_side(box, one.b);
        alone = one.solve("cg", 0, {});
    }
    Box box(MPI_COMM_WORLD, settings, program);
    Solver all(box);
    make_right_side(box, all.b);
    int iterations = 0;
    const auto run = [&](apps::Parts parts) {
        const int done = all.solve(solver, parts.compute && parts.communicate ? 0 : iterations, parts);
        iterations = done;
    };
    const auto check = [&] {
        program.result("iterations", long(iterations));
        const bool as_alone = alone == 0 || std::abs(iterations - alone) <= 1;
        return as_alone ? relative_error(box, all.x) : HUGE_VAL;
    };
    program.rate = [&](double seconds) {
        program.result("seconds for an iteration", seconds / std::max(iterations, 1));
    };
    return program.measure([] {}, run, check, settings.tolerance * condition(settings));
}
