// Fourier transforms in three dimensions of several real variables at once, on a grid of ranks: rows x
// columns.
//
// Each rank has pencils (P3DFFT; Pekurovsky 2012). A variable is real with x whole, y cut over the ranks of a
// row and z over those of a column. It is transformed in x, exchanged inside the row so that y is whole,
// transformed in y, exchanged inside the column so that z is whole, and transformed in z.
//
// The exchange in the column is what can be hidden (Kandalla et al. 2011, section IV): while that of one
// variable is under way, the next variable is transformed in x and y and the one before in z. `window` is the
// number of exchanges in flight. With `tiles` the planes of one variable are exchanged in so many parts, so a
// single variable can be hidden, too (Kaiser, Hoefler et al. 2009). An exchange is a *unit*: one tile of one
// variable.
#pragma once

#include <fftw3.h>
#include <mpi.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "fft/column.hpp"
#include "program.hpp"

namespace fft {

/** Blocks of lines that are turned: target[c][r] = source[r][c]. */
inline void transpose(const Complex* source, std::size_t source_stride, int rows, int columns,
                      Complex* target, std::size_t target_stride) {
    constexpr int tile = 8;
    for (int r0 = 0; r0 < rows; r0 += tile) {
        for (int c0 = 0; c0 < columns; c0 += tile) {
            for (int c = c0; c < std::min(c0 + tile, columns); ++c)
                for (int r = r0; r < std::min(r0 + tile, rows); ++r)
                    target[c * target_stride + r] = source[r * source_stride + c];
        }
    }
}

inline void copy_lines(const Complex* source, std::size_t source_stride, int lines, int length,
                       Complex* target, std::size_t target_stride) {
    for (int line = 0; line < lines; ++line)
        std::memcpy(target + line * target_stride, source + line * source_stride, length * sizeof(Complex));
}

/** In place. There is no plan where a rank has no lines. */
inline void transform_lines(fftw_plan plan, Complex* lines) {
    if (plan != nullptr) {
        auto* data = reinterpret_cast<fftw_complex*>(lines);
        fftw_execute_dft(plan, data, data);
    }
}

class Pencils {
  public:
    /** Phases of `program` get the seconds in the exchanges. */
    Pencils(const Settings& settings, apps::Program& program)
        : s_(settings), row_seconds_(program.phase("row exchange")), program_(program) {
        const int in_column = program.rank / s_.rows;
        me_row_ = program.rank % s_.rows;
        half_ = s_.n[0] / 2 + 1;
        for (int r = 0; r < s_.rows; ++r) {
            x_of_.push_back(apps::part_of(half_, s_.rows, r));
            y_of_row_.push_back(apps::part_of(s_.n[1], s_.rows, r));
        }
        x_ = x_of_[me_row_];
        y_real_ = y_of_row_[me_row_];
        MPI_Comm column = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, in_column, me_row_, &row_);
        MPI_Comm_split(MPI_COMM_WORLD, me_row_, in_column, &column);
        column_.emplace(column, s_, x_.length, program);
        y_ = column_->y_of(in_column);
        z_ = column_->z_of(in_column);
        make_buffers();
        make_plans();
    }
    ~Pencils() {
        for (fftw_plan plan : {forward_x_, forward_y_, forward_z_, backward_x_, backward_y_, backward_z_})
            if (plan != nullptr) fftw_destroy_plan(plan);
        MPI_Comm_free(&row_);
    }
    Pencils(const Pencils&) = delete;
    Pencils& operator=(const Pencils&) = delete;

    /** This rank's part: a real variable is [z][y][x], its spectrum [x][y][z] with x from 0 to n/2. */
    std::size_t real_size() const { return std::size_t(z_.length) * y_real_.length * s_.n[0]; }
    std::size_t spectrum_size() const { return std::size_t(x_.length) * y_.length * s_.n[2]; }
    apps::Range real_y() const { return y_real_; }
    apps::Range real_z() const { return z_; }
    apps::Range spectrum_x() const { return x_; }
    apps::Range spectrum_y() const { return y_; }

    void forward(const std::vector<double*>& real, const std::vector<Complex*>& spectrum,
                 apps::Parts parts = {}) {
        pipeline(
            real.size(), true, parts,
            [&](std::size_t v, int tile, Column::Slot& slot) { planes_of(real[v], tile, slot, true, parts); },
            [&](std::size_t v, int tile, Column::Slot& slot) {
                if (parts.compute) lines_of(spectrum[v], tile, slot, true);
            });
    }

    /** Without the factor 1 / (nx ny nz); the spectrum is used up. */
    void backward(const std::vector<Complex*>& spectrum, const std::vector<double*>& real,
                  apps::Parts parts = {}) {
        pipeline(
            real.size(), false, parts,
            [&](std::size_t v, int tile, Column::Slot& slot) {
                if (parts.compute) lines_of(spectrum[v], tile, slot, false);
            },
            [&](std::size_t v, int tile, Column::Slot& slot) {
                planes_of(real[v], tile, slot, false, parts);
            });
    }

