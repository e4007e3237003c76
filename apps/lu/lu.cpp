// A x = b by LU factorization with partial pivoting, the way HPL does it, on one row of ranks.
//
// Blocks of columns are dealt to the ranks in turn, so a panel and its pivots belong to one rank and the only
// communication is the panel's broadcast. It is hidden behind the update of the matrix by the panel before
// it: the owner of the next panel updates just this panel, factors it, starts its broadcast, and then all
// ranks update the rest (look-ahead of one panel; Kandalla et al. 2011). Four broadcasts:
//   ring          HPL's 1ring: each rank passes the panel on, by messages, when it looks
//   blocking      MPI_Bcast
//   nonblocking   MPI_Ibcast
//   with --tests  the update in pieces of one block, a look (MPI_Test) after each: for ring always, as in HPL
//
// The check is HPL's. Plain MPI-3; OpenBLAS computes.
#include <cblas.h>

#include <cmath>
#include <cstddef>

#include "program.hpp"

extern "C" void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);

namespace {

enum class Mode { ring, blocking, nonblocking };

struct Settings {
    int n = 1000;
    int block = 64;
    Mode mode = Mode::nonblocking;
    bool tests = false;
};

/** One panel: its columns below and on the diagonal, column by column, then its pivots, counted from its
 * first row. */
struct Panel {
    std::vector<double> data;
    int rows = 0;
    int columns = 0;
    int index = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    bool arrived = true;  // of the ring

    int length() const { return rows * columns + columns; }
    double* pivots() { return data.data() + std::size_t(rows) * columns; }
};

class Matrix {
  public:
    Matrix(const Settings& settings, apps::Program& program)
        : s_(settings),
          factor_seconds_(program.phase("factorization of panels")),
          update_seconds_(program.phase("update")),
          start_seconds_(program.phase("start of broadcast")),
          wait_seconds_(program.phase("wait for broadcast")),
          program_(program) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        panels_ = (s_.n + s_.block - 1) / s_.block;
        for (int k = program.rank; k < panels_; k += program.ranks) {
            const int columns = columns_of(k);
            for (int c = 0; c < columns; ++c) {
                global_.push_back(k * s_.block + c);
            }
        }
        global_.push_back(s_.n);  // the right side: every rank has it, as its last column
        a_.resize(std::size_t(s_.n) * global_.size());
        for (Panel& panel : in_flight_) {
            panel.data.resize(std::size_t(s_.n + 1) * s_.block);
        }
        pivots_.resize(std::size_t(s_.block));
    }
    ~Matrix() { MPI_Comm_free(&comm_); }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;

    /** Uniform in [-0.5, 0.5). */
    void fill() {
        for (std::size_t c = 0; c < global_.size(); ++c) {
            for (int r = 0; r < s_.n; ++r) {
                a_[c * s_.n + r] = element(r, global_[c]);
            }
        }
    }

    void solve(apps::Parts parts) {
        parts_ = parts;
        Panel* current = &in_flight_[0];
        Panel* next = &in_flight_[1];
        factor(0, *current);
        start(*current);
        for (int k = 0; k < panels_; ++k) {
            wait(*current);
            std::size_t first = columns_before(k + 1);
            if (k + 1 < panels_) {
                if (owner(k + 1) == program_.rank) {
                    const std::size_t end = first + columns_of(k + 1);
                    update(*current, first, end, nullptr);
                    first = end;
                }
                factor(k + 1, *next);
                start(*next);
            }
            update(*current, first, global_.size(), next);
            std::swap(current, next);
        }
        substitute();
    }

    /** || A x - b || / (eps (|| A || || x || + || b ||) n), in the maximum norm. */
    double residual() const {
        // Rows of A x and of | A | as far as this rank's columns go, and b.
        std::vector<double> rows(2 * std::size_t(s_.n), 0);
        for (std::size_t c = 0; c + 1 < global_.size(); ++c) {
            for (int r = 0; r < s_.n; ++r) {
                const double value = element(r, global_[c]);
                rows[r] += value * x_[global_[c]];
                rows[s_.n + r] += std::abs(value);
            }
        }
        MPI_Allreduce(MPI_IN_PLACE, rows.data(), 2 * s_.n, MPI_DOUBLE, MPI_SUM, comm_);
        double difference = 0;
        double a = 0;
        double b = 0;
        double x = 0;
        for (int r = 0; r < s_.n; ++r) {
            const double right = element(r, s_.n);
            // NaN would get lost in a maximum.
            const double row = std::abs(rows[r] - right);
            difference = std::isnan(row) ? HUGE_VAL : std::max(difference, row);
            a = std::max(a, rows[s_.n + r]);
            b = std::max(b, std::abs(right));
            x = std::max(x, std::abs(x_[r]));
        }
        return difference / (0x1p-53 * (a * x + b) * s_.n);
    }

