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

// A member signed two messages under one number, with the certificate that its key is checked by.
struct Conviction {
  std::string certificate;  // encoded
  privacy::Equivocation equivocation;
};

// Where two verified envelopes of one sender, boot and number are not the same, evidence of it.
std::optional<privacy::Equivocation> EquivocationOf(const privacy::Envelope& one,
                                                    const privacy::Envelope& other);

// Which members are known to have equivocated, one proof of each. A proof convinces whoever sees
// it, so all nodes that hear of it come to the same list. It ends kEvidenceLifeMillis after both
// messages have, or with its certificate. Bounded; not thread-safe.
class EvidenceTable {
 public:
  // Both references outlive the table.
  EvidenceTable(const LocalNode& local, CertificateStore& certificates)
      : local_(&local), certificates_(&certificates) {}

  // What a proof was.
  enum class Applied { kKnown, kNew, kOwn };
  // Checks a proof from a peer, cheap checks first, and keeps it. kOwn: it is of this node itself
  // and not kept. EVIDENCE_INVALID, SIGNATURE_INVALID, WRONG_CLUSTER, ENVELOPE_EXPIRED,
  // CERTIFICATE_*; `id` is then not set.
  absl::StatusOr<Applied> Apply(const v1::EquivocationProof& proof, Instant now,
                                privacy::NodeId* id);
  // Keeps what this node found in envelopes that it had verified.
  absl::StatusOr<Applied> Add(const Conviction& conviction, Instant now);
  bool Convicted(const privacy::NodeId& id) const { return proofs_.contains(id); }
  // Forgets proofs that are over.
  void Expire(int64_t wall_ms);

  // A proof as it is stored: the certificate, then the equivocation. Errors of Apply.
  static constexpr size_t kStoredBytes =
      privacy::AdmissionCert::kBytes + privacy::Equivocation::kBytes;
  absl::StatusOr<Applied> Restore(std::string_view stored, Instant now, privacy::NodeId* id);
  std::vector<std::string> Stored() const;  // all, by id

  // The proof of one member, and of all, by id.
  v1::EquivocationProof ProofOf(const privacy::NodeId& id) const;
  std::vector<privacy::NodeId> Members() const;

 private:
  struct Proof {
    std::string certificate;
    std::string equivocation;
    int64_t expires_ms = 0;
  };
  absl::StatusOr<Applied> Keep(const privacy::Equivocation& equivocation, std::string certificate,
                               int64_t not_after_ms, Instant now);

  const LocalNode* local_;
  CertificateStore* certificates_;
  std::map<privacy::NodeId, Proof> proofs_;
  int64_t next_expiry_ms_ = std::numeric_limits<int64_t>::max();
};

}  // namespace ruvd::federation
