#include "links/tcp/handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace lapwing::tcp {
namespace {

constexpr unsigned char magic[8] = {'L', 'a', 'p', 'w', 'i', 'n', 'g', '\n'};
constexpr std::uint32_t version = 1;

// Numbers are sent in little-endian order.
template <typename Number>
unsigned char* put(unsigned char* to, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) *to++ = static_cast<unsigned char>(number >> (8 * i));
    return to;
}

template <typename Number>
const unsigned char* get(const unsigned char* from, Number& number) {
    number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i) number |= static_cast<Number>(*from++) << (8 * i);
    return from;
}

}  // namespace

static_assert(Handshake::proof_bytes == crypto_auth_hmacsha256_BYTES);
static_assert(Handshake::claim_bytes == sizeof magic + 4 * sizeof(std::uint32_t) + sizeof(std::uint64_t));

Nonce random_nonce() {
    Nonce nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

Handshake Handshake::connecting(const Key& key, const Claim& claim, const Nonce& nonce) {
    Handshake handshake(key, nonce, Step::challenge);
    handshake.claim_ = claim;
    unsigned char bytes[claim_bytes];
    unsigned char* at = std::copy(std::begin(magic), std::end(magic), bytes);
    at = put(at, version);
    at = put(at, claim.lane);
    at = put(at, claim.from);
    at = put(at, claim.to);
    put(at, claim.group);
    handshake.say(bytes, sizeof bytes);
    handshake.say(nonce.data(), nonce.size());
    handshake.say_proof("hello");
    return handshake;
}

Handshake Handshake::accepting(const Key& key, std::uint32_t self, std::uint32_t members,
                               const Nonce& nonce) {
    Handshake handshake(key, nonce, Step::hello);
    handshake.claim_.to = self;
    handshake.members_ = members;
    return handshake;
}

void Handshake::sent(std::size_t bytes) {
    output_.erase(output_.begin(),
                  output_.begin() + static_cast<std::ptrdiff_t>(std::min(bytes, output_.size())));
}

std::size_t Handshake::wanted() const {
    if (failure_ != nullptr || step_ == Step::done) return 0;
    const std::size_t bytes = step_ == Step::hello       ? hello_bytes
                              : step_ == Step::challenge ? challenge_bytes
                                                         : proof_bytes;
    return bytes - input_.size();
}

void Handshake::take(std::span<const unsigned char> bytes) {
    const std::span<const unsigned char> mine = bytes.first(std::min(bytes.size(), wanted()));
    input_.insert(input_.end(), mine.begin(), mine.end());
    if (failure_ != nullptr) return;
    // Another beginning fails at once.
    const auto begin = std::span(input_).first(std::min(input_.size(), sizeof magic));
    if (step_ == Step::hello && !std::equal(begin.begin(), begin.end(), magic))
        return fail("its first message is not a hello of Lapwing");
    if (wanted() > 0) return;
    if (step_ == Step::hello) {
        take_hello();
    } else if (step_ == Step::challenge) {
        take_challenge();
    } else if (step_ == Step::answer) {
        if (!proven("answer", input_.data()))
            return fail("it cannot answer the challenge: is it replaying a recorded hello?");
        say_proof("welcome");
        step_ = Step::done;
    } else if (step_ == Step::welcome) {
        if (!proven("welcome", input_.data())) return fail("its welcome does not prove the job's key");
        step_ = Step::done;
    }
    input_.clear();
}

void Handshake::take_hello() {
    std::uint32_t spoken = 0;
    Claim claim;
    const unsigned char* at = get(input_.data() + sizeof magic, spoken);
    at = get(at, claim.lane);
    at = get(at, claim.from);
    at = get(at, claim.to);
    get(at, claim.group);
    if (spoken != version)
        return fail("it runs another version of Lapwing; install the same version on all hosts");
    said(input_.data(), hello_bytes - proof_bytes);
    if (!proven("hello", input_.data() + hello_bytes - proof_bytes))
        return fail("it does not have the key of this job");
    if (claim.to != claim_.to) return fail("it belongs to this job, but asks for a different rank");
    if (claim.from == claim.to || claim.from >= members_)
        return fail("it belongs to this job, but must not connect to this rank");
    claim_ = claim;
    greeted_ = true;
    say(nonce_.data(), nonce_.size());
    say_proof("challenge");
    step_ = Step::answer;
}

void Handshake::take_challenge() {
    said(input_.data(), sizeof(Nonce));
    if (!proven("challenge", input_.data() + sizeof(Nonce)))
        return fail("its challenge does not prove the job's key");
    say_proof("answer");
    step_ = Step::welcome;
}

Handshake::Proof Handshake::proof(const char* of) const {
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key_->data(), key_->size());
    // The names have different lengths and end with zero: no two proofs cover the same bytes.
    crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char*>(of), std::strlen(of) + 1);
    crypto_auth_hmacsha256_update(&state, transcript_.data(), transcript_.size());
    Proof result;
    crypto_auth_hmacsha256_final(&state, result.data());
    sodium_memzero(&state, sizeof state);
    return result;
}

bool Handshake::proven(const char* of, const unsigned char* given) const {
    const Proof expected = proof(of);
    return sodium_memcmp(expected.data(), given, expected.size()) == 0;
}

void Handshake::said(const unsigned char* bytes, std::size_t count) {
    std::copy_n(bytes, count,
                std::back_inserter(transcript_));  // GCC 12 sees a fault in insert() that is none
}

void Handshake::say(const unsigned char* bytes, std::size_t count) {
    said(bytes, count);
    std::copy_n(bytes, count, std::back_inserter(output_));
}

void Handshake::say_proof(const char* of) {
    const Proof bytes = proof(of);
    output_.insert(output_.end(), bytes.begin(), bytes.end());
}

void Handshake::fail(const char* why) {
    failure_ = why;
    output_.clear();
    input_.clear();
}

}  // namespace lapwing::tcp
