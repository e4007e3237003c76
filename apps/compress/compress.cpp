// Every rank compresses its chunks one after the other, and rank 0 gathers them: while one chunk is
// compressed, the one before travels (Kaiser, Hoefler et al. 2009; the tile and window pattern of Hoefler,
// Gottschling, Lumsdaine 2008).
//
// Compressed chunks differ in length, so a round has two collectives: a gather of the lengths, which is
// started as soon as a chunk is compressed, and a gather of the bytes, which starts one round later, when
// rank 0 knows the lengths:
//
//   compress i  |  start lengths i  |  wait for lengths i-1, start bytes i-1  |  wait for bytes i-window
//
// Plain MPI-3; zlib or Zstandard compresses. Rank 0 decompresses everything in the end and compares each
// byte.
#include <zlib.h>
#include <zstd.h>

#include <cmath>
#include <cstddef>
#include <cstring>

#include "program.hpp"

namespace {

using Bytes = std::vector<unsigned char>;

struct Settings {
    int chunks = 16;     // of each rank
    int chunk = 262144;  // bytes
    int level = 1;
    int window = 2;
    bool zstandard = false;
    bool overlap = true;
};

/** A chunk of a simulation's output: numbers that vary slowly, with some noise in the last digits. */
void make_chunk(int rank, int chunk, Bytes& data) {
    for (std::size_t at = 0; at + sizeof(float) <= data.size(); at += sizeof(float)) {
        const double x = double(at) * 1e-4 + rank + 0.1 * chunk;
        const double noise =
            apps::random_number((std::uint64_t(rank) << 40) + (std::uint64_t(chunk) << 24) + at);
        const auto value = float(std::round((std::sin(x) + 1e-3 * noise) * 4096) / 4096);
        std::memcpy(data.data() + at, &value, sizeof value);
    }
}

class Codec {
  public:
    explicit Codec(const Settings& settings) : s_(settings) {}

    std::size_t bound() const {
        return s_.zstandard ? ZSTD_compressBound(std::size_t(s_.chunk)) : compressBound(uLong(s_.chunk));
    }

    int compress(const Bytes& from, Bytes& to) const {
        if (s_.zstandard) {
            const std::size_t length =
                ZSTD_compress(to.data(), to.size(), from.data(), from.size(), s_.level);
            return ZSTD_isError(length) ? -1 : int(length);
        }
        uLongf length = uLongf(to.size());
        return compress2(to.data(), &length, from.data(), uLong(from.size()), s_.level) == Z_OK ? int(length)
                                                                                                : -1;
    }

    bool decompress(const unsigned char* from, int length, Bytes& to) const {
        if (s_.zstandard)
            return ZSTD_decompress(to.data(), to.size(), from, std::size_t(length)) == to.size();
        uLongf size = uLongf(to.size());
        return uncompress(to.data(), &size, from, uLong(length)) == Z_OK && size == to.size();
    }

  private:
    Settings s_;
};

class Gathering {
  public:
    Gathering(const Settings& settings, apps::Program& program)
        : s_(settings),
          codec_(settings),
          compress_seconds_(program.phase("compression")),
          gather_seconds_(program.phase("gathers")),
          program_(program) {
        MPI_Comm_dup(MPI_COMM_WORLD, &lengths_comm_);
        MPI_Comm_dup(MPI_COMM_WORLD, &bytes_comm_);
        rounds_.resize(std::size_t(s_.chunks));
        slots_.resize(std::size_t(s_.window) + 2);
        for (Bytes& slot : slots_) slot.resize(codec_.bound());
        for (int c = 0; c < s_.chunks; ++c) {
            rounds_[c].original.resize(std::size_t(s_.chunk));
            make_chunk(program.rank, c, rounds_[c].original);
        }
    }
    ~Gathering() {
        MPI_Comm_free(&lengths_comm_);
        MPI_Comm_free(&bytes_comm_);
    }
    Gathering(const Gathering&) = delete;
    Gathering& operator=(const Gathering&) = delete;

    void run(apps::Parts parts) {
        parts_ = parts;
        for (int i = 0; i < s_.chunks; ++i) {
            compress(i);
            start_lengths(i);
            if (i >= 1) start_bytes(i - 1);
            if (i >= s_.window) finish_bytes(i - s_.window);
        }
        start_bytes(s_.chunks - 1);
        for (int i = std::max(s_.chunks - s_.window, 0); i < s_.chunks; ++i) finish_bytes(i);
    }

    /** How many chunks rank 0 has wrong. */
    double wrong_chunks() {
        double wrong = 0;
        total_ = 0;
        Bytes expected(std::size_t(s_.chunk));
        Bytes found(std::size_t(s_.chunk));
        for (int i = 0; program_.rank == 0 && i < s_.chunks; ++i) {
            const Round& round = rounds_[i];
            for (int r = 0; r < program_.ranks; ++r) {
                make_chunk(r, i, expected);
                const bool good =
                    codec_.decompress(round.gathered.data() + round.offsets[r], round.lengths[r], found);
                wrong += good && found == expected ? 0 : 1;
                total_ += round.lengths[r];
            }
        }
        return wrong;
    }

