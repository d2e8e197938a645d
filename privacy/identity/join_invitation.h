// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::privacy {

// What an operator hands to whoever may join: a token and the cluster that it is for, so that it is
// shown to nobody but that cluster's authority. A plain value.
struct JoinInvitation {
  std::string token;  // of JoinTokens::Issue
  ClusterId cluster{};

  // The token, "-" and 64 hexadecimal digits of the cluster's id.
  std::string Encode() const;
  // TOKEN_INVALID for any other text. What the token is worth only its issuer knows.
  static absl::StatusOr<JoinInvitation> Parse(std::string_view text);
  bool operator==(const JoinInvitation&) const = default;
};

// The authority's word, given before the token is shown, that a TLS channel ends at it.
struct JoinWelcome {
  using Nonce = std::array<uint8_t, 32>;

  PublicKey authority{};
  Signature proof{};

  // `nonce` is the caller's, fresh; `certificate` the SHA-256 of the certificate (DER) that the
  // caller sees, which the authority must know as its own.
  static JoinWelcome Sign(const SigningKey& authority, const Nonce& nonce,
                          const Digest& certificate);
  // CERTIFICATE_FOREIGN if it is another cluster's authority, SIGNATURE_INVALID if somebody else
  // signed or the channel or nonce is another one, KEY_INVALID.
  absl::Status Verify(const ClusterId& cluster, const Nonce& nonce,
                      const Digest& certificate) const;
};

}  // namespace ruvd::privacy
