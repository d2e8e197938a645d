// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/member_table.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/manifest.h"
#include "federation/limits.h"

namespace ruvd {

MemberTable::MemberTable(const LocalNode& local, CertificateStore& certificates, Sealer& sealer,
                         Outbox& outbox)
    : local_(&local), certificates_(&certificates), sealer_(&sealer), outbox_(&outbox) {}

Envelope MemberTable::Announce(MemberState state, Instant now) {
  MemberRecord record;
  record.certificate = local_->certificate;
  record.incarnation = (local_->boot_counter << 32) | ++announcements_;
  record.state = state;
  record.model_hash = local_->model_hash;
  record.frame_id = local_->frame_id;
  record.address = local_->listen_address;
  auto envelope =
      sealer_->Seal(EnvelopePurpose::kMember, kBodyMemberRecord, 0, EncodeMemberRecord(record),
                    now.wall_ms, now.wall_ms + limits::kRecordLifeMillis);
  RUVD_CHECK(envelope.ok());  // a record's size is bounded far below an envelope's
  Keep(record, *envelope, now.wall_ms, now.now);
  return *std::move(envelope);
}

void MemberTable::SetState(Entry& entry, MemberState state) {
  if (entry.member.state != state) {
    entry.member.state = state;
    outbox_->Emit(MemberChanged{entry.member});
  }
}

void MemberTable::Keep(const MemberRecord& record, Envelope envelope, int64_t created_ms,
                       TimePoint now) {
  const NodeId& id = record.certificate.node_id;
  Entry& entry = entries_[id];
  Member& member = entry.member;
  const bool changed = member.name != record.certificate.name || member.state != record.state ||
                       member.address != record.address || member.roles != record.certificate.roles;
  member.id = id;
  member.name = record.certificate.name;
  member.address = record.address;
  member.state = record.state;
  member.roles = record.certificate.roles;
  member.incarnation = record.incarnation;
  member.model_hash = record.model_hash;
  member.last_heard = now;
  member.self = id == local_->key->id();
  entry.envelope = std::move(envelope);
  entry.created_ms = created_ms;
  if (changed) {
    outbox_->Emit(MemberChanged{member});
  }
}

absl::StatusOr<MemberTable::Applied> MemberTable::Apply(const Envelope& envelope, Instant now) {
  ASSIGN_OR_RETURN(const MemberRecord record, DecodeMemberRecord(AsBytes(envelope.body)));
  Applied applied{
      .newer = false, .id = record.certificate.node_id, .incarnation = record.incarnation};
  const auto found = entries_.find(applied.id);
  const bool known = found != entries_.end();
  if ((known && record.incarnation <= found->second.member.incarnation) ||
      applied.id == local_->key->id()) {
    return applied;
  }
  if (!known && entries_.size() >= limits::kMaxMembers) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "cluster has more than {} members; run several clusters", limits::kMaxMembers);
  }
  EnvelopeRules rules;
  rules.cluster_id = local_->cluster_id;
  rules.purpose = EnvelopePurpose::kMember;
  rules.now_ms = now.wall_ms;
  ASSIGN_OR_RETURN(const EnvelopeHeader header, VerifyCertified(envelope, *certificates_, rules));
  if (header.body_type != kBodyMemberRecord) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "member envelope has body type {}; update the sending node", header.body_type);
  }
  Keep(record, envelope, header.created_ms, now.now);
  applied.newer = true;
  return applied;
}

void MemberTable::Heard(const NodeId& id, TimePoint now) {
  if (auto found = entries_.find(id); found != entries_.end()) {
    found->second.member.last_heard = now;
    if (found->second.member.state == MemberState::kSuspect) {
      SetState(found->second, MemberState::kAlive);
    }
  }
}

void MemberTable::SetLink(const NodeId& id, bool linked, TimePoint now) {
  auto found = entries_.find(id);
  if (found == entries_.end()) {
    return;  // its record follows
  }
  Member& member = found->second.member;
  if (member.linked != linked) {
    member.linked = linked;
    member.last_heard = linked ? now : member.last_heard;
    if (!linked) {
      member.rtt.reset();
    }
    outbox_->Emit(MemberChanged{member});
  }
}

void MemberTable::SetRtt(const NodeId& id, Duration rtt) {
  if (auto found = entries_.find(id); found != entries_.end()) {
    found->second.member.rtt = rtt;
  }
}

void MemberTable::Tick(TimePoint now) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    const Duration silent = now - entry.member.last_heard;
    if (entry.member.self || entry.member.linked) {
      ++it;
      continue;
    }
    if (silent > limits::kForgetAfter) {
      it = entries_.erase(it);
      continue;
    }
    if (silent > limits::kSuspectAfter && entry.member.state == MemberState::kAlive) {
      SetState(entry, MemberState::kSuspect);
    }
    ++it;
  }
}

std::vector<Envelope> MemberTable::FreshRecords(int64_t wall_ms) const {
  std::vector<Envelope> records;
  for (const auto& [id, entry] : entries_) {
    if (wall_ms - entry.created_ms <= limits::kRecordForwardMillis) {
      records.push_back(entry.envelope);
    }
  }
  return records;
}

std::vector<Member> MemberTable::Members() const {
  std::vector<Member> members;
  for (const auto& [id, entry] : entries_) {
    members.push_back(entry.member);
  }
  return members;
}

}  // namespace ruvd
