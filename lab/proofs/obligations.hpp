// What must hold for a certificate to prove its algorithm, as formulas without quantifiers, and whether Z3
// finds that it holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "proofs/certificate.hpp"

namespace lapwing::proofs {

struct Obligation {
    std::string rule;  // form, matching, deadlock, hazard or provenance, as the checker's; in_place
    std::string what;  // one line
    Expression given;
    Expression claim;  // must follow for all values of the variables
};

// Throws Error (invalid_argument) if the certificate is no list, such as a receive below the top.
std::vector<Obligation> obligations_of(const Certificate& certificate);

bool has_bits(const Obligation& obligation);
// The negated obligation in SMT-LIB: declarations, assertions, "(check-sat)". If it is unsatisfiable, the
// obligation holds. Over bits, variables are at most 2^max_bits. `asked` gets the names of its numbers, of
// which a model would be the counter-example.
std::string to_smt(const Obligation& obligation, Sort sort, unsigned max_bits,
                   std::vector<std::string>* asked = nullptr);

// Truths about the bits of numbers, which a solver that reasons about integers does not know: what must be
// proven of these lemmas themselves, over vectors of bits.
std::vector<Obligation> lemmas();
// The lemmas for the numbers whose bits these formulas name.
std::vector<Expression> lemmas_for(const std::vector<Expression>& formulas);

// Returns null if Z3 proves the obligation; else the counter-example, such as "P=3 r=1 s=2", or what the
// solver says. Threads may call it at the same time: each has its own solver.
std::optional<std::string> counter_example(const Obligation& obligation);

}  // namespace lapwing::proofs
