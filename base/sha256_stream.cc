// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/sha256_stream.h"

#include <openssl/evp.h>

#include "base/status.h"

namespace ruvd {

struct Sha256Stream::State {
  State() : context(EVP_MD_CTX_new()) { RUVD_CHECK(context != nullptr); }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  EVP_MD_CTX* const context;
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  RUVD_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::Add(std::string_view bytes) {
  RUVD_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Digest Sha256Stream::Current() const {
  const State copy;
  RUVD_CHECK(EVP_MD_CTX_copy_ex(copy.context, state_->context) == 1);
  Digest digest;
  unsigned int length = 0;
  RUVD_CHECK(EVP_DigestFinal_ex(copy.context, digest.data(), &length) == 1 &&
             length == digest.size());
  return digest;
}

}  // namespace ruvd