  private:
    /** Blocks in the row are [z][y][x], forward from the ranks that have y to those that have x. */
    Counts row_counts(int planes, bool forward) const {
        Counts counts;
        for (int r = 0; r < s_.rows; ++r) {
            counts.send.push_back(planes * y_real_.length * x_of_[r].length);
            counts.receive.push_back(planes * y_of_row_[r].length * x_.length);
        }
        if (!forward) std::swap(counts.send, counts.receive);
        counts.find_offsets();
        return counts;
    }

    void make_buffers() {
        const int planes = column_->tile_of(column_->me(), 0).length;  // the first tile is the longest
        const std::size_t row = std::size_t(planes) * std::max(std::size_t(y_real_.length) * half_,
                                                               std::size_t(x_.length) * s_.n[1]);
        row_send_.resize(row);
        row_received_.resize(s_.rows > 1 ? row : 0);
        work_x_.resize(std::size_t(y_real_.length) * half_);
        work_y_.resize(std::size_t(x_.length) * s_.n[1]);
    }

    void make_plans() {
        std::vector<double> real(std::size_t(y_real_.length) * s_.n[0]);
        std::vector<Complex> z(std::size_t(y_.length) * s_.n[2]);
        auto* in_x = reinterpret_cast<fftw_complex*>(work_x_.data());
        auto* in_y = reinterpret_cast<fftw_complex*>(work_y_.data());
        auto* in_z = reinterpret_cast<fftw_complex*>(z.data());
        // A plane of an odd number of doubles: the next one begins elsewhere in a vector of the processor.
        const unsigned flags = FFTW_MEASURE | (real.size() % 2 != 0 ? FFTW_UNALIGNED : 0);
        if (y_real_.length > 0) {
            forward_x_ = fftw_plan_many_dft_r2c(1, &s_.n[0], y_real_.length, real.data(), nullptr, 1, s_.n[0],
                                                in_x, nullptr, 1, half_, flags);
            backward_x_ = fftw_plan_many_dft_c2r(1, &s_.n[0], y_real_.length, in_x, nullptr, 1, half_,
                                                 real.data(), nullptr, 1, s_.n[0], flags);
        }
        const auto lines = [](int n, int count, fftw_complex* data, int sign) {
            return count == 0 ? nullptr
                              : fftw_plan_many_dft(1, &n, count, data, nullptr, 1, n, data, nullptr, 1, n,
                                                   sign, FFTW_MEASURE);
        };
        forward_y_ = lines(s_.n[1], x_.length, in_y, FFTW_FORWARD);
        backward_y_ = lines(s_.n[1], x_.length, in_y, FFTW_BACKWARD);
        forward_z_ = lines(s_.n[2], y_.length, in_z, FFTW_FORWARD);
        backward_z_ = lines(s_.n[2], y_.length, in_z, FFTW_BACKWARD);
    }

    /** Begins unit after unit; ends the oldest when the window is full. This order is the paper's for a
     * window of 2, and that of a program without overlap for a window of 1. */
    template <typename Begin, typename End>
    void pipeline(std::size_t variables, bool forward, apps::Parts parts, Begin begin, End end) {
        const std::size_t units = variables * s_.tiles;
        // Between the start and the end of an exchange: the steps of one unit.
        const int steps = (s_.window - 1) * (2 * z_.length / s_.tiles + x_.length);
        pace_ = apps::Pace(s_.window > 1 ? s_.tests : 0, steps);
        const auto finish = [&](std::size_t unit) {
            Column::Slot& slot = column_->slot(unit);
            if (parts.communicate) {
                column_->wait_for(slot);
                if (!slot.received.empty() && program_.plant()) slot.received.front() += 1000.;
            }
            end(unit / s_.tiles, int(unit % s_.tiles), slot);
        };
        for (std::size_t unit = 0; unit < units; ++unit) {
            Column::Slot& slot = column_->slot(unit);
            begin(unit / s_.tiles, int(unit % s_.tiles), slot);
            if (parts.communicate) column_->start(slot, int(unit % s_.tiles), forward);
            if (unit + 1 >= std::size_t(s_.window)) finish(unit + 1 - s_.window);
        }
        for (std::size_t unit = units - std::min(units, std::size_t(s_.window) - 1); unit < units; ++unit)
            finish(unit);
    }

    /** After each plane. */
    void progress() {
        if (pace_.due()) column_->test();
    }

    void exchange_row(int planes, bool forward) {
        const apps::Timer timer(row_seconds_);
        const Counts c = row_counts(planes, forward);
        MPI_Alltoallv(row_send_.data(), c.send.data(), c.send_at.data(), MPI_C_DOUBLE_COMPLEX,
                      row_received_.data(), c.receive.data(), c.receive_at.data(), MPI_C_DOUBLE_COMPLEX,
                      row_);
    }

