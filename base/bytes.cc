// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/bytes.h"

#include <openssl/evp.h>

#include <memory>

#include "base/status.h"

namespace ruvd {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return -1;
}

}  // namespace

std::string ToHex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (uint8_t b : bytes) {
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

std::optional<std::string> FromHex(std::string_view hex) {
  if (hex.size() % 2 != 0) {
    return std::nullopt;
  }
  std::string out;
  out.reserve(hex.size() / 2);
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = HexValue(hex[i]);
    const int low = HexValue(hex[i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

namespace {

// Looking the algorithm up and making a context took twice as long as hashing an envelope does, so
// both are kept: the first for the process, the second for each thread.
const EVP_MD* Sha256Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  RUVD_CHECK(algorithm != nullptr);
  return algorithm;
}

EVP_MD_CTX* ContextOfThread() {
  static thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  RUVD_CHECK(context != nullptr);
  return context.get();
}

}  // namespace

Digest Sha256(std::initializer_list<std::span<const uint8_t>> parts) {
  Digest digest{};
  EVP_MD_CTX* const context = ContextOfThread();
  RUVD_CHECK(EVP_DigestInit_ex2(context, Sha256Algorithm(), nullptr) == 1);
  for (const auto& part : parts) {
    RUVD_CHECK(EVP_DigestUpdate(context, part.data(), part.size()) == 1);
  }
  unsigned int length = 0;
  RUVD_CHECK(EVP_DigestFinal_ex(context, digest.data(), &length) == 1 && length == digest.size());
  return digest;
}

Digest Sha256(std::span<const uint8_t> bytes) {
  return Sha256({bytes});
}
Digest Sha256(std::string_view text) {
  return Sha256({AsBytes(text)});
}

}  // namespace ruvd
