// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/events/outbox.h"
#include "federation/instant.h"
#include "federation/link/certificates.h"
#include "federation/local_node.h"
#include "federation/membership/evidence.h"
#include "federation/membership/record_set.h"
#include "federation/membership/suspicion.h"
#include "federation/sealer.h"

namespace ruvd::federation {

// Returns memberlist's factor for periods in large clusters: 1 up to 32 members, plus one for every
// doubling.
int ClusterScale(size_t members);

// The members of the cluster: for each node the signed record that supersedes its others, and this
// node's own view of whether it is alive. A suspicion removes and bans no member: a newer record of
// the suspect refutes it. Entries that differ from "alive, without a link" are stored separately,
// so that the rest of the table can be shared. Not thread-safe.
class MemberTable {
 public:
  struct Options {
    bool lifeguard = true;
    std::shared_ptr<RecordPool> pool;  // may be null
  };
  // All references must outlive the table.
  MemberTable(const LocalNode& local, CertificateStore& certificates, Sealer& sealer,
              Outbox& outbox, Options options);

  // Signs a new record of this node, with a higher incarnation than any before, and keeps it.
  RecordPtr Announce(MemberState state, Instant now);
  // Returns whether the record of this node is old enough to be signed again.
  bool AnnouncementDue(Instant now) const;

  // The result of applying a record from a peer.
  struct ApplyResult {
    bool newer = false;  // it was kept and should be passed on
    privacy::NodeId id{};
    // Set if the known record and this one are two messages under one number
    std::optional<Conviction> conviction;
  };
  // Checks and keeps a record. A record that does not supersede the known one has no effect. If it
  // is a record of this node itself with a higher incarnation, the next announcement exceeds that.
  absl::StatusOr<ApplyResult> Apply(const privacy::Envelope& envelope, Instant now);
  // Merges records that this node, or another node of its process, has verified.
  void Restore(std::shared_ptr<const RecordBase> base, TimePoint now);

  // The result of applying an accusation from a peer.
  enum class AccusationResult { kNothingNew, kFirst, kFurther, kRefute, kUnknown, kNoCredit };
  // Checks and counts an accusation. kFirst: it is the first against this member; kFurther: it is a
  // further one. Both should be passed on. kRefute: it accuses this node's own newest record.
  // kUnknown: it is about a record that this node lacks. kNoCredit: too many of its accuser's were
  // refuted (SuspicionTable::HasCredit), so it has no effect.
  absl::StatusOr<AccusationResult> ApplyAccusation(const privacy::Envelope& envelope, Instant now);
  // Signs that a member did not answer. Returns nullptr if that is not new.
  std::shared_ptr<const privacy::Envelope> Accuse(const privacy::NodeId& id, Instant now);
  // Ends the suspicions that revoked members began, and returns their suspects, which should be
  // checked again.
  std::vector<privacy::NodeId> EndSuspicionsOfRevoked();
  // Returns open accusations, for a new neighbour.
  std::vector<std::shared_ptr<const privacy::Envelope>> Evidence(size_t count) {
    return suspicions_.Evidence(count);
  }

  // A frame of a linked member arrived.
  void OnFrameReceived(const privacy::NodeId& id, TimePoint now);
  void SetLink(const privacy::NodeId& id, bool linked, TimePoint now);
  void SetRtt(const privacy::NodeId& id, Duration rtt);
  // Declares members dead that did not refute in time, and forgets expired records. `stalled` is
  // how long this node did not run before the call. Returns suspects whose time was renewed because
  // they answer this node; they should be told of the suspicion again. Without lifeguard there is
  // no renewal.
  std::vector<privacy::NodeId> Tick(Instant now, Duration stalled);
  // Returns the accusation that began a suspicion, or nullptr.
  std::shared_ptr<const privacy::Envelope> EvidenceOf(const privacy::NodeId& id) const {
    return suspicions_.EvidenceOf(id);
  }

  const RecordSet& records() const { return records_; }
  MemberState StateOf(const SignedRecord& record) const;
  // Returns whether the member is suspected or dead, and might come back.
  bool IsUnresponsive(const privacy::NodeId& id) const {
    return suspicions_.IsSuspected(id) || overdue_.contains(id);
  }
  // Returns a random silent member, or nullptr.
  RecordPtr RandomUnresponsive(Random& random) const;
  // Members that are neither left nor dead, including this node
  size_t alive() const { return records_.size() - std::min(records_.size(), gone_.size()); }
  std::vector<Member> Members() const;

 private:
  struct View {
    TimePoint last_heard{};
    std::optional<Duration> rtt;
    bool linked = false;
  };
  // Returns the node of this record if the same message is already known.
  std::optional<privacy::NodeId> KnownAlready(const privacy::Envelope& envelope) const;
  absl::StatusOr<RecordPtr> Verify(const privacy::Envelope& envelope, const Digest& id,
                                   Instant now);
  Member MakeMember(const SignedRecord& record) const;
  void Emit(const privacy::NodeId& id);
  void Insert(RecordPtr record, TimePoint now);
  void Forget(const privacy::NodeId& id);
  void Sweep(Instant now);

  const LocalNode* local_;
  CertificateStore* certificates_;
  Sealer* sealer_;
  Outbox* outbox_;
  Options options_;
  uint64_t incarnation_;
  RecordSet records_;
  SuspicionTable suspicions_;
  std::map<privacy::NodeId, View> views_;  // linked now or before
  std::set<privacy::NodeId> overdue_;      // members that did not renew their record in time
  std::set<privacy::NodeId> gone_;         // left or dead
  privacy::NodeId sweep_at_{};
};

}  // namespace ruvd::federation
