// A sparse exchange, where no rank knows who will send to it: rounds of a particle code, a graph search or a
// mesh that is refined. Each rank sends messages to a few others, computes, and receives. Two protocols:
//   blocking      MPI_Alltoall tells each rank how many messages come from each, then all are received
//   nonblocking   NBX (Hoefler, Siebert, Lumsdaine 2010): synchronous sends; a rank whose sends have all been
//   received starts
//                 MPI_Ibarrier, and receives what comes until the barrier is complete. Nobody counts
//                 messages, and the barrier, whose slowest part is the slowest rank, is hidden behind the
//                 work on what has come.
//
// Each rank has items of work of its own, which NBX does while messages and barrier are under way. Plain
// MPI-3.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <thread>

#include "program.hpp"

namespace {

struct Settings {
    int rounds = 50;
    int targets = 3;   // of each rank in each round
    int bytes = 1024;  // of a message
    int items = 12;    // of work in each round
    int work = 10000;  // steps of an item
    bool overlap = true;
};

/** Sender, round, and numbers that follow from both. */
struct Header {
    int sender;
    int round;
    int index;
};

class Exchange {
  public:
    Exchange(const Settings& settings, apps::Program& program)
        : s_(settings),
          exchange_seconds_(program.phase("exchange")),
          work_seconds_(program.phase("work")),
          program_(program) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        messages_.assign(std::size_t(s_.targets), std::vector<unsigned char>(std::size_t(s_.bytes)));
        received_.resize(std::size_t(s_.bytes));
        pattern_.resize(std::size_t(s_.bytes) + 256);
        for (std::size_t at = 0; at < pattern_.size(); ++at) {
            pattern_[at] = static_cast<unsigned char>(at);
        }
    }
    ~Exchange() { MPI_Comm_free(&comm_); }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    void prepare() {
        errors_ = 0;
        came_.assign(std::size_t(s_.rounds), 0);
    }

    void run(apps::Parts parts) {
        for (int round = 0; round < s_.rounds; ++round) {
            left_ = parts.compute ? s_.items : 0;
            if (parts.communicate) {
                s_.overlap ? consensus(round) : counted(round);
            }
            while (left_ > 0) {
                do_item();
            }
        }
    }

    /** Messages that are missing, too many or wrong. */
    double wrong() const {
        double wrong = errors_;
        for (int round = 0; round < s_.rounds; ++round) {
            int expected = 0;
            for (int sender = 0; sender < program_.ranks; ++sender) {
                for (int i = 0; i < s_.targets; ++i) {
                    expected += target(sender, round, i) == program_.rank ? 1 : 0;
                }
            }
            wrong += std::abs(came_[std::size_t(round)] - expected);
        }
        return wrong;
    }

  private:
    /** Where a rank's message goes, as by chance. */
    int target(int sender, int round, int i) const {
        const double number =
            apps::random_number((std::uint64_t(sender) << 32) + std::uint64_t(round) * 64 + i) + 0.5;
        return std::min(int(number * program_.ranks), program_.ranks - 1);
    }

    /** What follows the header in a message: as quick to write and to compare as memory is. */
    const unsigned char* content(const Header& header) const {
        return pattern_.data() + (header.sender * 31 + header.round * 7 + header.index * 3) % 256;
    }
    std::size_t content_bytes() const { return std::size_t(s_.bytes) - sizeof(Header); }

    void fill(int round, int i) {
        const Header header = {program_.rank, round, i};
        std::memcpy(messages_[i].data(), &header, sizeof header);
        std::memcpy(messages_[i].data() + sizeof header, content(header), content_bytes());
    }

    void receive(int source, int round) {
        MPI_Status status;
        MPI_Recv(received_.data(), s_.bytes, MPI_BYTE, source, round, comm_, &status);
        if (program_.plant()) {
            received_[std::size_t(s_.bytes) - 1] ^= 1;
        }
        Header header{};
        std::memcpy(&header, received_.data(), sizeof header);
        const bool good =
            header.sender == status.MPI_SOURCE && header.round == round && header.index >= 0 &&
            header.index < s_.targets && target(header.sender, round, header.index) == program_.rank &&
            std::memcmp(received_.data() + sizeof header, content(header), content_bytes()) == 0;
        errors_ += good ? 0 : 1;
        ++came_[std::size_t(round)];
    }

