// Lists as a certificate describes them, at one number of ranks.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "collectives/blocks.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/vector_blocks.hpp"
#include "proofs/certificate.hpp"
#include "task/builder.hpp"
#include "task/result.hpp"

namespace lapwing::proofs {

class Instantiation {
  public:
    explicit Instantiation(const Certificate& certificate)
        : certificate_(certificate), meaning_(meaning_of(certificate.algorithms.front().first)) {
        for (const char* name : {"P", "r", "root", "core", "cover", "filled", "window", "parts", "in_place",
                                 "ordered", "x", "block"})
            slots_.of(name);
        const std::size_t known = slots_.count();
        for (const Step& step : certificate.steps) {
            Compiled compiled;
            compiled.step = &step;
            if (!step.variable.empty())
                compiled.variable = static_cast<std::size_t>(slots_.of(step.variable));
            compiled.first = compile(step.first);
            compiled.last = compile(step.last);
            compiled.condition = compile(step.condition);
            compiled.peer = compile(step.peer);
            compiled.receive = compile(step.receive);
            compiled.target = compile(step.target);
            compiled.old = compile(step.old);
            compiled.source = compile(step.source);
            if (step.kind == TaskKind::allocate) {
                const Array& array = *certificate.array(step.target.array);
                const Substitution index{{array.index, variable(step.variable)}};
                compiled.size = compile(replace(array.size, index));
                compiled.layout = compile(array.layout == nullptr ? nullptr : replace(array.layout, index));
            }
            if (step.kind == TaskKind::wait)
                while (compiled.received < certificate.steps.size() &&
                       certificate.steps[compiled.received].label != step.receives)
                    ++compiled.received;
            steps_.push_back(std::move(compiled));
        }
        applies_ = compile(certificate.applies);
        parts_program_ = compile(certificate.parts);
        values_.slots.resize(slots_.count() + known);
        values_.some = [this](std::int64_t from, std::int64_t to) { return some(from, to); };
    }

    // Sets the problem; it must outlive the calls below. `window` is the value of the algorithm's parameter
    // of this name, if there is one.
    void set(const Problem& problem, std::int64_t window) {
        problem_ = &problem;
        const auto slot = [&](const char* name) -> std::int64_t& {
            return values_.slots[static_cast<std::size_t>(slots_.of(name))];
        };
        const auto ranks = static_cast<unsigned>(problem.ranks);
        slot("P") = problem.ranks;
        slot("root") = problem.root;
        slot("core") = std::bit_floor(ranks);
        slot("cover") = std::bit_ceil(ranks);
        slot("window") = window;
        slot("in_place") = static_cast<std::int64_t>(problem.in_place);
        slot("ordered") = static_cast<std::int64_t>(problem.ordered);
        parts_ = parts_program_(values_);
        slot("parts") = parts_;
        vector_.clear();
        if (is_reduce_scatter(problem.collective))
            vector_.emplace_back(problem);
        else if (is_reduction(problem.collective))
            vector_.emplace_back(problem.bytes, problem.element_bytes(), static_cast<int>(parts_));
        std::int64_t filled = 0;
        while (filled < parts_ && begin(filled + 1) > begin(filled)) ++filled;
        slot("filled") = filled;
    }

    // Whether the certificate is about the problem's number of ranks, and its form.
    bool covers() {
        return applies_(values_) != 0 && (certificate_.in_place || !problem_->in_place) &&
               (certificate_.ordered || !problem_->ordered);
    }
    List list(int rank) {
        set_rank(rank);
        scratch_.clear();
        Builder builder(*problem_, rank);
        for (std::size_t begin = 0, end = 0; begin < steps_.size(); begin = end) {
            const Step& first = *steps_[begin].step;
            while (end < steps_.size() && steps_[end].step->section == first.section) ++end;
            const auto body = [&] {
                for (std::size_t i = begin; i < end; ++i)
                    if (steps_[i].condition(values_) != 0) emit(steps_[i], builder);
            };
            if (first.variable.empty()) {
                body();
                continue;
            }
            const std::int64_t from = steps_[begin].first(values_);
            const std::int64_t last = steps_[begin].last(values_);
            std::int64_t& value = values_.slots[steps_[begin].variable];
            if (first.powers) {
                std::int64_t top = 1;
                while (2 * top < last) top *= 2;
                if (last <= 1) continue;
                for (value = first.down ? top : 1; value >= 1 && value < last;
                     value = first.down ? value / 2 : value * 2)
                    body();
            } else if (first.down) {
                for (value = last; value >= from; --value) body();
            } else {
                for (value = from; value <= last; ++value) body();
            }
        }
        return builder.finish();
    }

