// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"

// This header is internal to privacy/seal: the only place that encrypts and decrypts values.
namespace ruvd::privacy::seal {

// Appends nonce | ciphertext | tag to `out`. `key` has kSealKeyBytes bytes.
void AppendSealed(const uint8_t* key, const SealContext& context, std::string_view plaintext,
                  std::string* out);

// Returns the plaintext. Fails with SEAL_BROKEN for bytes that AppendSealed did not make with this
// key and context.
absl::StatusOr<std::string> OpenSealed(const uint8_t* key, const SealContext& context,
                                       std::string_view sealed);

}  // namespace ruvd::privacy::seal
