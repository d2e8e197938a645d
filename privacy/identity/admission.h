// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/identity/node_key.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::privacy {

// What a member may do; bits of AdmissionCert::roles. Nothing is implied by another bit.
namespace roles {
inline constexpr uint32_t kObserver = 1;     // link and receive
inline constexpr uint32_t kContributor = 2;  // offer updates and patterns
inline constexpr uint32_t kAggregator = 4;
inline constexpr uint32_t kAdmin = 8;
inline constexpr uint32_t kAll = 15;
inline constexpr uint32_t kMember = kObserver | kContributor;
}  // namespace roles

// Names a cluster: SHA-256("RUVDLLM-CLUSTER-v1\0" || public key of its issuer).
using ClusterId = Digest;

ClusterId ClusterIdOf(const PublicKey& issuer);

// INVALID_ARGUMENT unless it is 1 to kMaxNodeNameBytes printable ASCII characters without spaces.
absl::Status CheckNodeName(std::string_view name);

// The issuer's statement that a key belongs to the cluster. Fixed layout of kBytes bytes, given in
// docs/wire-format.md. A plain value.
struct AdmissionCert {
  static constexpr size_t kSignedBytes = 175;
  static constexpr size_t kBytes = kSignedBytes + sizeof(Signature);

  PublicKey node_key{};
  NodeId node_id{};
  std::string name;  // 1 to kMaxNodeNameBytes printable ASCII characters without blanks
  uint32_t roles = 0;
  int64_t not_before_ms = 0;  // Unix time, inclusive
  int64_t not_after_ms = 0;   // exclusive
  PublicKey issuer{};
  uint64_t serial = 0;
  Signature signature{};

  std::string Encode() const;
  // Reads exactly kBytes bytes. CERTIFICATE_INVALID for any other length, a field out of its range
  // or an id that is not the key's. Cheap, and trusts nothing yet: see Verify.
  static absl::StatusOr<AdmissionCert> Parse(std::span<const uint8_t> bytes);
  // The id that the bytes of a certificate, at least kBytes of them, claim: nothing is checked. For
  // telling what was seen before without the cost of Parse.
  static NodeId ClaimedNodeId(std::span<const uint8_t> bytes);
  // OK if `trusted_issuer` signed this and it is valid at `now_ms`. CERTIFICATE_FOREIGN for another
  // issuer, KEY_INVALID for an unusable key, SIGNATURE_INVALID, CERTIFICATE_EXPIRED (also for not
  // yet valid).
  absl::Status Verify(const PublicKey& trusted_issuer, int64_t now_ms) const;
  // The time part of Verify alone, for a certificate that was verified before.
  absl::Status CheckTime(int64_t now_ms) const;

  bool operator==(const AdmissionCert&) const = default;
};

// The issuer of a cluster's certificates. Its key file is kept by the operator, not by every node.
// Movable; thread-safe for concurrent const use.
class ClusterAuthority {
 public:
  static ClusterAuthority Generate() { return ClusterAuthority(SigningKey::Generate()); }
  static ClusterAuthority FromSeed(const KeySeed& seed) {
    return ClusterAuthority(SigningKey::FromSeed(seed));
  }
  // See SigningKey::LoadOrCreate and Load.
  static absl::StatusOr<ClusterAuthority> LoadOrCreate(const std::string& path);
  static absl::StatusOr<ClusterAuthority> Load(const std::string& path);

  const PublicKey& public_key() const { return key_.public_key(); }
  ClusterId cluster_id() const { return ClusterIdOf(public_key()); }

  struct Request {
    PublicKey node_key{};
    std::string name;
    uint32_t roles = roles::kMember;
    int64_t not_before_ms = 0;
    int64_t not_after_ms = 0;  // at most kMaxCertificateMillis after not_before_ms
    uint64_t serial = 0;       // unique per issuer; a later issue revokes by it
  };
  // Signs a certificate. INVALID_ARGUMENT or KEY_INVALID for a request that Parse would refuse.
  absl::StatusOr<AdmissionCert> Issue(const Request& request) const;

 private:
  explicit ClusterAuthority(SigningKey key) : key_(std::move(key)) {}
  SigningKey key_;
};

}  // namespace ruvd::privacy
