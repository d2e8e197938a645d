// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/identity/issuer_cert.h"
#include "privacy/identity/node_id.h"
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

// Returns INVALID_ARGUMENT unless `name` has 1 to kMaxNodeNameBytes printable ASCII characters and
// no space.
absl::Status CheckNodeName(std::string_view name);

// An issuer's signed statement that a key belongs to the cluster. It carries what the root says
// about the issuer, so that the root's public key is enough to check it. It has a fixed layout of
// kBytes bytes, which docs/wire-format.md describes. It is a plain value.
struct AdmissionCert {
  static constexpr size_t kSignedBytes = 147 + IssuerCert::kBytes;
  static constexpr size_t kBytes = kSignedBytes + sizeof(Signature);

  PublicKey node_key{};
  NodeId node_id{};
  uint32_t key_epoch = 0;  // of node_key; the id is that of the key of epoch 0
  std::string name;        // see CheckNodeName
  uint32_t roles = 0;
  int64_t not_before_ms = 0;  // Unix time, inclusive
  int64_t not_after_ms = 0;   // exclusive; both are in the issuer's time
  IssuerCert issuer;
  uint64_t serial = 0;
  Signature signature{};

  std::string Encode() const;
  // Decodes exactly kBytes bytes. Fails with CERTIFICATE_INVALID for any other length, a field out
  // of its range, or an id that is not that of a first key. It is cheap and checks no signature:
  // see Verify.
  static absl::StatusOr<AdmissionCert> Parse(std::span<const uint8_t> bytes);
  // Returns the id that an encoded certificate of at least kBytes bytes claims. It checks nothing.
  // It tells whether a certificate was seen before without the cost of Parse.
  static NodeId ClaimedNodeId(std::span<const uint8_t> bytes);
  // Returns OK if an issuer of `trusted_root` signed this certificate and it is valid at `now_ms`.
  // Otherwise returns CERTIFICATE_FOREIGN for another cluster, KEY_INVALID for an unusable key,
  // SIGNATURE_INVALID, or CERTIFICATE_EXPIRED (also if it is not valid yet). Whether the issuer was
  // ended since is in the revocation list: see Revocations::Require.
  absl::Status Verify(const PublicKey& trusted_root, int64_t now_ms) const;
  // Checks only the time, for a certificate that was verified before.
  absl::Status CheckTime(int64_t now_ms) const;
  // Returns whether a node should use this one in place of `former`: it is of a later key or
  // issuer, or ends later.
  bool Supersedes(const AdmissionCert& former) const;

  bool operator==(const AdmissionCert&) const = default;
};

// An issuer with its key, which makes it the authority of its cluster. One node has its files; most
// have not. It can be moved and is thread-safe for concurrent const use.
class ClusterAuthority {
 public:
  // Both are for tests: an issuer that is its own root and never ends.
  static ClusterAuthority Generate() { return OwnRoot(SigningKey::Generate()); }
  static ClusterAuthority FromSeed(const KeySeed& seed) {
    return OwnRoot(SigningKey::FromSeed(seed));
  }
  // KEY_INVALID if the statement is about another key, and the errors of IssuerCert::Verify.
  static absl::StatusOr<ClusterAuthority> Create(const IssuerCert& issuer, SigningKey key);
  // Reads the key at `path` and the statement of the root beside it, whose name ends in ".cert" in
  // place of ".key". Returns the errors of SigningKey::Load, FILE_NOT_FOUND and
  // CERTIFICATE_INVALID, and those of Create.
  static absl::StatusOr<ClusterAuthority> Load(const std::string& path);

  // The public key of the root, which names the cluster
  const PublicKey& public_key() const { return issuer_.root; }
  ClusterId cluster_id() const { return ClusterIdOf(public_key()); }
  const IssuerCert& issuer() const { return issuer_; }
  // Signs something other than a certificate.
  Signature Sign(std::span<const uint8_t> message) const { return key_.Sign(message); }

  struct Request {
    PublicKey node_key{};
    std::optional<NodeId> node_id;  // must be given for a key of a later epoch
    uint32_t key_epoch = 0;
    std::string name;
    uint32_t roles = roles::kMember;
    int64_t not_before_ms = 0;
    int64_t not_after_ms = 0;  // at most kMaxCertificateMillis after not_before_ms
    uint64_t serial = 0;       // unique for each issuer
  };
  // Signs a certificate, which ends with the issuer at the latest. Fails with ISSUER_ENDED if the
  // issuer's time is over, and with CERTIFICATE_INVALID or KEY_INVALID for a request that Parse
  // would refuse.
  absl::StatusOr<AdmissionCert> Issue(const Request& request) const;

 private:
  ClusterAuthority(IssuerCert issuer, SigningKey key)
      : issuer_(std::move(issuer)), key_(std::move(key)) {}
  static ClusterAuthority OwnRoot(SigningKey key);

  IssuerCert issuer_;
  SigningKey key_;
};

}  // namespace ruvd::privacy
