// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::privacy {

// The name of a cluster: SHA-256("RUVDLLM-CLUSTER-v1\0" || public key of its root).
using ClusterId = Digest;

ClusterId ClusterIdOf(const PublicKey& root);

// The statement of a cluster's root that a key is an issuer: it admits nodes and signs revocation
// lists. The root's key names the cluster for ever, and may lie in a safe; an issuer's key is on
// line and is replaced now and then, or when it was stolen. It has a fixed layout of kBytes bytes,
// which docs/wire-format.md describes. It is a plain value.
struct IssuerCert {
  static constexpr size_t kSignedBytes = 18 + 2 * 32 + 2 * 4 + 2 * 8;
  static constexpr size_t kBytes = kSignedBytes + sizeof(Signature);

  PublicKey root{};
  PublicKey key{};
  uint32_t number = 0;  // each issuer has the next number; the first has 0
  // Issuers with a lower number are ended by this one: what they signed counts no more. It is
  // `number`, or one less, so that at most two issuers are good at a time.
  uint32_t least = 0;
  int64_t not_before_ms = 0;  // Unix time, inclusive
  int64_t not_after_ms = 0;   // exclusive
  Signature signature{};

  // Signs a statement with the key of the root, which becomes `root`. Fails as Parse does.
  static absl::StatusOr<IssuerCert> Sign(IssuerCert fields, const SigningKey& root);
  std::string Encode() const;
  // Decodes exactly kBytes bytes. Fails with CERTIFICATE_INVALID for any other length or a field
  // out of its range. It checks no signature: see Verify.
  static absl::StatusOr<IssuerCert> Parse(std::span<const uint8_t> bytes);
  // Returns OK if `trusted_root` signed this. Otherwise returns CERTIFICATE_FOREIGN for another
  // root, KEY_INVALID for an unusable key, or SIGNATURE_INVALID. It looks at no clock.
  absl::Status Verify(const PublicKey& trusted_root) const;
  // Returns whether something that the issuer signed then was signed in its time.
  bool IsValidAt(int64_t ms) const { return ms >= not_before_ms && ms < not_after_ms; }

  bool operator==(const IssuerCert&) const = default;
};

}  // namespace ruvd::privacy
