// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/instant.h"
#include "federation/local_node.h"
#include "federation/membership/certificates.h"
#include "federation/membership/member_record.h"
#include "federation/outbox.h"
#include "federation/sealer.h"

namespace ruvd {

// The members of the cluster: per node the signed record of the highest incarnation, and this
// node's own view of whether it is alive. Suspicion removes nothing and bans nobody: the next
// record or frame of the member ends it. Not thread-safe.
class MemberTable {
 public:
  // All references outlive the table.
  MemberTable(const LocalNode& local, CertificateStore& certificates, Sealer& sealer,
              Outbox& outbox);

  // Signs a new record of this node and keeps it.
  Envelope Announce(MemberState state, Instant now);

  // What a record from a peer was.
  struct Applied {
    bool newer = false;  // kept; pass it on
    NodeId id{};
    uint64_t incarnation = 0;
  };
  // Checks and keeps a record. A record that is not newer than the known one is not verified and
  // has no effect.
  absl::StatusOr<Applied> Apply(const Envelope& envelope, Instant now);

  // A frame of a linked member arrived.
  void Heard(const NodeId& id, TimePoint now);
  void SetLink(const NodeId& id, bool linked, TimePoint now);
  void SetRtt(const NodeId& id, Duration rtt);
  // Suspects the silent and forgets the long gone.
  void Tick(TimePoint now);

  // Records that a new neighbour should hear, by id: those young enough to be accepted.
  std::vector<Envelope> FreshRecords(int64_t wall_ms) const;
  std::vector<Member> Members() const;

 private:
  struct Entry {
    Member member;
    Envelope envelope;
    int64_t created_ms = 0;
  };
  void SetState(Entry& entry, MemberState state);
  void Keep(const MemberRecord& record, Envelope envelope, int64_t created_ms, TimePoint now);

  const LocalNode* local_;
  CertificateStore* certificates_;
  Sealer* sealer_;
  Outbox* outbox_;
  uint64_t announcements_ = 0;
  std::map<NodeId, Entry> entries_;
};

}  // namespace ruvd
