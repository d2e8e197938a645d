// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/instant.h"
#include "federation/link/certificates.h"
#include "federation/local_node.h"
#include "privacy/envelope/equivocation.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {

// Proof that a member signed two messages under one number, with the certificate that holds its
// key.
struct Conviction {
  std::string certificate;  // encoded
  privacy::Equivocation equivocation;
};

// Returns evidence of equivocation if two verified envelopes of one sender, boot and number differ.
std::optional<privacy::Equivocation> EquivocationOf(const privacy::Envelope& one,
                                                    const privacy::Envelope& other);

// Keeps one proof for each member that is known to have equivocated. A proof convinces every node
// that checks it, so all nodes that receive it get the same list. It ends kEvidenceLifeMillis after
// both messages expire, or with its certificate. Bounded. Not thread-safe.
class EvidenceTable {
 public:
  // Both references must outlive the table.
  EvidenceTable(const LocalNode& local, CertificateStore& certificates)
      : local_(&local), certificates_(&certificates) {}

  // The result of applying a proof. kOwn: it is about this node itself.
  enum class ApplyResult { kKnown, kNew, kOwn };
  // Checks a proof from a peer, cheap checks first, and keeps it unless it is about this node. Sets
  // `id` on success. Errors: EVIDENCE_INVALID, SIGNATURE_INVALID, WRONG_CLUSTER, ENVELOPE_EXPIRED,
  // CERTIFICATE_*.
  absl::StatusOr<ApplyResult> Apply(const v1::EquivocationProof& proof, Instant now,
                                    privacy::NodeId* id);
  // Keeps a proof that this node found in envelopes that it had verified.
  absl::StatusOr<ApplyResult> Add(const Conviction& conviction, Instant now);
  bool IsConvicted(const privacy::NodeId& id) const { return proofs_.contains(id); }
  // Removes proofs whose certificate is of an issuer that was ended: a thief of its key may have
  // certified the key that signed. Proofs of a key that was replaced stay, because a liar could
  // else be free of them. Returns whether there were any.
  bool DropOfEndedIssuers();
  // Removes proofs that have ended.
  void Expire(int64_t wall_ms);

  // A stored proof is the certificate followed by the equivocation. Restore returns the errors of
  // Apply.
  static constexpr size_t kStoredBytes =
      privacy::AdmissionCert::kBytes + privacy::Equivocation::kBytes;
  absl::StatusOr<ApplyResult> Restore(std::string_view stored, Instant now, privacy::NodeId* id);
  std::vector<std::string> Stored() const;  // all, by id

  // Return the proof of one member, and all members with a proof, by id.
  v1::EquivocationProof ProofOf(const privacy::NodeId& id) const;
  std::vector<privacy::NodeId> Members() const;

 private:
  struct Proof {
    std::string certificate;
    std::string equivocation;
    int64_t expires_ms = 0;
  };
  absl::StatusOr<ApplyResult> Insert(const privacy::Equivocation& equivocation,
                                     std::string certificate, int64_t not_after_ms, Instant now);

  const LocalNode* local_;
  CertificateStore* certificates_;
  std::map<privacy::NodeId, Proof> proofs_;
  int64_t next_expiry_ms_ = std::numeric_limits<int64_t>::max();
};

}  // namespace ruvd::federation
