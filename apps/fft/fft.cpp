// Three-dimensional Fourier transforms whose exchanges are hidden behind those of other variables
// (pencils.hpp), in two tasks:
//   sine           P3DFFT's test: sines forward and backward, as often as wanted (Kandalla et al. 2011,
//   section V) taylor-green   steps of turbulence: the Taylor-Green vortex by a pseudo-spectral method, nine
//   transforms per evaluation
//
// Plain MPI-3; FFTW transforms single lines only.
#include <cmath>
#include <numbers>

#include "fft/pencils.hpp"

namespace {

using fft::Complex;
using fft::Mode;

constexpr double pi = std::numbers::pi;

struct Field {
    std::vector<double> real;
    std::vector<Complex> spectrum;
};

class Grid {
  public:
    Grid(const fft::Settings& settings, apps::Program& program)
        : n(settings.n), transform(settings, program) {}

    std::size_t points() const { return std::size_t(n[0]) * n[1] * n[2]; }

    Field field() const {
        return {std::vector<double>(transform.real_size()), std::vector<Complex>(transform.spectrum_size())};
    }

    /** Calls f(place, x, y, z) for each of this rank's points. */
    template <typename F>
    void each_point(F f) const {
        std::size_t at = 0;
        for (int z = 0; z < transform.real_z().length; ++z) {
            for (int y = 0; y < transform.real_y().length; ++y)
                for (int x = 0; x < n[0]; ++x)
                    f(at++, x, y + transform.real_y().begin, z + transform.real_z().begin);
        }
    }

    /** Calls f(place, x, y, z) for each of this rank's waves, x from 0 to n/2. */
    template <typename F>
    void each_wave(F f) const {
        std::size_t at = 0;
        for (int x = 0; x < transform.spectrum_x().length; ++x) {
            for (int y = 0; y < transform.spectrum_y().length; ++y)
                for (int z = 0; z < n[2]; ++z)
                    f(at++, x + transform.spectrum_x().begin, y + transform.spectrum_y().begin, z);
        }
    }

    /** How often a wave of the half spectrum is in the whole one. */
    double weight(int x) const { return x == 0 || 2 * x == n[0] ? 1 : 2; }

