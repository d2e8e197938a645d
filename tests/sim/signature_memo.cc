// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/signature_memo.h"

#include <cstring>
#include <unordered_map>

#include "base/bytes.h"

namespace ruvd::test {
namespace {

// 64 bytes each; forgotten together when there are more, which costs time and changes no answer.
constexpr size_t kMaxAnswers = size_t{1} << 20;

struct HashOfDigest {
  size_t operator()(const Digest& digest) const {
    size_t hash;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
  }
};

SignatureMemoCounters counters;

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

}  // namespace ruvd::test

// The names are the linker's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

int __real_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long length, const unsigned char* key);
int __real_crypto_core_ed25519_is_valid_point(const unsigned char* point);

int __wrap_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long length, const unsigned char* key) {
  static std::unordered_map<ruvd::Digest, int, ruvd::test::HashOfDigest> answers;
  const ruvd::Digest question = ruvd::Sha256({{signature, 64}, {key, 32}, {message, length}});
  return ruvd::test::Remembered(answers, question, [&] {
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