    /** Forward: x, the exchange in the row, y. Backward the other way round. */
    void planes_of(double* real, int tile, Column::Slot& slot, bool forward, apps::Parts parts) {
        const apps::Range planes = column_->tile_of(column_->me(), tile);
        const Counts row = row_counts(planes.length, true);
        const Counts& column = column_->counts(tile, true);
        const auto in_x = [&](int plane) {
            double* lines = real + std::size_t(planes.begin + plane) * y_real_.length * s_.n[0];
            auto* waves = reinterpret_cast<fftw_complex*>(work_x_.data());
            if (forward && forward_x_ != nullptr) fftw_execute_dft_r2c(forward_x_, lines, waves);
            for (int r = 0; s_.rows > 1 && r < s_.rows; ++r) {
                const int length = x_of_[r].length;
                const std::size_t at = row.send_at[r] + std::size_t(plane) * y_real_.length * length;
                Complex* part = work_x_.data() + x_of_[r].begin;
                if (forward)
                    copy_lines(part, half_, y_real_.length, length, row_send_.data() + at, length);
                else
                    copy_lines(row_received_.data() + at, length, y_real_.length, length, part, half_);
            }
            if (!forward && backward_x_ != nullptr) fftw_execute_dft_c2r(backward_x_, waves, lines);
        };
        const auto between_x_and_y = [&](int plane) {
            for (int r = 0; r < s_.rows; ++r) {
                const int lines = y_of_row_[r].length;
                const std::size_t at = row.receive_at[r] + std::size_t(plane) * lines * x_.length;
                Complex* x =
                    s_.rows == 1 ? work_x_.data() : (forward ? row_received_ : row_send_).data() + at;
                Complex* y = work_y_.data() + y_of_row_[r].begin;
                if (forward) {
                    transpose(x, x_.length, lines, x_.length, y, s_.n[1]);
                } else {
                    transpose(y, s_.n[1], x_.length, lines, x, x_.length);
                }
            }
        };
        const auto in_y = [&](int plane) {
            if (forward) {
                between_x_and_y(plane);
                transform_lines(forward_y_, work_y_.data());
            }
            for (int r = 0; r < s_.columns; ++r) {
                const apps::Range y = column_->y_of(r);
                Complex* part = work_y_.data() + y.begin;
                Complex* block = (forward ? slot.send : slot.received).data() + column.send_at[r] +
                                 std::size_t(plane) * y.length;
                const std::size_t stride = std::size_t(planes.length) * y.length;
                if (forward) {
                    copy_lines(part, s_.n[1], x_.length, y.length, block, stride);
                } else {
                    copy_lines(block, stride, x_.length, y.length, part, s_.n[1]);
                }
            }
            if (!forward) {
                transform_lines(backward_y_, work_y_.data());
                between_x_and_y(plane);
            }
        };
        std::array<std::function<void(int)>, 2> steps = {in_x, in_y};
        if (!forward) std::swap(steps[0], steps[1]);
        for (int plane = 0; parts.compute && plane < planes.length; ++plane) {
            steps[0](plane);
            if (s_.rows == 1) steps[1](plane);
            progress();
        }
        if (s_.rows == 1) return;
        if (parts.communicate) exchange_row(planes.length, forward);
        for (int plane = 0; parts.compute && plane < planes.length; ++plane) {
            steps[1](plane);
            progress();
        }
    }

    /** z: forward when all tiles are here, backward before the first tile goes out. */
    void lines_of(Complex* spectrum, int tile, Column::Slot& slot, bool forward) {
        const Counts& column = column_->counts(tile, true);
        for (int x = 0; x < x_.length; ++x) {
            Complex* plane = spectrum + std::size_t(x) * y_.length * s_.n[2];
            if (!forward && tile == 0) transform_lines(backward_z_, plane);
            for (int r = 0; r < s_.columns; ++r) {
                const apps::Range z = column_->tile_of(r, tile);
                Complex* part = plane + column_->z_of(r).begin + z.begin;
                Complex* block = (forward ? slot.received : slot.send).data() + column.receive_at[r] +
                                 std::size_t(x) * z.length * y_.length;
                if (forward)
                    transpose(block, y_.length, z.length, y_.length, part, s_.n[2]);
                else
                    transpose(part, s_.n[2], y_.length, z.length, block, y_.length);
            }
            if (forward && tile == s_.tiles - 1) transform_lines(forward_z_, plane);
            progress();
        }
    }

    Settings s_;
    double& row_seconds_;
    apps::Program& program_;
    MPI_Comm row_ = MPI_COMM_NULL;
    std::optional<Column> column_;
    int me_row_ = 0;
    int half_ = 0;
    std::vector<apps::Range> x_of_, y_of_row_;  // of the ranks of the row
    apps::Range x_, y_real_, y_, z_;            // this rank's
    std::vector<Complex> row_send_, row_received_, work_x_, work_y_;
    fftw_plan forward_x_ = nullptr, forward_y_ = nullptr, forward_z_ = nullptr;
    fftw_plan backward_x_ = nullptr, backward_y_ = nullptr, backward_z_ = nullptr;
    apps::Pace pace_;
};

}  // namespace fft