    /** Of the compressed bytes to all, as rank 0 has seen at the last check. */
    double ratio() const { return total_ / (double(s_.chunk) * s_.chunks * program_.ranks); }

  private:
    struct Round {
        Bytes original;
        int length = 0;
        std::vector<int> lengths, offsets;  // on rank 0
        Bytes gathered;
        MPI_Request lengths_request = MPI_REQUEST_NULL;
        MPI_Request bytes_request = MPI_REQUEST_NULL;
    };

    Bytes& slot(int i) { return slots_[std::size_t(i) % slots_.size()]; }

    void compress(int i) {
        if (!parts_.compute) return;
        const apps::Timer timer(compress_seconds_);
        rounds_[i].length = codec_.compress(rounds_[i].original, slot(i));
        if (rounds_[i].length < 0) {
            std::fprintf(stderr, "compress: rank %d cannot compress chunk %d\n", program_.rank, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }

    void start_lengths(int i) {
        if (!parts_.communicate) return;
        const apps::Timer timer(gather_seconds_);
        Round& round = rounds_[i];
        round.lengths.resize(std::size_t(program_.ranks));
        if (s_.overlap) {
            MPI_Igather(&round.length, 1, MPI_INT, round.lengths.data(), 1, MPI_INT, 0, lengths_comm_,
                        &round.lengths_request);
        } else {
            MPI_Gather(&round.length, 1, MPI_INT, round.lengths.data(), 1, MPI_INT, 0, lengths_comm_);
            gather_bytes(i);
        }
    }

    void start_bytes(int i) {
        if (!parts_.communicate || !s_.overlap) return;
        const apps::Timer timer(gather_seconds_);
        MPI_Wait(&rounds_[i].lengths_request, MPI_STATUS_IGNORE);
        gather_bytes(i);
    }

    void gather_bytes(int i) {
        Round& round = rounds_[i];
        if (program_.rank == 0) {
            round.offsets.assign(std::size_t(program_.ranks), 0);
            for (int r = 1; r < program_.ranks; ++r)
                round.offsets[r] = round.offsets[r - 1] + round.lengths[r - 1];
            round.gathered.resize(std::size_t(round.offsets.back() + round.lengths.back()));
        }
        if (s_.overlap) {
            MPI_Igatherv(slot(i).data(), round.length, MPI_BYTE, round.gathered.data(), round.lengths.data(),
                         round.offsets.data(), MPI_BYTE, 0, bytes_comm_, &round.bytes_request);
        } else {
            MPI_Gatherv(slot(i).data(), round.length, MPI_BYTE, round.gathered.data(), round.lengths.data(),
                        round.offsets.data(), MPI_BYTE, 0, bytes_comm_);
            plant(round);
        }
    }

    void finish_bytes(int i) {
        if (!parts_.communicate || !s_.overlap) return;
        const apps::Timer timer(gather_seconds_);
        MPI_Wait(&rounds_[i].bytes_request, MPI_STATUS_IGNORE);
        plant(rounds_[i]);
    }

    void plant(Round& round) {
        if (program_.rank == 0 && program_.plant()) round.gathered.back() ^= 1;
    }

    Settings s_;
    Codec codec_;
    double &compress_seconds_, &gather_seconds_;
    apps::Program& program_;
    MPI_Comm lengths_comm_ = MPI_COMM_NULL;
    MPI_Comm bytes_comm_ = MPI_COMM_NULL;
    std::vector<Round> rounds_;
    std::vector<Bytes> slots_;  // compressed chunks under way
    double total_ = 0;
    apps::Parts parts_;
};

}  // namespace

int main(int argc, char** argv) {
    apps::Program program(
        argc, argv, "compress",
        "Ranks compress their chunks, rank 0 gathers them; a gather is hidden behind the next chunk.");
    Settings settings;
    std::string codec = "zlib";
    std::string mode = "nonblocking";
    program.option("--chunks", settings.chunks, "of each rank", 1);
    program.option("--bytes", settings.chunk, "of a chunk", 1);
    program.option("--codec", codec, "the compressor", {"zlib", "zstd"});
    program.option("--level", settings.level, "of compression", 1);
    program.option("--window", settings.window, "gathers in flight", 1);
    program.option("--mode", mode, "MPI_Gatherv or MPI_Igatherv", {"blocking", "nonblocking"});
    program.plant_on = 0;
    if (!program.parse()) return program.status;
    settings.chunk = (settings.chunk + 3) / 4 * 4;
    settings.level = std::min(settings.level, 9);
    settings.zstandard = codec == "zstd";
    settings.overlap = mode == "nonblocking";
    program.variant = mode;
    Gathering gathering(settings, program);
    program.rate = [&](double seconds) {
        program.result("MB/s", double(settings.chunk) * settings.chunks * program.ranks / seconds / 1e6);
        program.result("compressed to", gathering.ratio());
    };
    return program.measure([] {}, [&](apps::Parts parts) { gathering.run(parts); },
                           [&] { return gathering.wrong_chunks(); }, 0);
}
