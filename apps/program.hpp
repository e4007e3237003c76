// What these programs share: the command line, the clock, and the result as text or as JSON.
//
// A program measures one variant. Each repetition runs it once and checks what came out. With --bound each
// repetition also runs the computation and the communication alone, so that the gain can be compared with
// what is possible at all: min(communication, computation) / (communication + computation).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace lapwing {
class CommandLine;
}

namespace apps {

struct Parts {
    bool compute = true;
    bool communicate = true;
};

/** Adds the seconds of its own life to a sum. */
class Timer {
  public:
    explicit Timer(double& sum) : sum_(sum), begin_(MPI_Wtime()) {}
    ~Timer() { sum_ += MPI_Wtime() - begin_; }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

  private:
    double& sum_;
    double begin_;
};

/** How many of `count` steps have passed when a share of `events` events is due: spreads MPI_Test over the
 * steps. */
class Pace {
  public:
    Pace() = default;
    Pace(int events, int steps) : events_(events), steps_(std::max(steps, 1)) {}
    bool due() {
        sum_ += events_;
        if (sum_ < steps_) return false;
        sum_ %= steps_;
        return true;
    }

  private:
    int events_ = 0;
    int steps_ = 1;
    int sum_ = 0;
};

/** The part of [0, n) that belongs to one of several ranks; lengths differ by at most one. */
struct Range {
    int begin = 0;
    int length = 0;
};

inline Range part_of(int n, int parts, int index) {
    const int less = n / parts;
    const int longer = n % parts;
    return {index * less + std::min(index, longer), less + (index < longer ? 1 : 0)};
}

/** A number in [-0.5, 0.5) that depends on `index` alone, so every rank can make it again (splitmix64). */
inline double random_number(std::uint64_t index) {
    std::uint64_t bits = (index + 1) * 0x9e3779b97f4a7c15U;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    bits ^= bits >> 31;
    return static_cast<double>(bits >> 11) * 0x1p-53 - 0.5;
}

class Program {
  public:
    using Value = std::variant<long, double>;

    /** Initializes MPI; the destructor finalizes it. */
    Program(int argc, char** argv, const std::string& name, const std::string& description);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    // Options of the command line, before parse(). What the variable holds is the default. The result says
    // what it holds in the end.
    void option(const std::string& name, int& value, const std::string& meaning, int least = 0);
    void option(const std::string& name, double& value, const std::string& meaning);
    void option(const std::string& name, std::vector<int>& values,
                const std::string& meaning);  // always as many
    void option(const std::string& name, std::string& value, const std::string& meaning,
                const std::vector<std::string>& choices);

    /** False when the program is over, with exit status `status`: --help or a wrong option. */
    bool parse();

    /** Ends the program on all ranks, with what to return from main: options that do not go together. */
    int refuse(const std::string& why);

    /** Seconds of one phase, summed over one repetition. All ranks name the same phases before measure(). */
    double& phase(const std::string& name) { return phases_[name]; }

    /** True once, on one rank and in the last repetition, under --plant-error: change a received number. */
    bool plant();

    /** For each repetition prepares the data, runs, and checks: `check` gives this rank's error, which may
     * not exceed `limit` on any rank. Only `run` is timed. Prints the result; gives the exit status. */
    int measure(const std::function<void()>& prepare, const std::function<void(Parts)>& run,
                const std::function<double()>& check, double limit);

    /** An error found outside of measure(). All ranks call this. */
    void note_error(double error, double limit);

    /** What came out besides the seconds. */
    void result(const std::string& name, const Value& value);

    /** Makes results of the seconds of a repetition: GFlop/s and the like. */
    std::function<void(double)> rate = [](double) {};
    std::string variant;
    bool separable = true;  // computation and communication can run alone: --bound
    int plant_on = -1;      // the rank that plants errors; usually the last
    int rank = 0;
    int ranks = 1;
    int status = 0;

  private:
    using Variable = std::variant<const int*, const double*, const std::string*, const std::vector<int>*>;

    double timed(const std::function<void(Parts)>& run, Parts parts) const;
    void print(bool good);

    std::unique_ptr<lapwing::CommandLine> command_line_;
    std::string name_;
    int argc_;
    char** argv_;
    int repeat_ = 1;
    bool bound_ = false;
    bool plant_error_ = false;
    bool planting_ = false;
    bool json_ = false;
    bool verified_ = true;
    double error_ = 0;
    std::vector<std::pair<std::string, Variable>> options_;
    std::vector<std::pair<std::string, Value>> results_;
    std::map<std::string, double> phases_;
    std::map<std::string, std::vector<double>> phase_seconds_;
    std::vector<double> seconds_, computing_, communicating_;
};

}  // namespace apps
