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

// What an operator gives to a node that may join: a token and the id of its cluster, so that the
// node shows the token only to that cluster's authority. It is a plain value.
struct JoinInvitation {
  std::string token;  // from JoinTokens::Issue
  ClusterId cluster{};
  uint32_t issuer = 0;  // the number of the issuer that invites; an earlier one gets no token

  // Returns the token, "-", the 64 hexadecimal digits of the cluster's id and 8 of the issuer's
  // number.
  std::string Encode() const;
  // Decodes an invitation. Fails with TOKEN_INVALID for any other text. Only the issuer can tell
  // whether the token is valid.
  static absl::StatusOr<JoinInvitation> Parse(std::string_view text);
  bool operator==(const JoinInvitation&) const = default;
};

// The authority's signed statement that it is the other end of a TLS channel. The authority sends
// it before the caller shows its token.
struct JoinWelcome {
  using Nonce = std::array<uint8_t, 32>;

  IssuerCert issuer;  // the authority
  Signature proof{};

  // `nonce` is fresh and chosen by the caller. `certificate` is the SHA-256 of the certificate
  // (DER) that the caller sees; the authority must have checked that it is its own.
  static JoinWelcome Sign(const ClusterAuthority& authority, const Nonce& nonce,
                          const Digest& certificate);
  // Returns CERTIFICATE_FOREIGN for the authority of another cluster, SIGNATURE_INVALID if the
  // authority did not sign this channel and nonce, ISSUER_ENDED if its time is over at `now_ms`, or
  // KEY_INVALID.
  absl::Status Verify(const ClusterId& cluster, const Nonce& nonce, const Digest& certificate,
                      int64_t now_ms) const;
};

}  // namespace ruvd::privacy