    // Returns how meaning_of() and task/result.hpp differ about a rank's memory; empty if they agree.
    std::string difference_in_meaning(int rank) {
        if (problem_->collective == Collective::barrier) return {};
        set_rank(rank);
        const Program out_size = compile(meaning_.out_size);
        const Program holds = compile(meaning_.holds);
        const Program origin = compile(meaning_.origin);
        const Program exists = compile(meaning_.exists);
        std::int64_t& x = values_.slots[static_cast<std::size_t>(slots_.of("x"))];
        std::int64_t& block = values_.slots[static_cast<std::size_t>(slots_.of("block"))];
        const auto memory = [&](const char* array, std::int64_t from, int of_rank) {
            const int kept = rank_;
            set_rank(of_rank);
            const Span found = span(compile(Blocks{array, nullptr, number(from), number(1)}));
            set_rank(kept);
            return found;
        };
        std::vector<Result> wanted;
        for (block = 0; block < out_size(values_); ++block) {
            if (exists(values_) == 0) continue;
            Result result;
            result.out = memory("out", block, rank);
            result.first = problem_->ranks;
            result.last = -1;
            int count = 0;
            for (x = 0; x < problem_->ranks; ++x) {
                if (holds(values_) == 0) continue;
                result.first = std::min(result.first, static_cast<int>(x));
                result.last = static_cast<int>(x);
                ++count;
            }
            if (count == 0 || result.last - result.first + 1 != count)
                return fmt::format("block {} has no run of ranks", block);
            result.offset = memory("in", origin(values_), result.first).offset -
                            whole_input(*problem_, result.first).offset;
            wanted.push_back(result);
        }
        std::vector<Result> real = results(*problem_, rank);
        // A vector is one result there, and here as many as there are blocks.
        std::vector<Result> merged;
        for (const Result& result : wanted)
            if (!merged.empty() && real.size() < wanted.size() && merged.back().first == result.first &&
                merged.back().last == result.last && merged.back().out.end() == result.out.offset &&
                merged.back().offset + merged.back().out.length == result.offset)
                merged.back().out.length += result.out.length;
            else
                merged.push_back(result);
        if (merged == real) return {};
        return fmt::format("rank {}: {} results, not {}, or others", rank, merged.size(), real.size());
    }

  private:
    static std::uint64_t unsigned_of(std::int64_t value) {
        if (value < 0)
            throw Error(ErrorCode::invalid_argument, fmt::format("a negative number of blocks: {}", value));
        return static_cast<std::uint64_t>(value);
    }

    static bool is_reduce_scatter(Collective collective) {
        return collective == Collective::reduce_scatter || collective == Collective::reduce_scatter_block;
    }
    struct Part {
        std::string array;  // whose memory it is; empty: no blocks
        bool ghost = false;
        Program index;
        Program block;
        Program count;
    };
    struct Compiled {
        const Step* step = nullptr;
        std::size_t variable = 0;  // slot
        Program first;
        Program last;
        Program condition;
        Program peer;
        Program size;
        Program layout;
        Part target;
        Part old;
        Part source;
        Program receive;
        std::size_t received = 0;  // the step whose receive a wait completes
    };
    // A span of scratch whose blocks begin at begin(first), begin(first + 1), ...
    struct Memory {
        Span span;
        std::int64_t first = 0;
    };

    Program compile(const Expression& expression) const { return proofs::compile(expression, slots_); }
    Part compile(const Blocks& blocks) const {
        Part part;
        if (blocks.array.empty()) return part;
        part.array = blocks.array;
        const Array* array = certificate_.array(part.array);
        bool family = array != nullptr && !array->index.empty();
        while (array != nullptr && !array->base.empty()) {
            part.array = array->base;
            array = certificate_.array(part.array);
            family = array != nullptr && !array->index.empty();
        }
        part.ghost = array != nullptr && array->ghost;
        part.index = compile(family && blocks.index != nullptr ? blocks.index : number(0));
        part.block = compile(blocks.block);
        part.count = compile(blocks.count);
        return part;
    }

