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

// What a member may do: bits of AdmissionCert::roles. No bit implies another one.
namespace roles {
inline constexpr uint32_t kObserver = 1;     // link and receive
inline constexpr uint32_t kContributor = 2;  // offer updates and patterns
inline constexpr uint32_t kAggregator = 4;
inline constexpr uint32_t kAdmin = 8;
inline constexpr uint32_t kAll = 15;
inline constexpr uint32_t kMember = kObserver | kContributor;
}  // namespace roles

// The name of a cluster: SHA-256("RUVDLLM-CLUSTER-v1\0" || public key of its issuer).
using ClusterId = Digest;

ClusterId ClusterIdOf(const PublicKey& issuer);

// Returns INVALID_ARGUMENT unless `name` has 1 to kMaxNodeNameBytes printable ASCII characters and
// no space.
absl::Status CheckNodeName(std::string_view name);

// The issuer's signed statement that a key belongs to the cluster. It has a fixed layout of kBytes
// bytes, which docs/wire-format.md describes. It is a plain value.
struct AdmissionCert {
  static constexpr size_t kSignedBytes = 175;
  static constexpr size_t kBytes = kSignedBytes + sizeof(Signature);

  PublicKey node_key{};
  NodeId node_id{};
  std::string name;  // see CheckNodeName
  uint32_t roles = 0;
  int64_t not_before_ms = 0;  // Unix time, inclusive
  int64_t not_after_ms = 0;   // exclusive
  PublicKey issuer{};
  uint64_t serial = 0;
  Signature signature{};

  std::string Encode() const;
  // Decodes exactly kBytes bytes. Fails with CERTIFICATE_INVALID for any other length, a field out
  // of its range or an id that is not the key's. It is cheap and checks no signature: see Verify.
  static absl::StatusOr<AdmissionCert> Parse(std::span<const uint8_t> bytes);
  // Returns the id that an encoded certificate of at least kBytes bytes claims. It checks nothing.
  // It tells whether a certificate was seen before without the cost of Parse.
  static NodeId ClaimedNodeId(std::span<const uint8_t> bytes);
  // Returns OK if `trusted_issuer` signed this certificate and it is valid at `now_ms`. Otherwise
  // returns CERTIFICATE_FOREIGN for another issuer, KEY_INVALID for an unusable key,
  // SIGNATURE_INVALID, or CERTIFICATE_EXPIRED (also if it is not valid yet).
  absl::Status Verify(const PublicKey& trusted_issuer, int64_t now_ms) const;
  // Checks only the time, for a certificate that was verified before.
  absl::Status CheckTime(int64_t now_ms) const;

  bool operator==(const AdmissionCert&) const = default;
};

// The issuer of a cluster's certificates. The operator keeps its key file; most nodes do not have
// it. It can be moved and is thread-safe for concurrent const use.
class ClusterAuthority {
 public:
  static ClusterAuthority Generate() { return ClusterAuthority(SigningKey::Generate()); }
  static ClusterAuthority FromSeed(const KeySeed& seed) {
    return ClusterAuthority(SigningKey::FromSeed(seed));
  }
  // Both read a key file: see SigningKey::LoadOrCreate and Load.
  static absl::StatusOr<ClusterAuthority> LoadOrCreate(const std::string& path);
  static absl::StatusOr<ClusterAuthority> Load(const std::string& path);

  const PublicKey& public_key() const { return key_.public_key(); }
  ClusterId cluster_id() const { return ClusterIdOf(public_key()); }
  // The key itself, for signatures other than certificates
  const SigningKey& key() const { return key_; }

  struct Request {
    PublicKey node_key{};
    std::string name;
    uint32_t roles = roles::kMember;
    int64_t not_before_ms = 0;
    int64_t not_after_ms = 0;  // at most kMaxCertificateMillis after not_before_ms
    uint64_t serial = 0;       // unique for each issuer
  };
  // Signs a certificate. Fails with CERTIFICATE_INVALID or KEY_INVALID for a request that Parse
  // would refuse.
  absl::StatusOr<AdmissionCert> Issue(const Request& request) const;

 private:
  explicit ClusterAuthority(SigningKey key) : key_(std::move(key)) {}
  SigningKey key_;
};

}  // namespace ruvd::privacy