    void do_item() {
        const apps::Timer timer(work_seconds_);
        double value = work_;
        for (int i = 0; i < s_.work; ++i) {
            value = value * 0.999999 + 1e-6;
        }
        work_ = value;
        --left_;
    }

    void counted(int round) {
        const apps::Timer timer(exchange_seconds_);
        std::vector<int> outgoing(std::size_t(program_.ranks), 0);
        std::vector<int> incoming(outgoing);
        std::vector<MPI_Request> sends(std::size_t(s_.targets));
        for (int i = 0; i < s_.targets; ++i) {
            ++outgoing[std::size_t(target(program_.rank, round, i))];
        }
        MPI_Alltoall(outgoing.data(), 1, MPI_INT, incoming.data(), 1, MPI_INT, comm_);
        for (int i = 0; i < s_.targets; ++i) {
            fill(round, i);
            MPI_Isend(messages_[i].data(), s_.bytes, MPI_BYTE, target(program_.rank, round, i), round, comm_,
                      &sends[i]);
        }
        for (int source = 0; source < program_.ranks; ++source) {
            for (int i = 0; i < incoming[source]; ++i) {
                receive(source, round);
            }
        }
        MPI_Waitall(s_.targets, sends.data(), MPI_STATUSES_IGNORE);
    }

    void consensus(int round) {
        std::vector<MPI_Request> sends(std::size_t(s_.targets));
        {
            const apps::Timer timer(exchange_seconds_);
            for (int i = 0; i < s_.targets; ++i) {
                fill(round, i);
                MPI_Issend(messages_[i].data(), s_.bytes, MPI_BYTE, target(program_.rank, round, i), round,
                           comm_, &sends[i]);
            }
        }
        MPI_Request barrier = MPI_REQUEST_NULL;
        bool all_received = false;
        for (int done = 0; done == 0;) {
            {
                const apps::Timer timer(exchange_seconds_);
                int here = 0;
                MPI_Status status;
                MPI_Iprobe(MPI_ANY_SOURCE, round, comm_, &here, &status);
                if (here != 0) {
                    receive(status.MPI_SOURCE, round);
                    continue;
                }
                if (!all_received) {
                    int sent = 0;
                    MPI_Testall(s_.targets, sends.data(), &sent, MPI_STATUSES_IGNORE);
                    if (sent != 0) {
                        all_received = true;
                        MPI_Ibarrier(comm_, &barrier);
                    }
                } else {
                    MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
                }
            }
            if (left_ > 0) {
                do_item();
            } else {
                std::this_thread::yield();  // another rank of this processor may be the one that is late
            }
        }
    }

    Settings s_;
    double &exchange_seconds_, &work_seconds_;
    apps::Program& program_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<std::vector<unsigned char>> messages_;
    std::vector<unsigned char> received_;
    std::vector<unsigned char> pattern_;
    std::vector<int> came_;  // by round
    int left_ = 0;
    double work_ = 1;
    double errors_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    apps::Program program(argc, argv, "exchange",
                          "Messages to a few ranks that do not expect them; MPI_Ibarrier finds the end.");
    Settings settings;
    std::string mode = "nonblocking";
    program.option("--rounds", settings.rounds, "exchanges", 1);
    program.option("--targets", settings.targets, "messages that a rank sends in a round", 1);
    program.option("--bytes", settings.bytes, "of a message", int(sizeof(Header)) + 1);
    program.option("--items", settings.items, "of work for each rank in a round");
    program.option("--work", settings.work, "steps of an item");
    program.option("--mode", mode, "MPI_Alltoall of counts, or NBX: MPI_Issend and MPI_Ibarrier",
                   {"blocking", "nonblocking"});
    if (!program.parse()) {
        return program.status;
    }
    if (program.quick) {
        settings.rounds = 20;
    }
    settings.targets = std::min(settings.targets, 64);
    settings.overlap = mode == "nonblocking";
    program.variant = mode;
    program.size("rounds", long(settings.rounds));
    program.size("targets", long(settings.targets));
    program.size("bytes", long(settings.bytes));
    program.size("items", long(settings.items));
    program.size("work", long(settings.work));
    program.rate = [&](double seconds) { program.result("seconds for a round", seconds / settings.rounds); };
    Exchange exchange(settings, program);
    return program.measure([&] { exchange.prepare(); }, [&](apps::Parts parts) { exchange.run(parts); },
                           [&] { return exchange.wrong(); }, 0);
}
