// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"

namespace ruvd::privacy {

// No key has this epoch: a node whose keys are ended up to it is revoked for good.
inline constexpr uint32_t kEveryEpoch = 0xFFFFFFFF;

// A node that is revoked, or whose former keys are. Every certificate that is refused because of it
// has ended at `ends_ms`, because its issuer signs no other one.
struct RevokedNode {
  NodeId id{};
  int64_t ends_ms = 0;                 // Unix time
  uint32_t least_epoch = kEveryEpoch;  // certificates of keys of earlier epochs are refused
  bool operator==(const RevokedNode&) const = default;
};

// A node whose keys before `least_epoch` shall count no more
struct EndedKeys {
  NodeId id{};
  uint32_t least_epoch = 0;
};

// What a cluster no longer accepts: nodes, former keys of nodes, and issuers that its root ended.
// An issuer of the cluster signs it. It names each revoked node as long as a certificate of it may
// be valid. A certificate that ended by `covers_from_ms` is not covered: it must be refused
// whatever the receiver's clock says, because its node may have been revoked and left out since. So
// a revoked node never returns under its id. Certificates of an issuer below `issuer.least` are
// refused as well. It is a plain value; docs/wire-format.md has the bytes.
struct RevocationList {
  IssuerCert issuer;    // who signed it
  uint64_t number = 0;  // 0 is no list; the issuer's number is in its upper 32 bits
  int64_t issued_ms = 0;
  int64_t covers_from_ms = 0;      // kCertificateClockSkewMillis before issued_ms, or later
  std::vector<RevokedNode> nodes;  // ascending by id, at most kMaxRevokedNodes
  Signature signature{};

  std::string Encode() const;
  // Decodes a list. Fails with REVOCATION_INVALID unless the bytes are exactly one list, and with
  // LIMIT_EXCEEDED.
  static absl::StatusOr<RevocationList> Parse(std::span<const uint8_t> bytes);
  // Returns OK if an issuer of `trusted_root` signed the list in its time, otherwise
  // CERTIFICATE_FOREIGN, KEY_INVALID, SIGNATURE_INVALID or ISSUER_ENDED.
  absl::Status Verify(const PublicKey& trusted_root) const;
  // Returns how often the issuer signed before, plus 1; the number without that of the issuer.
  uint32_t edition() const { return static_cast<uint32_t>(number); }
  // Returns whether the node is revoked for good, under any key.
  bool Revokes(const NodeId& node) const { return LeastEpoch(node) == kEveryEpoch; }
  // Returns the epoch of the first key of a node that counts; 0 if the list does not name the node.
  uint32_t LeastEpoch(const NodeId& node) const;
  // Returns whether a certificate that ends then must be refused because it is not covered.
  bool IsUncovered(const AdmissionCert& certificate) const {
    return certificate.not_after_ms <= covers_from_ms;
  }
  bool operator==(const RevocationList&) const = default;
};

// Returns the list that follows `former` (number 0: the first one), adds `nodes` and ends `keys`,
// and leaves out nodes whose certificates have ended. Fails with LIMIT_EXCEEDED for more than
// kMaxRevokedNodes, and with ISSUER_ENDED if the authority's time is over or a later issuer signed
// `former`.
absl::StatusOr<RevocationList> RevokeNodes(const RevocationList& former,
                                           const std::vector<NodeId>& nodes, int64_t now_ms,
                                           const ClusterAuthority& authority,
                                           const std::vector<EndedKeys>& keys = {});

// The newest revocation list that a node knows. Not thread-safe.
class Revocations {
 public:
  explicit Revocations(const PublicKey& root) : root_(root) {}

  // Takes a newer list. Fails with REVOCATION_INVALID for a list that is older, of an issuer that
  // was ended, leaves out a node whose certificate it covers or revokes less of it, or differs from
  // the known list of the same number, and as Verify does. Taking the known list again changes
  // nothing. What an issuer signed that the list ends counts no more: a thief of its key may have
  // revoked everybody.
  absl::Status Take(const RevocationList& list);

  // Notes what the root says in the statement about an issuer, which was verified: earlier issuers
  // may be ended, whatever list is known. Returns whether that is news.
  bool Learn(const IssuerCert& issuer);
  // Issuers with a lower number are ended, as far as this node knows.
  uint32_t least_issuer() const { return least_issuer_; }

  // Returns OK if the holder of this certificate may be trusted. Otherwise returns NODE_REVOKED,
  // ISSUER_ENDED for a certificate of an issuer
  // that was ended, or CERTIFICATE_EXPIRED for one that the list does not cover.
  absl::Status Require(const AdmissionCert& certificate) const;

  // Returns REVOCATION_STALE if no list is known or the known one is older than `max_stale_ms` (0
  // accepts any age, and no list): a cut-off part of the cluster must not link to a node that was
  // revoked elsewhere.
  absl::Status RequireFresh(int64_t now_ms, int64_t max_stale_ms) const;

  const RevocationList& list() const { return list_; }

 private:
  PublicKey root_;
  uint32_t least_issuer_ = 0;
  RevocationList list_;
};

// All nodes that a cluster ever revoked, which its issuer remembers: it never certifies them again.
using RevokedNodes = std::set<NodeId>;

std::string EncodeRevokedNodes(const RevokedNodes& nodes);
// Fails with REVOCATION_INVALID unless the bytes are exactly what EncodeRevokedNodes returns.
absl::StatusOr<RevokedNodes> DecodeRevokedNodes(std::span<const uint8_t> bytes);

}  // namespace ruvd::privacy
