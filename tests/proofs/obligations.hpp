// What must hold for a certificate to prove its algorithm, as formulas without quantifiers.
#pragma once

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

}  // namespace lapwing::proofs
