#include "synthesize/links_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "base/values.hpp"
#include "lapwing/cluster/shape.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

constexpr std::uint64_t max_ranks_of_links = 256;
constexpr double max_seconds = 1;  // of a latency, and of a task

class Reader {
  public:
    explicit Reader(const std::string& path) : text_(read_text_file(path, "link file")), path_(path) {}

    LinksFile read() {
        std::istringstream lines(text_);
        for (std::string line; std::getline(lines, line);) {
            ++number_;
            std::istringstream words(line.substr(0, line.find('#')));
            std::vector<std::string> all;
            for (std::string word; words >> word;) all.push_back(word);
            if (all.empty()) continue;
            try {
                statement(all);
            } catch (const Error& error) {
                if (error.code() == ErrorCode::parse) throw;
                refuse(error.what());
            }
        }
        ++number_;
        if (links_.ranks == 0) refuse("'ranks N' is missing");
        if (rate_ == 0) refuse("'rate RATE' is missing, such as: rate 100mbit");
        if (links_.latency == 0) refuse("'latency TIME' is missing, such as: latency 60us");
        return finish();
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw Error(ErrorCode::parse, fmt::format("{}:{}: {}", path_, number_, why));
    }
    int rank_of(const std::string& word) const {
        const auto rank = parse_number(word);
        if (!rank || *rank >= static_cast<std::uint64_t>(links_.ranks))
            refuse(fmt::format("'{}' must be a rank from 0 to {}", word, links_.ranks - 1));
        return static_cast<int>(*rank);
    }
    void require_words(const std::vector<std::string>& words, std::size_t count, const char* form) const {
        if (words.size() != count) refuse(fmt::format("the line must have the form: {}", form));
    }

    void statement(const std::vector<std::string>& words) {
        const std::string& what = words.front();
        if (what == "ranks") {
            require_words(words, 2, "ranks 4");
            const auto ranks = parse_number(words[1]);
            if (!ranks || *ranks < 2 || *ranks > max_ranks_of_links)
                refuse(
                    fmt::format("'{}' must be a number of ranks from 2 to {}", words[1], max_ranks_of_links));
            if (links_.ranks != 0) refuse("'ranks' was given before");
            links_.ranks = static_cast<int>(*ranks);
            ports_.assign(*ranks, 0);
            pairs_.assign(*ranks * *ranks, 0);
        } else if (links_.ranks == 0) {
            refuse("the first line must be 'ranks N'");
        } else if (what == "rate") {
            require_words(words, 2, "rate 100mbit");
            rate_ = read_rate(words[1]);
        } else if (what == "latency") {
            require_words(words, 2, "latency 60us");
            links_.latency = read_time("latency", words[1], max_seconds);
        } else if (what == "task") {
            require_words(words, 2, "task 5us");
            links_.task = read_time("task", words[1], max_seconds);
            has_task_ = true;
        } else if (what == "port") {
            if (words.size() != 4 || words[2] != "rate") require_words({}, 4, "port 3 rate 10mbit");
            ports_[synthesis::at(rank_of(words[1]))] = read_rate(words[3]);
        } else if (what == "link") {
            link(words);
        } else {
            refuse(fmt::format("'{}' must be ranks, rate, latency, task, port or link", what));
        }
    }

    void link(const std::vector<std::string>& words) {
        constexpr const char* form = "link 0-1 rate 10mbit, or: link 0-1 none";
        const bool none = words.size() == 3 && words[2] == "none";
        if (!none && (words.size() != 4 || words[2] != "rate")) require_words({}, 4, form);
        const std::size_t middle = words[1].find_first_of("->");
        if (middle == std::string::npos) refuse(fmt::format("the line must have the form: {}", form));
        const int from = rank_of(words[1].substr(0, middle));
        const int to = rank_of(words[1].substr(middle + 1));
        if (from == to) refuse("a link must be between two ranks");
        const double rate = none ? -1 : read_rate(words[3]);
        pairs_[synthesis::at(from * links_.ranks + to)] = rate;
        if (words[1][middle] == '-') pairs_[synthesis::at(to * links_.ranks + from)] = rate;
    }

    // From rates to slowness: how many times as long as through the fastest port.
    LinksFile finish() {
        double fastest = 0;
        for (double& port : ports_) {
            if (port == 0) port = rate_;
            fastest = std::max(fastest, port);
        }
        links_.per_byte = 8 / fastest;
        for (const double port : ports_) links_.ports.push_back(fastest / port);
        for (const double pair : pairs_) {
            links_.pairs.push_back(pair == 0  ? 1
                                   : pair < 0 ? synthesis::never
                                              : std::max(1.0, fastest / pair));
        }
        return {links_, has_task_, fingerprint_of(text_)};
    }

    const std::string text_;
    const std::string& path_;
    int number_ = 0;
    synthesis::Links links_{.ranks = 0, .ports = {}, .pairs = {}};
    bool has_task_ = false;
    double rate_ = 0;            // bits per second
    std::vector<double> ports_;  // bits per second; 0: as all
    std::vector<double> pairs_;  // the same; -1: no link
};

}  // namespace

LinksFile read_links(const std::string& path) {
    return Reader(path).read();
}

}  // namespace lapwing::tool