  private:
    double element(int row, int column) const {
        return apps::random_number(std::uint64_t(column) * s_.n + row);
    }
    int owner(int panel) const { return panel % program_.ranks; }
    int columns_of(int panel) const { return std::min(s_.block, s_.n - panel * s_.block); }

    /** How many of this rank's columns are in panels before this one. */
    std::size_t columns_before(int panel) const {
        const int blocks = (panel - program_.rank + program_.ranks - 1) / program_.ranks;
        return std::min(std::size_t(std::max(blocks, 0)) * s_.block, global_.size() - 1);
    }

    double* column(std::size_t c, int row) { return a_.data() + c * s_.n + row; }

    /** The owner factors its panel k, for all to send on; the others get to know its shape. */
    void factor(int k, Panel& panel) {
        panel.index = k;
        panel.rows = s_.n - k * s_.block;
        panel.columns = columns_of(k);
        if (!parts_.compute) {
            return;
        }
        if (owner(k) != program_.rank) {
            if (!parts_.communicate) {  // nothing will come: any rows to swap
                for (int c = 0; c < panel.columns; ++c) {
                    panel.pivots()[c] = panel.rows - 1;
                }
            }
            return;
        }
        const apps::Timer timer(factor_seconds_);
        const std::size_t first = columns_before(k);
        int info = 0;
        dgetrf_(&panel.rows, &panel.columns, column(first, k * s_.block), &s_.n, pivots_.data(), &info);
        for (int c = 0; c < panel.columns; ++c) {
            std::copy_n(column(first + c, k * s_.block), panel.rows,
                        panel.data.data() + std::size_t(c) * panel.rows);
            panel.pivots()[c] = pivots_[c] - 1;
        }
    }

    void start(Panel& panel) {
        if (!parts_.communicate || program_.ranks == 1) {
            return;
        }
        const apps::Timer timer(start_seconds_);
        const int root = owner(panel.index);
        switch (s_.mode) {
            case Mode::blocking:
                MPI_Bcast(panel.data.data(), panel.length(), MPI_DOUBLE, root, comm_);
                break;
            case Mode::nonblocking:
                MPI_Ibcast(panel.data.data(), panel.length(), MPI_DOUBLE, root, comm_, &panel.request);
                break;
            case Mode::ring:
                panel.arrived = root == program_.rank;
                if (panel.arrived) {
                    pass_on(panel);
                } else {
                    const int before = (program_.rank + program_.ranks - 1) % program_.ranks;
                    MPI_Irecv(panel.data.data(), panel.length(), MPI_DOUBLE, before, panel.index, comm_,
                              &panel.request);
                }
                break;
        }
    }

    void pass_on(Panel& panel) {
        const int next = (program_.rank + 1) % program_.ranks;
        if (next != owner(panel.index)) {
            MPI_Isend(panel.data.data(), panel.length(), MPI_DOUBLE, next, panel.index, comm_,
                      &panel.request);
        }
    }

    void look(Panel& panel) {
        int done = 0;
        MPI_Test(&panel.request, &done, MPI_STATUS_IGNORE);
        if (done != 0 && !panel.arrived) {
            panel.arrived = true;
            pass_on(panel);
        }
    }

    void wait(Panel& panel) {
        if (!parts_.communicate) {
            return;
        }
        const apps::Timer timer(wait_seconds_);
        MPI_Wait(&panel.request, MPI_STATUS_IGNORE);
        if (!panel.arrived) {
            panel.arrived = true;
            pass_on(panel);
            MPI_Wait(&panel.request, MPI_STATUS_IGNORE);
        }
        if ((owner(panel.index) != program_.rank || program_.ranks == 1) && program_.plant()) {
            panel.data[std::size_t(panel.rows) - 1] += 1;
        }
    }

