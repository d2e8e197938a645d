// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::privacy {

// A node proves in the TLS handshake of a link who it is: its TLS certificate carries one of the
// credentials below, which binds the TLS key to it. `tls_key` is the SHA-256 of the public key of
// TLS (SubjectPublicKeyInfo, RFC 5280, section 4.1). TLS itself proves that the other end holds
// that key, so a credential is useless to anybody else. All are plain values; docs/wire-format.md
// has the bytes.

// A member's: its admission certificate, and its signature over the TLS key. The key of the node
// itself never leaves the node's own code this way.
struct MemberCredential {
  static constexpr size_t kBytes = 16 + AdmissionCert::kBytes + sizeof(Signature);

  AdmissionCert certificate;
  Signature proof{};

  static MemberCredential Sign(const AdmissionCert& certificate, const Digest& tls_key,
                               const NodeKey& key);
  // Returns OK if the certificate is one of `cluster` that is valid at `now_ms`, and its node
  // signed the TLS key. Otherwise returns the errors of AdmissionCert::Verify, or
  // SIGNATURE_INVALID.
  absl::Status Verify(const ClusterId& cluster, const Digest& tls_key, int64_t now_ms) const;
  bool operator==(const MemberCredential&) const = default;
};

// That of a node with a join token: the name of the token, and a proof that the node knows the
// token. Neither tells what the token is.
struct ApplicantCredential {
  static constexpr size_t kBytes = 16 + 2 * sizeof(Digest);

  Digest token_name{};
  Digest proof{};

  // `token_hash` is the hash by which the issuer stores the token (JoinGrants).
  static ApplicantCredential Of(const Digest& token_hash, const Digest& tls_key);
  // Returns the name of a token, by which the issuer finds it.
  static Digest NameOf(const Digest& token_hash);
  // Returns whether the maker of this credential for the TLS key knows the token with this hash.
  bool Proves(const Digest& token_hash, const Digest& tls_key) const;
  bool operator==(const ApplicantCredential&) const = default;
};

using LinkCredential = std::variant<MemberCredential, ApplicantCredential>;

std::string EncodeLinkCredential(const LinkCredential& credential);
// Decodes exactly one credential. Fails with CERTIFICATE_INVALID for any other bytes. It checks no
// signature.
absl::StatusOr<LinkCredential> ParseLinkCredential(std::span<const uint8_t> bytes);

}  // namespace ruvd::privacy
