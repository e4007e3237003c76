// SpFFT by its public interface: several transforms, one after the other or all at once. multi_transform_*
// starts the exchanges of all of them before it waits for the first; nothing tests them meanwhile.
#include <cmath>
#include <complex>
#include <numbers>
#include <spfft/spfft.hpp>

#include "program.hpp"

namespace {

class Transforms {
  public:
    Transforms(int n, int count, bool together, apps::Program& program)
        : n_(n),
          together_(together),
          program_(program),
          places_(std::size_t(count), SPFFT_PU_HOST),
          scalings_(std::size_t(count), SPFFT_FULL_SCALING) {
        const apps::Range x = apps::part_of(n, program.ranks, program.rank);
        for (int i = x.begin; i < x.begin + x.length; ++i) {
            for (int y = 0; y < n; ++y)
                for (int z = 0; z < n; ++z) waves_.insert(waves_.end(), {i, y, z});
        }
        const int local = int(waves_.size() / 3);
        for (int v = 0; v < count; ++v) {
            // Transforms that are in flight together may not share a grid.
            grids_.emplace_back(n, n, n, x.length * n, x.length, SPFFT_PU_HOST, 1, MPI_COMM_WORLD,
                                SPFFT_EXCH_DEFAULT);
            transforms_.push_back(grids_.back().create_transform(SPFFT_PU_HOST, SPFFT_TRANS_C2C, n, n, n,
                                                                 x.length, local, SPFFT_INDEX_TRIPLETS,
                                                                 waves_.data()));
            in_.emplace_back();
            for (int i = 0; i < local; ++i) {
                const std::uint64_t wave =
                    (std::uint64_t(waves_[3 * i]) * n + waves_[3 * i + 1]) * n + waves_[3 * i + 2];
                in_.back().push_back(apps::random_number((wave * count + v) * 2));
                in_.back().push_back(apps::random_number((wave * count + v) * 2 + 1));
            }
            out_.emplace_back(in_.back().size());
        }
        for (int v = 0; v < count; ++v) {
            from_.push_back(in_[v].data());
            to_.push_back(out_[v].data());
        }
    }

    void backward() {
        if (together_) {
            spfft::multi_transform_backward(int(transforms_.size()), transforms_.data(), from_.data(),
                                            places_.data());
            return;
        }
        for (std::size_t v = 0; v < transforms_.size(); ++v) transforms_[v].backward(from_[v], SPFFT_PU_HOST);
    }

    void run() {
        backward();
        if (together_) {
            spfft::multi_transform_forward(int(transforms_.size()), transforms_.data(), places_.data(),
                                           to_.data(), scalings_.data());
        } else {
            for (std::size_t v = 0; v < transforms_.size(); ++v)
                transforms_[v].forward(SPFFT_PU_HOST, to_[v], SPFFT_FULL_SCALING);
        }
        if (program_.plant()) out_.back().back() += 1;
    }

    /** The definition at one point of space, relative to the largest that the sum could be. */
    double point_error() {
        backward();
        const int at[3] = {n_ / 3, n_ / 5, n_ / 2};
        double error = 0;
        for (std::size_t v = 0; v < transforms_.size(); ++v) {
            std::complex<double> sum = 0;
            for (std::size_t i = 0; i < in_[v].size() / 2; ++i) {
                double turns = 0;
                for (int d = 0; d < 3; ++d) turns += double(waves_[3 * i + d]) * at[d] / n_;
                sum += std::complex<double>(in_[v][2 * i], in_[v][2 * i + 1]) *
                       std::polar(1., 2 * std::numbers::pi * turns);
            }
            MPI_Allreduce(MPI_IN_PLACE, &sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            const int z = at[2] - transforms_[v].local_z_offset();
            if (z >= 0 && z < transforms_[v].local_z_length()) {
                const double* value = transforms_[v].space_domain_data(SPFFT_PU_HOST) +
                                      2 * ((std::size_t(z) * n_ + at[1]) * n_ + at[0]);
                error = std::max(error,
                                 std::abs(sum - std::complex<double>(value[0], value[1])) / std::pow(n_, 3));
            }
        }
        return error;
    }

    double round_trip_error() const {
        double error = 0;
        for (std::size_t v = 0; v < in_.size(); ++v)
            for (std::size_t i = 0; i < in_[v].size(); ++i)
                error = std::max(error, std::abs(in_[v][i] - out_[v][i]));
        return error;
    }

  private:
    int n_;
    bool together_;
    apps::Program& program_;
    std::vector<SpfftProcessingUnitType> places_;
    std::vector<SpfftScalingType> scalings_;
    std::vector<spfft::Grid> grids_;
    std::vector<spfft::Transform> transforms_;
    std::vector<int> waves_;
    std::vector<std::vector<double>> in_, out_;
    std::vector<const double*> from_;
    std::vector<double*> to_;
};

}  // namespace

int main(int argc, char** argv) {
    apps::Program program(argc, argv, "spfft",
                          "Transforms of several variables by SpFFT, backward and forward.");
    program.separable = false;
    int n = 64;
    int variables = 3;
    std::string mode = "together";
    program.option("--size", n, "points in each direction", 1);
    program.option("--variables", variables, "transforms", 1);
    program.option("--mode", mode, "one transform after the other, or all by multi_transform",
                   {"one-by-one", "together"});
    if (!program.parse()) return program.status;
    if (n < program.ranks) return program.refuse("each rank needs a plane");
    program.variant = mode;
    Transforms transforms(n, variables, mode == "together", program);
    program.note_error(transforms.point_error(), 1e-13);
    return program.measure([] {}, [&](apps::Parts) { transforms.run(); },
                           [&] { return transforms.round_trip_error(); }, 1e-13);
}
