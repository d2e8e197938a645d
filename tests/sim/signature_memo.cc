// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/signature_memo.h"

#include <array>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "privacy/identity/signing_key.h"
#include "tests/sim/sim_network.h"

namespace ruvd::test {
namespace {

// Answers have 64 bytes each. When there are more than this, all are forgotten, which costs time
// and changes no answer.
constexpr size_t kMaxAnswers = size_t{1} << 20;

struct HashOfDigest {
  size_t operator()(const Digest& digest) const {
    size_t hash;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
  }
};

SignatureMemoCounters counters;
bool simulated = false;

using SimulatedSignature = std::array<uint64_t, 8>;
static_assert(sizeof(SimulatedSignature) == sizeof(privacy::Signature));

privacy::PublicKey KeyAt(const unsigned char* bytes) {
  privacy::PublicKey key;
  std::memcpy(key.data(), bytes, key.size());
  return key;
}

// For every key that has signed, this holds what its simulated signatures depend on.
std::unordered_map<privacy::PublicKey, uint64_t, HashOfDigest>& Secrets() {
  static std::unordered_map<privacy::PublicKey, uint64_t, HashOfDigest> secrets;
  return secrets;
}

SimulatedSignature Simulate(uint64_t secret, std::string_view message) {
  SimulatedSignature words;
  words.fill(secret ^ HashOfBytes(message));
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = (words[i] + i) * 0x9E3779B97F4A7C15ULL;
  }
  return words;
}

std::string_view TextOf(const unsigned char* message, unsigned long long length) {
  return {reinterpret_cast<const char*>(message), static_cast<size_t>(length)};
}

template <typename Compute>
int Remembered(std::unordered_map<Digest, int, HashOfDigest>& answers, const Digest& question,
               const Compute& compute) {
  ++counters.asked;
  const auto found = answers.find(question);
  if (found != answers.end()) {
    return found->second;
  }
  ++counters.computed;
  if (answers.size() >= kMaxAnswers) {
    answers.clear();
  }
  return answers[question] = compute();
}

}  // namespace

const SignatureMemoCounters& SignatureMemo() {
  return counters;
}

void SimulateSignatures(bool simulate) {
  simulated = simulate;
}

}  // namespace ruvd::test

// The names are the linker's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

int __real_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long length, const unsigned char* key);
int __real_crypto_sign_detached(unsigned char* signature, unsigned long long* length_out,
                                const unsigned char* message, unsigned long long length,
                                const unsigned char* key);
int __real_crypto_core_ed25519_is_valid_point(const unsigned char* point);

// libsodium's secret key is the seed, followed by the public key.
int __wrap_crypto_sign_detached(unsigned char* signature, unsigned long long* length_out,
                                const unsigned char* message, unsigned long long length,
                                const unsigned char* key) {
  using namespace ruvd::test;
  if (!simulated) {
    return __real_crypto_sign_detached(signature, length_out, message, length, key);
  }
  const auto secret = Secrets().try_emplace(KeyAt(key + 32), HashOfBytes(TextOf(key, 32))).first;
  const SimulatedSignature words = Simulate(secret->second, TextOf(message, length));
  std::memcpy(signature, words.data(), sizeof(words));
  if (length_out != nullptr) {
    *length_out = sizeof(words);
  }
  return 0;
}

int __wrap_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long length, const unsigned char* key) {
  using namespace ruvd::test;
  if (simulated) {
    if (const auto secret = Secrets().find(KeyAt(key)); secret != Secrets().end()) {
      ++counters.asked;
      const SimulatedSignature words = Simulate(secret->second, TextOf(message, length));
      return std::memcmp(signature, words.data(), sizeof(words)) == 0 ? 0 : -1;
    }
  }
  static std::unordered_map<ruvd::Digest, int, HashOfDigest> answers;
  const ruvd::Digest question = ruvd::Sha256({{signature, 64}, {key, 32}, {message, length}});
  return Remembered(answers, question, [&] {
    return __real_crypto_sign_verify_detached(signature, message, length, key);
  });
}

int __wrap_crypto_core_ed25519_is_valid_point(const unsigned char* point) {
  static std::unordered_map<ruvd::Digest, int, ruvd::test::HashOfDigest> answers;
  ruvd::Digest question;
  std::memcpy(question.data(), point, question.size());
  return ruvd::test::Remembered(answers, question,
                                [&] { return __real_crypto_core_ed25519_is_valid_point(point); });
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