    void set_rank(int rank) {
        rank_ = rank;
        values_.slots[static_cast<std::size_t>(slots_.of("r"))] = rank;
    }
    void emit(const Compiled& step, Builder& builder) {
        const auto peer = [&] { return static_cast<int>(step.peer(values_)); };
        switch (step.step->kind) {
            case TaskKind::allocate: {
                const std::int64_t first = step.layout(values_);
                const std::int64_t size = step.size(values_);
                const std::int64_t index = step.step->variable.empty() ? 0 : values_.slots[step.variable];
                scratch_[step.step->label][index] = {builder.scratch(begin(first + size) - begin(first)),
                                                     first};
                break;
            }
            case TaskKind::recv:
                builder.recv(peer(), span(step.target));
                break;
            case TaskKind::send:
                builder.send(peer(), span(step.source));
                break;
            case TaskKind::wait: {
                const Compiled& receive = steps_[step.received];
                const std::int64_t value = step.receive(values_);
                std::int64_t& slot = values_.slots[receive.variable];
                const std::int64_t kept = slot;
                if (step.step->receive != nullptr) slot = value;
                const int from = static_cast<int>(receive.peer(values_));
                slot = kept;
                builder.wait(from);
                break;
            }
            case TaskKind::copy:
                if (!step.target.ghost) builder.copy(span(step.target), span(step.source));
                break;
            case TaskKind::reduce:
                builder.reduce(span(step.target), span(step.source));
                break;
            case TaskKind::join:
                break;
        }
    }

    // Where the blocks lie: as problem.hpp says of each collective.
    Span span(const Part& part) {
        if (part.ghost || problem_->collective == Collective::barrier) return {};
        const std::int64_t block = part.block(values_);
        const std::int64_t count = part.count(values_);
        const bool vector = !vector_.empty() || problem_->collective == Collective::broadcast;
        if (part.array == "in") {
            if (vector) return input(*problem_, rank_, begin(block), begin(block + count) - begin(block));
            const Collective collective = problem_->collective;
            const bool to_each = collective == Collective::alltoall || collective == Collective::alltoallv ||
                                 collective == Collective::scatter || collective == Collective::scatterv;
            Span span = block_to(*problem_, rank_, to_each ? static_cast<int>(block) : problem_->root);
            span.length += begin(block + count) - begin(block + 1);
            return span;
        }
        if (part.array == "out") {
            if (is_reduce_scatter(problem_->collective)) return out(0, vector_[0].bytes(rank_));
            if (vector) return out(begin(block), begin(block + count) - begin(block));
            Span span = block_from(*problem_, rank_, static_cast<int>(block));
            span.length += begin(block + count) - begin(block + 1);
            return span;
        }
        const Memory& memory = scratch_.at(part.array).at(part.index(values_));
        const std::uint64_t start = begin(memory.first);
        return memory.span.part(begin(memory.first + block) - start,
                                begin(memory.first + block + count) - begin(memory.first + block));
    }

    bool some(std::int64_t from, std::int64_t to) const {
        const Problem& p = *problem_;
        const auto is_rank = [&](std::int64_t number) { return number >= 0 && number < p.ranks; };
        if (to < 0) {
            if (!is_rank(from)) return false;
            if (!vector_.empty() || p.collective == Collective::broadcast)
                return begin(from + 1) > begin(from);
            return block_from(p, rank_, static_cast<int>(from)).length > 0;
        }
        if (!is_rank(from) || !is_rank(to)) return false;
        return block_to(p, static_cast<int>(from), static_cast<int>(to)).length > 0;
    }

    std::uint64_t begin(std::int64_t block) const {
        const std::uint64_t at = unsigned_of(block);
        if (!vector_.empty())
            return vector_[0].begin(static_cast<int>(std::min<std::int64_t>(block, vector_[0].count())));
        if (problem_->collective != Collective::broadcast) return at * problem_->bytes;
        const std::uint64_t parts = unsigned_of(parts_);
        return std::min(problem_->bytes, (problem_->bytes + parts - 1) / parts * at);
    }  // bytes before a block of the vector or of equal blocks

    const Certificate& certificate_;
    const Meaning& meaning_;
    Slots slots_;
    Values values_;
    std::vector<Compiled> steps_;
    Program applies_;
    Program parts_program_;
    const Problem* problem_ = nullptr;
    int rank_ = 0;
    std::int64_t parts_ = 1;
    std::vector<VectorBlocks> vector_;  // of reductions; none or one
    std::unordered_map<std::string, std::unordered_map<std::int64_t, Memory>> scratch_;
};

}  // namespace lapwing::proofs