    /** Applies a panel to this rank's columns [first, end); looks at the next panel's broadcast meanwhile. */
    void update(Panel& panel, std::size_t first, std::size_t end, Panel* next) {
        if (!parts_.compute || first >= end) {
            return;
        }
        const apps::Timer timer(update_seconds_);
        const bool in_pieces = next != nullptr && (s_.tests || s_.mode == Mode::ring);
        const std::size_t piece = in_pieces ? std::size_t(s_.block) : end - first;
        for (std::size_t from = first; from < end; from += piece) {
            const int columns = int(std::min(piece, end - from));
            const int top = panel.index * s_.block;
            for (int c = 0; c < columns; ++c) {
                double* values = column(from + c, top);
                for (int r = 0; r < panel.columns; ++r) {
                    std::swap(values[r], values[int(panel.pivots()[r])]);
                }
            }
            cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, panel.columns, columns,
                        1, panel.data.data(), panel.rows, column(from, top), s_.n);
            if (panel.rows > panel.columns) {
                cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, panel.rows - panel.columns, columns,
                            panel.columns, -1, panel.data.data() + panel.columns, panel.rows,
                            column(from, top), s_.n, 1, column(from, top + panel.columns), s_.n);
            }
            if (in_pieces && parts_.communicate) {
                look(*next);
            }
        }
    }

    /** U x = y, from the last block on; y travels from owner to owner. */
    void substitute() {
        std::vector<double> y(column(global_.size() - 1, 0), column(global_.size() - 1, 0) + s_.n);
        x_.assign(std::size_t(s_.n), 0);
        for (int k = panels_ - 1; k >= 0; --k) {
            if (owner(k) != program_.rank) {
                continue;
            }
            const int top = k * s_.block;
            const int columns = columns_of(k);
            const bool alone = program_.ranks == 1 || !parts_.communicate;
            if (k < panels_ - 1 && !alone) {
                MPI_Recv(y.data(), top + columns, MPI_DOUBLE, owner(k + 1), k, comm_, MPI_STATUS_IGNORE);
            }
            if (parts_.compute) {
                const std::size_t first = columns_before(k);
                std::copy_n(y.data() + top, columns, x_.data() + top);
                cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, columns,
                            column(first, top), s_.n, x_.data() + top, 1);
                cblas_dgemv(CblasColMajor, CblasNoTrans, top, columns, -1, column(first, 0), s_.n,
                            x_.data() + top, 1, 1, y.data(), 1);
            }
            if (k > 0 && !alone) {
                MPI_Send(y.data(), top, MPI_DOUBLE, owner(k - 1), k - 1, comm_);
            }
        }
        if (parts_.communicate) {
            MPI_Allreduce(MPI_IN_PLACE, x_.data(), s_.n, MPI_DOUBLE, MPI_SUM, comm_);
        }
    }

    Settings s_;
    double &factor_seconds_, &update_seconds_, &start_seconds_, &wait_seconds_;
    apps::Program& program_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int panels_ = 0;
    std::vector<int> global_;  // by column of this rank, its number in the matrix
    std::vector<double> a_;    // this rank's columns, one after the other
    std::vector<double> x_;
    std::vector<int> pivots_;
    Panel in_flight_[2];
    apps::Parts parts_;
};

}  // namespace

int main(int argc, char** argv) {
    openblas_set_num_threads(1);
    apps::Program program(
        argc, argv, "lu",
        "A system of linear equations as HPL solves it; the panels' broadcasts are hidden.");
    Settings settings;
    std::string mode = "nonblocking";
    int tests = 0;
    program.option("--n", settings.n, "equations", 1);
    program.option("--block", settings.block, "columns of a panel", 1);
    program.option("--mode", mode, "broadcast of panels: HPL's ring of messages, MPI_Bcast, MPI_Ibcast",
                   {"ring", "blocking", "nonblocking"});
    program.option("--tests", tests, "1: MPI_Test after each block of columns, in mode nonblocking");
    if (!program.parse()) {
        return program.status;
    }
    if (program.quick) {
        settings.n = 300;
        settings.block = 32;
    }
    settings.mode = mode == "ring" ? Mode::ring : mode == "blocking" ? Mode::blocking : Mode::nonblocking;
    settings.tests = tests > 0 && settings.mode == Mode::nonblocking;
    program.variant = mode + (settings.tests ? " with tests" : "");
    program.rate = [&](double seconds) {
        const double n = settings.n;
        program.result("GFlop/s", (2. / 3 * n * n * n + 1.5 * n * n) / seconds / 1e9);
    };
    Matrix matrix(settings, program);
    return program.measure([&] { matrix.fill(); }, [&](apps::Parts parts) { matrix.solve(parts); },
                           [&] { return matrix.residual(); }, 16);
}
