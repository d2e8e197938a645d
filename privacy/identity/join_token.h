// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::privacy {

// What is kept of a token that was handed out: never the token itself.
struct JoinGrant {
  uint32_t roles = roles::kMember;
  int64_t issued_ms = 0;
  int64_t expires_ms = 0;  // exclusive, at most kMaxTokenMillis later
  bool used = false;
  bool operator==(const JoinGrant&) const = default;
};
// By SHA-256("RUVDLLM-TOKEN-v1\0" || cluster id || the token's 32 bytes).
using JoinGrants = std::map<Digest, JoinGrant>;

std::string EncodeGrants(const JoinGrants& grants);
// TOKEN_INVALID unless the bytes are exactly what EncodeGrants makes.
absl::StatusOr<JoinGrants> DecodeGrants(std::span<const uint8_t> bytes);

// A node's request to join, signed with its key, which proves that it holds it.
struct JoinRequest {
  std::string token;  // as it was handed out
  PublicKey node_key{};
  std::string name;
  Signature proof{};

  static JoinRequest Sign(std::string token, std::string name, const ClusterId& cluster,
                          const NodeKey& key);
};

// The issuer's side of joining: each token admits one node, once, with the roles it was made for.
// Thread-safe: of two nodes that come with one token at the same time one is admitted.
class JoinTokens {
 public:
  // Keeps grants durably; the token of an admission that could not be kept stays used.
  using Keep = std::function<absl::Status(std::string_view grants)>;

  // `authority` outlives it.
  JoinTokens(const ClusterAuthority& authority, JoinGrants grants, Keep keep)
      : authority_(authority), keep_(std::move(keep)), grants_(std::move(grants)) {}

  // A new token, "ruvd-join-" and 64 hexadecimal digits: this is the only time that it exists here.
  // Drops what is over. INVALID_ARGUMENT for unknown roles or a lifetime that is not above 0 and at
  // most kMaxTokenMillis, LIMIT_EXCEEDED, errors of `keep`.
  absl::StatusOr<std::string> Issue(uint32_t roles, int64_t now_ms, int64_t lifetime_ms);

  // Certifies the node for kMaxCertificateMillis and uses the token up. TOKEN_INVALID, TOKEN_USED,
  // TOKEN_EXPIRED, SIGNATURE_INVALID, KEY_INVALID, CERTIFICATE_INVALID for an unusable name: the
  // token is used up by none of these. After an error of `keep` it is.
  // Who is on `revoked`: NODE_REVOKED, after all else and before the token is used up.
  absl::StatusOr<AdmissionCert> Redeem(const JoinRequest& request, int64_t now_ms, uint64_t serial,
                                       const RevocationList& revoked = {});

  JoinGrants grants() const;

 private:
  const ClusterAuthority& authority_;
  const Keep keep_;
  mutable Mutex mutex_;
  JoinGrants grants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::privacy
