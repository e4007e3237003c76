// The handshake of a connection, without the connection: bytes in, bytes out.
//
//   connecting                                   accepting
//   hello: claim, random number, proof    ->
//                                         <-     challenge: random number, proof
//   answer: proof                         ->
//                                         <-     welcome: proof
//
// A proof is an HMAC with the job's key of the message's name and all earlier messages of both sides. Every
// message has a fixed size. The sender of a recorded hello gets a challenge that it cannot answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "links/tcp/address.hpp"

namespace lapwing::tcp {

// The purpose of a connection. Members are ranks in the job.
struct Claim {
    std::uint64_t group = 0;
    std::uint32_t from = 0;  // who connects
    std::uint32_t to = 0;    // who accepts
    std::uint32_t lane = 0;

    friend bool operator==(const Claim&, const Claim&) = default;
};

using Nonce = std::array<unsigned char, 32>;
Nonce random_nonce();

class Handshake {
  public:
    // `key` must outlive the handshake.
    static Handshake connecting(const Key& key, const Claim& claim, const Nonce& nonce);
    // By member `self` of a job of `members`.
    static Handshake accepting(const Key& key, std::uint32_t self, std::uint32_t members, const Nonce& nonce);

    // The bytes to send now; the caller reports by sent() how many it has sent.
    std::span<const unsigned char> output() const { return output_; }
    void sent(std::size_t bytes);
    // How many bytes to read next, never more than belong to the handshake; the caller passes them to take().
    std::size_t wanted() const;
    void take(std::span<const unsigned char> bytes);

    // Both sides have proven themselves, and all bytes are sent.
    bool done() const { return step_ == Step::done && output().empty(); }
    // Why the handshake has failed; null if it has not. No bytes are sent or wanted afterwards.
    const char* failure() const { return failure_; }
    // Of the accepting side: the other side's hello is valid; it, or the recorded sender, knew the key.
    bool greeted() const { return greeted_; }
    // Of the connecting side: the other side has proven itself, and only its welcome is awaited; it may have
    // admitted the connection.
    bool answered() const { return step_ == Step::welcome; }
    // On the accepting side valid once greeted().
    const Claim& claim() const { return claim_; }

    static constexpr std::size_t proof_bytes = 32;
    static constexpr std::size_t claim_bytes = 32;  // with magic and version
    static constexpr std::size_t hello_bytes = claim_bytes + sizeof(Nonce) + proof_bytes;
    static constexpr std::size_t challenge_bytes = sizeof(Nonce) + proof_bytes;

  private:
    enum class Step { hello, challenge, answer, welcome, done };  // the message to receive next
    using Proof = std::array<unsigned char, proof_bytes>;
    using Bytes = std::vector<unsigned char>;

    Handshake(const Key& key, const Nonce& nonce, Step step) : key_(&key), nonce_(nonce), step_(step) {}
    Proof proof(const char* of) const;
    bool proven(const char* of, const unsigned char* given) const;
    void said(const unsigned char* bytes, std::size_t count);
    void say(const unsigned char* bytes, std::size_t count);
    void say_proof(const char* of);
    void fail(const char* why);
    void take_hello();
    void take_challenge();

    const Key* key_;
    Nonce nonce_;
    Step step_;
    Claim claim_;
    std::uint32_t members_ = 0;  // of the accepting side
    bool greeted_ = false;
    const char* failure_ = nullptr;
    Bytes input_;       // of the message to receive next
    Bytes output_;      // not yet sent
    Bytes transcript_;  // messages of both sides, without proofs
};

}  // namespace lapwing::tcp
