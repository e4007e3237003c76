// The Poisson equation in three dimensions by the method of conjugate gradients, on a grid of ranks.
//
// Each rank has a box of points and needs one layer of its six neighbours' for the product with the matrix (7
// points). The halo is hidden behind the points that do not touch it (Hoefler, Gottschling, Lumsdaine, Rehm
// 2007): start the exchange, multiply inside, wait, multiply the surface. Of the plain method's iteration
// that is a third. --halo-of residual hides it behind nearly all of it: p = z + beta p also holds of the
// points around the box, so z's, whose own outermost points are known as soon as alpha is, can travel in
// place of p's. Three solvers:
//   cg          two sums in an iteration, each waited for at once
//   gropp       the same, one sum behind the preconditioner and one behind the product (Gropp 2010)
//   pipelined   one sum in an iteration, behind both (Ghysels, Vanroose 2014)
//
// Plain MPI-3.
#include <array>
#include <cmath>
#include <cstddef>

#include "cg/box.hpp"
#include "program.hpp"

namespace {

using cg::Box;
using cg::Halo;
using cg::Settings;
using cg::Vector;

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
        residual_travels_ = method == "cg" && box_.settings().of == cg::Of::residual;
        return method == "cg" ? cg() : method == "gropp" ? gropp() : pipelined();
    }

    Vector x, b;

  private:
    static constexpr double inverse_diagonal = 1. / 6;

    bool enough(int iteration, double square) const {
        return fixed_ > 0 ? iteration >= fixed_ : square <= wanted_ || iteration >= box_.settings().most;
    }

    void precondition(const Vector& from, Vector& to) const {
        if (parts_.compute) box_.each([&](std::size_t i) { to[i] = inverse_diagonal * from[i]; });
    }

    double dot(const Vector& a, const Vector& c) const { return parts_.compute ? box_.dot(a, c) : 1; }

    /** a += factor * c */
    void add(Vector& a, double factor, const Vector& c) const {
        if (parts_.compute) box_.each([&](std::size_t i) { a[i] += factor * c[i]; });
    }

    /** a = c + factor * a */
    void turn(Vector& a, double factor, const Vector& c) const {
        if (parts_.compute) box_.each([&](std::size_t i) { a[i] = c[i] + factor * a[i]; });
    }

    int cg() {
        precondition(r_, z_);
        p_ = z_;
        start_halo_of_residual([&](std::size_t k) { return z_[k]; });
        double rho = box_.sum(dot(r_, z_), parts_);
        double beta = 0;
        // With a diagonal that is constant the residual's square is known from rho.
        for (int i = 0;; ++i) {
            if (enough(i, rho / inverse_diagonal)) {
                // Whether another product follows nobody knew when this was started.
                finish_halo_of_residual();
                return i;
            }
            multiply_direction(beta);
            const double alpha = rho / box_.sum(dot(p_, s_), parts_);
            start_halo_of_residual([&](std::size_t k) {
                // Before add() and precondition() come to these points, and rounded as they do.
                double r = r_[k];
                r += -alpha * s_[k];
                return inverse_diagonal * r;
            });
            add(x, alpha, p_);
            add(r_, -alpha, s_);
            precondition(r_, z_);
            const double next = box_.sum(dot(r_, z_), parts_);
            beta = next / rho;
            turn(p_, beta, z_);
            rho = next;
        }
    }

    /** To be exact z's, the preconditioned one's. */
    template <typename F>
    void start_halo_of_residual(F value) {
        if (residual_travels_) box_.start_halo(parts_, value);
    }

    void finish_halo_of_residual() {
        if (residual_travels_) box_.finish_halo(parts_, [](std::size_t, double) {});
    }

    /** s = A p. */
    void multiply_direction(double beta) {
        if (residual_travels_)
            box_.multiply(p_, s_, parts_, [&](std::size_t i, double z) { p_[i] = z + beta * p_[i]; });
        else
            box_.multiply(p_, s_, parts_);
    }

    /** s = A p is carried along, and q = M s. */
    int gropp() {
        std::array<double, 3> sums{};
        precondition(r_, z_);
        p_ = z_;
        box_.multiply(p_, s_, parts_);
        double gamma = box_.sum(dot(r_, z_), parts_);
        for (int i = 0;; ++i) {
            if (enough(i, gamma / inverse_diagonal)) return i;
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
        for (Vector* v : {&p_, &s_, &q_, &t_}) std::fill(v->begin(), v->end(), 0);
        for (int i = 0;; ++i) {
            sums = {dot(r_, z_), dot(w_, z_), dot(r_, r_)};
            box_.start_sum(sums, parts_);
            precondition(w_, m_);
            box_.multiply(m_, n_, parts_);
            box_.finish_sum(parts_);
            if (enough(i, sums[2])) return i;
            const double beta = i > 0 ? sums[0] / gamma : 0;
            alpha = i > 0 ? sums[0] / (sums[1] - beta * sums[0] / alpha) : sums[0] / sums[1];
            gamma = sums[0];
            if (!parts_.compute) continue;
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
    bool residual_travels_ = false;
    int fixed_ = 0;
    double wanted_ = 0;
    apps::Parts parts_;
    Vector r_, z_, p_, s_, q_, w_, m_, n_, t_;
};

/** The solution that is to be found: a number for each point, none like another, so that no face passes for
 * another. */
double solution(const Settings& s, int x, int y, int z) {
    if (x < 1 || y < 1 || z < 1 || x > s.n[0] || y > s.n[1] || z > s.n[2]) return 0;
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
    for (const int n : s.n) cosines += 2 * std::cos(std::acos(-1.) / (n + 1));
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
    std::string of = "direction";
    std::string mode = "nonblocking";
    program.option("--size", size, "points in x, y and z");
    program.option("--grid", grid, "ranks in x, y and z");
    program.option("--solver", solver,
                   "two sums in an iteration, waited for or hidden, or one that is hidden",
                   {"cg", "gropp", "pipelined"});
    program.option("--halo", halo,
                   "MPI_Ineighbor_alltoallv, or MPI_Ialltoallv with no data but for neighbours",
                   {"neighbor", "alltoallv"});
    program.option(
        "--halo-of", of,
        "in solver cg, exchange the outermost points of the search direction before the product, or "
        "those of the residual, hidden behind a whole iteration",
        {"direction", "residual"});
    program.option("--mode", mode, "whether halo and sums are hidden", {"blocking", "nonblocking"});
    program.option("--tests", settings.tests,
                   "calls of MPI_Test in each product and, while a halo is under way, in each pass over "
                   "vectors, in mode nonblocking");
    program.option("--tolerance", settings.tolerance, "residual at the end, relative to the right side");
    if (!program.parse()) return program.status;
    for (int d = 0; d < 3; ++d) {
        settings.n[d] = size[d];
        settings.grid[d] = grid[d];
    }
    if (grid[0] * grid[1] * grid[2] != program.ranks || grid[0] > size[0] || grid[1] > size[1] ||
        grid[2] > size[2])
        return program.refuse("the grid must have as many places as there are ranks, and a point for each");
    if (of == "residual" && solver != "cg") {
        return program.refuse(
            "--halo-of residual is for --solver cg; the other solvers multiply a vector that "
            "follows from the residual alone");
    }
    settings.of = of == "residual" ? cg::Of::residual : cg::Of::direction;
    settings.halo = halo == "neighbor" ? Halo::neighbor : Halo::alltoallv;
    settings.overlap = mode == "nonblocking";
    settings.tests = settings.overlap ? settings.tests : 0;
    program.variant = mode + (settings.tests > 0 ? " with " + std::to_string(settings.tests) + " tests" : "");

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
