// What a certificate says of its arrays and messages, for any rank.
#pragma once

#include <string>
#include <vector>

#include "proofs/instance.hpp"

namespace lapwing::proofs {

class Claims {
  protected:
    explicit Claims(const Certificate& certificate)
        : certificate_(certificate), meaning_(meaning_of(certificate.algorithms.front().first)) {}

    struct Content {
        Expression holds;
        Expression origin;
    };
    struct Chosen {
        Expression condition;
        Instance writer;
    };

    [[noreturn]] static void refuse(const std::string& why);
    static bool writes(const Step& step);
    // The array whose memory this is.
    std::string storage(const std::string& name) const;
    bool is_family(const std::string& name) const;
    Expression size_of(const Blocks& blocks, const Expression& rank) const;
    Content content(const std::string& name, const Expression& index, const Expression& block,
                    const Expression& rank) const;
    Content content(const Blocks& span, const Expression& rank) const;
    // What wrote a block, in cases.
    std::vector<Chosen> writers(const std::string& name, const Expression& index, const Expression& block,
                                const Expression& rank) const;
    // A task of rank r, whose loop variable has any value. The second of two gets another name.
    static Instance any(const Step& step, const std::string& mark = "", Expression rank = here);
    // The tasks of a rank that may send or receive the message with this tag, if they exist.
    std::vector<Instance> matching(TaskKind kind, const Expression& rank, const Expression& tag) const;
    // Whether `task` is the other end of the message between r and its peer.
    static Expression meets(const Instance& task, const Expression& tag);
    Expression count_of(const Instance& task) const;
    std::vector<Instance> waits_for(const Step& receive, const Expression& value,
                                    const Expression& rank) const;
    // Whether a wait that exists completes this receive.
    static Expression completes(const Instance& wait, const Expression& value);
    Instance received(const Instance& wait) const;
    // Whether the writer exists, writes the block, and is complete before the reader; without reader: at the
    // end.
    Expression written(const Instance& writer, const Expression& index, const Expression& block,
                       const Instance* reader) const;
    // Any block of a span.
    static Expression offset() { return variable("j"); }
    static Expression within(const Blocks& span) {
        return all_of({at_most(number(0), offset()), less(offset(), span.count)});
    }

    const Certificate& certificate_;
    const Meaning& meaning_;
};

}  // namespace lapwing::proofs