    std::array<int, 3> n;
    fft::Pencils transform;
};

std::vector<double*> real_of(std::vector<Field>& fields) {
    std::vector<double*> all;
    for (Field& field : fields) all.push_back(field.real.data());
    return all;
}

std::vector<Complex*> spectra_of(std::vector<Field>& fields) {
    std::vector<Complex*> all;
    for (Field& field : fields) all.push_back(field.spectrum.data());
    return all;
}

double sum_over_ranks(double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/** What the transform itself must fulfil, with random data and before anything is timed: Parseval's equation,
 * the sums of the definition where the grid is small, and the way back. */
void check_transform(Grid& grid, int variables, double limit, apps::Program& program) {
    std::vector<Field> fields;
    const auto value = [&](int v, int x, int y, int z) {
        return apps::random_number(((std::uint64_t(v) * grid.n[2] + z) * grid.n[1] + y) * grid.n[0] + x);
    };
    for (int v = 0; v < variables; ++v) {
        fields.push_back(grid.field());
        grid.each_point([&](std::size_t at, int x, int y, int z) { fields[v].real[at] = value(v, x, y, z); });
    }
    grid.transform.forward(real_of(fields), spectra_of(fields));
    double error = 0;
    for (int v = 0; v < variables; ++v) {
        double squares = 0;
        double waves = 0;
        grid.each_point([&](std::size_t at, int, int, int) { squares += std::pow(fields[v].real[at], 2); });
        grid.each_wave([&](std::size_t at, int x, int, int) {
            waves += grid.weight(x) * std::norm(fields[v].spectrum[at]);
        });
        squares = sum_over_ranks(squares);
        error = std::max(error, std::abs(sum_over_ranks(waves) / double(grid.points()) / squares - 1));
        if (grid.points() > 1000) continue;
        grid.each_wave([&](std::size_t at, int kx, int ky, int kz) {
            Complex sum = 0;
            for (int z = 0; z < grid.n[2]; ++z) {
                for (int y = 0; y < grid.n[1]; ++y) {
                    for (int x = 0; x < grid.n[0]; ++x) {
                        const double turns = double(kx) * x / grid.n[0] + double(ky) * y / grid.n[1] +
                                             double(kz) * z / grid.n[2];
                        sum += value(v, x, y, z) * std::polar(1., -2 * pi * turns);
                    }
                }
            }
            error = std::max(error, std::abs(fields[v].spectrum[at] - sum));
        });
    }
    grid.transform.backward(spectra_of(fields), real_of(fields));
    for (int v = 0; v < variables; ++v) {
        grid.each_point([&](std::size_t at, int x, int y, int z) {
            error = std::max(error, std::abs(fields[v].real[at] / double(grid.points()) - value(v, x, y, z)));
        });
    }
    program.note_error(error, limit);
}

/** Variable v is a sine with v+1 waves in each direction, as far as the grid has them: swapped buffers are
 * seen. */
class Sines {
  public:
    Sines(Grid& grid, int variables, int iterations) : grid_(grid), iterations_(iterations) {
        const int most = (*std::min_element(grid.n.begin(), grid.n.end()) - 1) / 2;
        for (int v = 0; v < variables; ++v) {
            fields_.push_back(grid.field());
            waves_.push_back(most > 0 ? 1 + v % most : 0);
        }
    }

    void prepare() {
        for (std::size_t v = 0; v < fields_.size(); ++v) {
            grid_.each_point(
                [&](std::size_t at, int x, int y, int z) { fields_[v].real[at] = value(int(v), x, y, z); });
        }
    }

    /** Its spectrum has eight waves of equal height, and no others. */
    double spectrum_error() {
        prepare();
        grid_.transform.forward(real_of(fields_), spectra_of(fields_));
        double error = 0;
        for (std::size_t v = 0; v < fields_.size(); ++v) {
            grid_.each_wave([&](std::size_t at, int x, int y, int z) {
                const bool in = x == waves_[v] && (y == waves_[v] || grid_.n[1] - y == waves_[v]) &&
                                (z == waves_[v] || grid_.n[2] - z == waves_[v]) && waves_[v] > 0;
                const double height = std::abs(fields_[v].spectrum[at]) / double(grid_.points());
                error = std::max(error, std::abs(height - (in ? 1. / 8 : 0)));
            });
        }
        return error;
    }

    void run(apps::Parts parts) {
        for (int i = 0; i < iterations_; ++i) {
            grid_.transform.forward(real_of(fields_), spectra_of(fields_), parts);
            if (parts.compute) {
                for (Field& field : fields_)
                    for (Complex& wave : field.spectrum) wave /= double(grid_.points());
            }
            grid_.transform.backward(spectra_of(fields_), real_of(fields_), parts);
        }
    }

    double error() const {
        double error = 0;
        for (std::size_t v = 0; v < fields_.size(); ++v) {
            grid_.each_point([&](std::size_t at, int x, int y, int z) {
                error = std::max(error, std::abs(fields_[v].real[at] - value(int(v), x, y, z)));
            });
        }
        return error;
    }

  private:
    double value(int v, int x, int y, int z) const {
        return std::sin(2 * pi * waves_[v] * x / grid_.n[0]) * std::sin(2 * pi * waves_[v] * y / grid_.n[1]) *
               std::sin(2 * pi * waves_[v] * z / grid_.n[2]);
    }

    Grid& grid_;
    int iterations_;
    std::vector<int> waves_;
    std::vector<Field> fields_;
};

/** Incompressible flow in a periodic box of 2 pi, du/dt = u x curl u - grad p + nu laplace u, without what
 * the 2/3 rule cuts off; in time by the classical Runge-Kutta method of fourth order. */
class TaylorGreen {
  public:
    TaylorGreen(Grid& grid, double viscosity, double step, int steps)
        : grid_(grid), viscosity_(viscosity), step_(step), steps_(steps) {
        for (int i = 0; i < 3; ++i) {
            velocity_.push_back(grid.field().spectrum);
            next_.push_back(velocity_[0]);
            stage_.push_back(velocity_[0]);
        }
        for (int i = 0; i < 6; ++i) fields_.push_back(grid.field());
        first_three_.resize(3);
        for (Field& field : first_three_) field = grid.field();
    }

    void prepare() {
        grid_.each_point([&](std::size_t at, int px, int py, int pz) {
            const double x = 2 * pi * px / grid_.n[0];
            const double y = 2 * pi * py / grid_.n[1];
            const double z = 2 * pi * pz / grid_.n[2];
            first_three_[0].real[at] = std::sin(x) * std::cos(y) * std::cos(z);
            first_three_[1].real[at] = -std::cos(x) * std::sin(y) * std::cos(z);
            first_three_[2].real[at] = 0;
        });
        grid_.transform.forward(real_of(first_three_), spectra_of(first_three_));
        for (int i = 0; i < 3; ++i) {
            velocity_[i] = first_three_[i].spectrum;
            for (Complex& wave : velocity_[i]) wave /= double(grid_.points());
        }
        energies_ = {energy()};
        enstrophies_ = {enstrophy()};
    }

    void run(apps::Parts parts) {
        for (int i = 0; i < steps_; ++i) step(parts);
    }

    /** Energy starts at 1/8 and enstrophy at 3/8. Energy is lost at the rate 2 nu enstrophy, whose integral
     * is taken by the trapezoidal rule, and none is lost without viscosity. Nothing flows out of a point. */
    double error() {
        const double time = step_ * steps_;
        const double end = energy();
        const double enstrophy_at_end = enstrophy();
        double error = std::max(std::abs(energies_[0] - 1. / 8), std::abs(enstrophies_[0] - 3. / 8));
        const double lost = viscosity_ * time * (enstrophies_[0] + enstrophy_at_end);
        error = std::max(error, std::abs(energies_[0] - end - lost));
        return std::max(error, divergence());
    }

    double energy() const {
        double sum = 0;
        for (const auto& component : velocity_) {
            grid_.each_wave([&](std::size_t at, int x, int, int) {
                sum += grid_.weight(x) * std::norm(component[at]) / 2;
            });
        }
        return sum_over_ranks(sum);
    }

    double enstrophy() const {
        double sum = 0;
        grid_.each_wave([&](std::size_t at, int x, int y, int z) {
            const auto k = wave_vector(x, y, z);
            const auto curl = curl_at(velocity_, at, k);
            for (const Complex& component : curl) sum += grid_.weight(x) * std::norm(component) / 2;
        });
        return sum_over_ranks(sum);
    }

  private:
    using Vector = std::array<double, 3>;
    using Spectra = std::vector<std::vector<Complex>>;

    Vector wave_vector(int x, int y, int z) const {
        const auto signed_wave = [](int k, int n) { return double(2 * k > n ? k - n : k); };
        return {double(x), signed_wave(y, grid_.n[1]), signed_wave(z, grid_.n[2])};
    }

    bool kept(const Vector& k) const {
        return 3 * std::abs(k[0]) < grid_.n[0] && 3 * std::abs(k[1]) < grid_.n[1] &&
               3 * std::abs(k[2]) < grid_.n[2];
    }

    static std::array<Complex, 3> curl_at(const Spectra& u, std::size_t at, const Vector& k) {
        const Complex i(0, 1);
        return {i * (k[1] * u[2][at] - k[2] * u[1][at]), i * (k[2] * u[0][at] - k[0] * u[2][at]),
                i * (k[0] * u[1][at] - k[1] * u[0][at])};
    }

    double divergence() const {
        double worst = 0;
        grid_.each_wave([&](std::size_t at, int x, int y, int z) {
            const auto k = wave_vector(x, y, z);
            worst = std::max(
                worst, std::abs(k[0] * velocity_[0][at] + k[1] * velocity_[1][at] + k[2] * velocity_[2][at]));
        });
        return worst;
    }

    /** The change of `u`, in fields 0 to 2. */
    void evaluate(const Spectra& u, apps::Parts parts) {
        if (parts.compute) {
            grid_.each_wave([&](std::size_t at, int x, int y, int z) {
                const auto curl = curl_at(u, at, wave_vector(x, y, z));
                for (int i = 0; i < 3; ++i) {
                    fields_[i].spectrum[at] = u[i][at];
                    fields_[3 + i].spectrum[at] = curl[i];
                }
            });
        }
        grid_.transform.backward(spectra_of(fields_), real_of(fields_), parts);
        if (parts.compute) {
            auto& f = fields_;
            for (std::size_t at = 0; at < grid_.transform.real_size(); ++at) {
                const Vector cross = {f[1].real[at] * f[5].real[at] - f[2].real[at] * f[4].real[at],
                                      f[2].real[at] * f[3].real[at] - f[0].real[at] * f[5].real[at],
                                      f[0].real[at] * f[4].real[at] - f[1].real[at] * f[3].real[at]};
                for (int i = 0; i < 3; ++i) first_three_[i].real[at] = cross[i];
            }
        }
        grid_.transform.forward(real_of(first_three_), spectra_of(first_three_), parts);
        if (parts.compute) {
            grid_.each_wave([&](std::size_t at, int x, int y, int z) {
                const auto k = wave_vector(x, y, z);
                const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
                Complex along = 0;
                for (int i = 0; i < 3; ++i) {
                    Complex& wave = first_three_[i].spectrum[at];
                    wave = kept(k) ? wave / double(grid_.points()) : 0;
                    along += k[i] * wave;
                }
                for (int i = 0; i < 3; ++i) {
                    Complex& wave = first_three_[i].spectrum[at];
                    wave -= (square > 0 ? k[i] * along / square : 0) + viscosity_ * square * u[i][at];
                }
            });
        }
    }

    void step(apps::Parts parts) {
        const std::array<double, 4> weights = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
        const std::array<double, 4> ahead = {0.5, 0.5, 1, 0};
        next_ = velocity_;
        for (int s = 0; s < 4; ++s) {
            evaluate(s == 0 ? velocity_ : stage_, parts);
            if (!parts.compute) continue;
            for (int i = 0; i < 3; ++i) {
                for (std::size_t at = 0; at < next_[i].size(); ++at) {
                    const Complex change = step_ * first_three_[i].spectrum[at];
                    next_[i][at] += weights[s] * change;
                    stage_[i][at] = velocity_[i][at] + ahead[s] * change;
                }
            }
        }
        velocity_.swap(next_);
    }

    Grid& grid_;
    double viscosity_;
    double step_;
    int steps_;
    Spectra velocity_, next_, stage_;
    std::vector<Field> fields_;       // velocity and its curl
    std::vector<Field> first_three_;  // their product
    std::vector<double> energies_, enstrophies_;
};

}  // namespace

int main(int argc, char** argv) {
    apps::Program program(
        argc, argv, "fft",
        "Fourier transforms in three dimensions; exchanges are hidden behind other variables.");
    fft::Settings settings;
    std::vector<int> size = {64, 64, 64};
    std::vector<int> grid_of_ranks = {1, program.ranks};
    std::string task = "sine";
    std::string mode = "nonblocking";
    int variables = 3;
    int iterations = 5;
    constexpr double viscosity = 0.01;  // of the flow
    constexpr double step = 0.002;      // of its time
    program.option("--size", size, "points in x, y and z");
    program.option("--grid", grid_of_ranks, "ranks in a row (cuts y) and in a column (cuts z)");
    program.option("--task", task, "what to transform", {"sine", "taylor-green"});
    program.option("--variables", variables, "of the task sine; taylor-green has 6 and 3", 1);
    program.option("--iterations", iterations, "times forward and backward, or steps", 1);
    program.option("--mode", mode,
                   "exchange in the column: MPI_Alltoallv, MPI_Ialltoallv, or MPI_Put between fences",
                   {"blocking", "nonblocking", "one-sided"});
    program.option("--window", settings.window, "exchanges in flight; 1 overlaps nothing", 1);
    program.option("--tiles", settings.tiles, "parts of the exchange of a variable", 1);
    program.option("--tests", settings.tests, "calls of MPI_Test for each exchange, in mode nonblocking");
    if (!program.parse()) return program.status;
    settings.n = {size[0], size[1], size[2]};
    settings.rows = grid_of_ranks[0];
    settings.columns = grid_of_ranks[1];
    if (settings.rows * settings.columns != program.ranks)
        return program.refuse("the grid must have as many places as there are ranks");
    settings.mode = mode == "blocking"    ? Mode::blocking
                    : mode == "one-sided" ? Mode::one_sided
                                          : Mode::nonblocking;
    if (settings.mode != Mode::nonblocking) settings.tests = 0;
    program.variant = mode + (settings.tests > 0 ? " with " + std::to_string(settings.tests) + " tests" : "");

    Grid grid(settings, program);
    const double limit = 1e-13 * std::max(1., std::log2(double(grid.points())));
    // The sums of the definition are less exact than the transform.
    check_transform(grid, std::min(variables, 4), std::max(limit, 1e-11 * (grid.points() <= 1000)), program);
    if (task == "taylor-green") {
        TaylorGreen flow(grid, viscosity, step, iterations);
        const double time = step * iterations;
        return program.measure([&] { flow.prepare(); }, [&](apps::Parts parts) { flow.run(parts); },
                               [&] {
                                   program.result("energy", flow.energy());
                                   program.result("enstrophy", flow.enstrophy());
                                   return flow.error();
                               },
                               1e-12 + viscosity * std::pow(time, 3) + time * std::pow(step, 4));
    }
    Sines sines(grid, variables, iterations);
    program.note_error(sines.spectrum_error(), limit);
    program.rate = [&](double seconds) {
        const double flop =
            5. * double(grid.points()) * std::log2(double(grid.points())) * variables * iterations;
        program.result("GFlop/s", flop / seconds / 1e9);
    };
    return program.measure([&] { sines.prepare(); }, [&](apps::Parts parts) { sines.run(parts); },
                           [&] { return sines.error(); }, limit * iterations);
}
