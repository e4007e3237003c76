#include "fuzz/completing.hpp"

#include <numeric>
#include <utility>

namespace fuzz {
namespace {

using Requests = std::vector<MPI_Request>;

int size_of(const Requests& requests) {
    return static_cast<int>(requests.size());
}

// One call for all of them, repeated where it does not wait.
void complete_at_once(Requests& requests, Random& random) {
    int flag = 0;
    switch (random.below(4)) {
        case 0:
            MPI_Waitall(size_of(requests), requests.data(), MPI_STATUSES_IGNORE);
            break;
        case 1: {
            std::vector<MPI_Status> statuses(requests.size());
            MPI_Waitall(size_of(requests), requests.data(), statuses.data());
            break;
        }
        case 2:
            while (flag == 0) MPI_Testall(size_of(requests), requests.data(), &flag, MPI_STATUSES_IGNORE);
            break;
        default:
            for (MPI_Request& request : requests) {
                MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
                for (flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            }
    }
}

// The requests that are left, in an order of their own, and any call for all or some of them.
class Rest {
  public:
    Rest(Requests& all, Random& random) : all_(all), random_(random), left_(all.size()) {
        std::iota(left_.begin(), left_.end(), std::size_t{0});
        for (std::size_t i = left_.size(); i > 1; --i)
            std::swap(left_[i - 1], left_[static_cast<std::size_t>(random_.below(static_cast<int>(i)))]);
    }
    void complete() {
        while (!left_.empty()) take_some();
    }

  private:
    void take_some() {
        const int count = random_.between(1, static_cast<int>(left_.size()));
        Requests some;
        for (int i = 0; i < count; ++i) some.push_back(all_[left_[static_cast<std::size_t>(i)]]);
        const std::vector<bool> done = call(some);
        std::vector<std::size_t> still;
        for (std::size_t i = 0; i < left_.size(); ++i) {
            if (i < some.size()) all_[left_[i]] = some[i];
            if (i >= some.size() || !done[i]) still.push_back(left_[i]);
        }
        left_ = still;
    }

    // Which of them are complete afterwards. Those without an operation are complete from the beginning.
    std::vector<bool> call(Requests& some) {
        const int count = size_of(some);
        std::vector<bool> done(some.size(), false);
        std::vector<MPI_Status> statuses(some.size());
        std::vector<int> which(some.size());
        int index = MPI_UNDEFINED;
        int number = 0;
        int flag = 0;
        const auto take = [&](int one) {
            if (one == MPI_UNDEFINED)
                done.assign(done.size(), true);
            else
                done[static_cast<std::size_t>(one)] = true;
        };
        const auto take_all = [&](int found) {
            if (found == MPI_UNDEFINED) take(MPI_UNDEFINED);
            for (int i = 0; found != MPI_UNDEFINED && i < found; ++i)
                take(which[static_cast<std::size_t>(i)]);
        };
        switch (random_.below(8)) {
            case 0:
                MPI_Wait(&some[0], MPI_STATUS_IGNORE);
                take(0);
                break;
            case 1:
                MPI_Test(&some[0], &flag, MPI_STATUS_IGNORE);
                if (flag != 0) take(0);
                break;
            case 2:
                MPI_Waitany(count, some.data(), &index, &statuses[0]);
                take(index);
                break;
            case 3:
                MPI_Testany(count, some.data(), &index, &flag, MPI_STATUS_IGNORE);
                if (flag != 0) take(index);
                break;
            case 4:
                MPI_Waitsome(count, some.data(), &number, which.data(), statuses.data());
                take_all(number);
                break;
            case 5:
                MPI_Testsome(count, some.data(), &number, which.data(), MPI_STATUSES_IGNORE);
                take_all(number);
                break;
            case 6:
                MPI_Testall(count, some.data(), &flag, statuses.data());
                if (flag != 0) take(MPI_UNDEFINED);
                break;
            default:
                MPI_Waitall(count, some.data(), MPI_STATUSES_IGNORE);
                take(MPI_UNDEFINED);
        }
        return done;
    }

    Requests& all_;
    Random& random_;
    std::vector<std::size_t> left_;
};

}  // namespace

void complete(Requests& requests, Random& random) {
    if (random.one_in(3))
        complete_at_once(requests, random);
    else
        Rest(requests, random).complete();
}

}  // namespace fuzz
