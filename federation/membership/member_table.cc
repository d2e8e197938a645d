// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/member_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

// The envelope rules for records and for suspicions.
privacy::EnvelopeRules RulesOfMembers(const LocalNode& local, Instant now) {
  privacy::EnvelopeRules rules;
  rules.cluster_id = local.cluster_id;
  rules.purpose = privacy::EnvelopePurpose::kMember;
  rules.now_ms = now.wall_ms;
  // the incarnation excludes old records
  rules.freshness = privacy::EnvelopeRules::Freshness::kStored;
  return rules;
}

// A later key comes before any incarnation, so that a thief of a former key cannot outrun its node.
bool IsEarlier(const MemberRecord& a, const MemberRecord& b) {
  return std::pair(a.certificate.key_epoch, a.incarnation) <
         std::pair(b.certificate.key_epoch, b.incarnation);
}

// A record is overdue when two thirds of its life are over, because it should have been renewed.
bool Overdue(const SignedRecord& record, int64_t wall_ms) {
  return wall_ms >= record.created_ms + (record.expires_ms - record.created_ms) / 3 * 2;
}

int64_t RecordLifeMillis(size_t members) {
  return 3 * ClusterScale(members) *
         std::chrono::duration_cast<std::chrono::milliseconds>(limits::kRecordPeriod).count();
}

}  // namespace

int ClusterScale(size_t members) {
  return members <= 32
             ? 1
             : static_cast<int>(std::ceil(std::log2(static_cast<double>(members)) - 5)) + 1;
}

MemberTable::MemberTable(const LocalNode& local, CertificateStore& certificates, Sealer& sealer,
                         Outbox& outbox, Options options)
    : local_(&local),
      certificates_(&certificates),
      sealer_(&sealer),
      outbox_(&outbox),
      options_(std::move(options)),
      incarnation_(local.boot_counter << 32),
      suspicions_(options_.lifeguard) {}

RecordPtr MemberTable::Announce(MemberState state, Instant now) {
  auto signed_record = std::make_shared<SignedRecord>();
  MemberRecord& record = signed_record->record;
  record.certificate = local_->certificate;
  record.incarnation = ++incarnation_;
  record.state = state;
  record.model_hash = local_->model_hash;
  record.frame_id = local_->frame_id;
  record.address = local_->listen_address;
  signed_record->created_ms = now.wall_ms;
  signed_record->expires_ms = now.wall_ms + RecordLifeMillis(records_.size());
  auto envelope = sealer_->Seal(privacy::EnvelopePurpose::kMember, kBodyMemberRecord, 0,
                                EncodeMemberRecord(record), now.wall_ms, signed_record->expires_ms);
  RUVD_CHECK(envelope.ok());  // a record is much smaller than the limit of an envelope
  signed_record->envelope = *std::move(envelope);
  signed_record->id = privacy::MessageId(signed_record->envelope);
  if (options_.pool) {
    options_.pool->Add(signed_record);
  }
  Insert(signed_record, now.now);
  return signed_record;
}

bool MemberTable::AnnouncementDue(Instant now) const {
  const RecordPtr* own = records_.Find(local_->key->id());
  // A record that was signed while the clock was ahead is taken by no peer.
  if (own == nullptr || (*own)->created_ms > now.wall_ms + limits::kMaxEnvelopeAheadMillis) {
    return true;
  }
  // Renews after a third of the record's life, minus up to a tenth that depends on the id, so that
  // nodes that started together do not renew at the same time.
  const int64_t period = ((*own)->expires_ms - (*own)->created_ms) / 3;
  return now.wall_ms >= (*own)->created_ms + period - period * (*own)->id[0] / 2560;
}

Member MemberTable::MakeMember(const SignedRecord& record) const {
  const MemberRecord& content = record.record;
  Member member;
  member.id = record.node();
  member.name = content.certificate.name;
  member.address = content.address;
  member.state = StateOf(record);
  member.roles = content.certificate.roles;
  member.incarnation = content.incarnation;
  member.model_hash = content.model_hash;
  member.self = member.id == local_->key->id();
  member.last_heard = records_.ReceivedAt(member.id);
  if (const auto view = views_.find(member.id); view != views_.end()) {
    member.last_heard = std::max(member.last_heard, view->second.last_heard);
    member.rtt = view->second.rtt;
    member.linked = view->second.linked;
  }
  return member;
}

MemberState MemberTable::StateOf(const SignedRecord& record) const {
  if (record.record.state == MemberState::kLeft) {
    return MemberState::kLeft;
  }
  if (suspicions_.Dead(record.node())) {
    return MemberState::kDead;
  }
  return IsUnresponsive(record.node()) ? MemberState::kSuspect : MemberState::kAlive;
}

void MemberTable::Emit(const privacy::NodeId& id) {
  if (const RecordPtr* record = records_.Find(id)) {
    outbox_->Emit(MemberChanged{MakeMember(**record)});
  }
}

void MemberTable::Insert(RecordPtr record, TimePoint now) {
  const privacy::NodeId id = record->node();
  const RecordPtr* known = records_.Find(id);
  const bool changed = known == nullptr || StateOf(**known) != record->record.state ||
                       (*known)->record.address != record->record.address ||
                       (*known)->record.certificate != record->record.certificate;
  if (record->record.state == MemberState::kLeft) {
    gone_.insert(id);
  } else {
    gone_.erase(id);
  }
  suspicions_.Clear(id);
  overdue_.erase(id);
  records_.Put(std::move(record), now);
  if (changed) {
    Emit(id);
  }
}

absl::StatusOr<RecordPtr> MemberTable::Verify(const privacy::Envelope& envelope, const Digest& id,
                                              Instant now) {
  RecordPtr pooled = options_.pool ? options_.pool->Find(id, envelope) : nullptr;
  if (pooled) {
    RETURN_IF_ERROR(pooled->record.certificate.CheckTime(now.wall_ms));
    RETURN_IF_ERROR(certificates_->Require(pooled->record.certificate));
    if (pooled->expires_ms > now.wall_ms) {
      return pooled;
    }
  }
  auto record = std::make_shared<SignedRecord>();
  ASSIGN_OR_RETURN(record->record, DecodeMemberRecord(AsBytes(envelope.body)));
  ASSIGN_OR_RETURN(const privacy::EnvelopeHeader header,
                   VerifyCertified(envelope, *certificates_, RulesOfMembers(*local_, now)));
  if (header.body_type != kBodyMemberRecord ||
      header.expires_ms - header.created_ms > limits::kRecordLifeMaxMillis) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
        "member envelope of body type {} is not a record, or its life is too long; update {}",
        header.body_type, record->record.certificate.name);
  }
  record->envelope = envelope;
  record->id = id;
  record->created_ms = header.created_ms;
  record->expires_ms = header.expires_ms;
  if (options_.pool) {
    options_.pool->Add(record);
  }
  return RecordPtr(std::move(record));
}

std::optional<privacy::NodeId> MemberTable::KnownAlready(const privacy::Envelope& envelope) const {
  if (envelope.body.size() < privacy::AdmissionCert::kBytes) {
    return std::nullopt;
  }
  const privacy::NodeId id = privacy::AdmissionCert::ClaimedNodeId(AsBytes(envelope.body));
  const RecordPtr* known = records_.Find(id);
  // A message with equal header and body is the same one, whatever its signature: see MessageId.
  if (known == nullptr || (*known)->envelope.header != envelope.header ||
      (*known)->envelope.body != envelope.body) {
    return std::nullopt;
  }
  return id;
}

absl::StatusOr<MemberTable::ApplyResult> MemberTable::Apply(const privacy::Envelope& envelope,
                                                            Instant now) {
  // Most records arrive from several neighbours, so known ones are recognised by their bytes,
  // without verification.
  if (const auto duplicate = KnownAlready(envelope)) {
    return ApplyResult{.newer = false, .id = *duplicate};
  }
  ASSIGN_OR_RETURN(const MemberRecord claimed, DecodeMemberRecord(AsBytes(envelope.body)));
  const privacy::NodeId id = claimed.certificate.node_id;
  ApplyResult applied{.newer = false, .id = id, .conviction = std::nullopt};
  const RecordPtr* known = records_.Find(id);
  const Digest record_id = privacy::MessageId(envelope);
  if (known != nullptr && ((*known)->id == record_id || IsEarlier(claimed, (*known)->record))) {
    return applied;
  }
  if (known == nullptr && records_.size() >= limits::kMaxRecords) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "cluster has more than {} members; run several clusters", limits::kMaxRecords);
  }
  ASSIGN_OR_RETURN(RecordPtr record, Verify(envelope, record_id, now));
  if (id == local_->key->id()) {
    if (claimed.certificate.key_epoch == local_->key->epoch()) {
      incarnation_ = std::max(incarnation_, record->record.incarnation);
    }
    applied.newer = true;  // the caller announces a newer record
    return applied;
  }
  if (known != nullptr) {
    if (auto equivocation = EquivocationOf((*known)->envelope, record->envelope)) {
      applied.conviction = {.certificate = envelope.body.substr(0, privacy::AdmissionCert::kBytes),
                            .equivocation = *std::move(equivocation)};
    }
    if (!Supersedes(*record, **known)) {
      return applied;
    }
  }
  Insert(std::move(record), now.now);
  applied.newer = true;
  return applied;
}

void MemberTable::Restore(std::shared_ptr<const RecordBase> base, TimePoint now) {
  records_.SetBase(std::move(base), now);
  if (const RecordPtr* own = records_.Find(local_->key->id())) {
    incarnation_ = std::max(incarnation_, (*own)->record.incarnation);
  }
}

absl::StatusOr<MemberTable::AccusationResult> MemberTable::ApplyAccusation(
    const privacy::Envelope& envelope, Instant now) {
  // Most accusations arrive from several neighbours, so those that change nothing are not verified.
  ASSIGN_OR_RETURN(const AccusationClaim claim, PeekAccusation(AsBytes(envelope.body)));
  const RecordPtr* known = records_.Find(claim.suspect);
  if (known == nullptr || claim.incarnation > (*known)->record.incarnation) {
    return AccusationResult::kUnknown;
  }
  if (claim.incarnation < (*known)->record.incarnation ||
      (*known)->record.state == MemberState::kLeft || claim.accuser == local_->key->id() ||
      suspicions_.Settled(claim, alive())) {
    return AccusationResult::kNothingNew;
  }
  // Even a true signature would not help, unless the core refutes it all the same.
  if (claim.suspect != local_->key->id() && !suspicions_.HasCredit(claim.accuser, now.now)) {
    return AccusationResult::kNoCredit;
  }
  ASSIGN_OR_RETURN(const Accusation accusation, DecodeAccusation(AsBytes(envelope.body)));
  ASSIGN_OR_RETURN(const privacy::EnvelopeHeader header,
                   VerifyCertified(envelope, *certificates_, RulesOfMembers(*local_, now)));
  if (header.body_type != kBodySuspicion) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "suspicion has body type {}; update the sending node", header.body_type);
  }
  if (accusation.suspect == local_->key->id()) {
    const bool heard = suspicions_.HasCredit(claim.accuser, now.now);
    suspicions_.ChargeOwn(claim.accuser, claim.incarnation, now.now);
    return heard ? AccusationResult::kRefute : AccusationResult::kNoCredit;
  }
  const bool silent = IsUnresponsive(accusation.suspect);
  const bool first = !suspicions_.IsSuspected(accusation.suspect);
  if (!suspicions_.Add(accusation, std::make_shared<const privacy::Envelope>(envelope), alive(),
                       now.now)) {
    return AccusationResult::kNothingNew;
  }
  if (!silent) {
    Emit(accusation.suspect);
  }
  return first ? AccusationResult::kFirst : AccusationResult::kFurther;
}

std::vector<privacy::NodeId> MemberTable::EndSuspicionsOfRevoked() {
  std::vector<privacy::NodeId> suspects = suspicions_.EndOf(
      [this](const privacy::NodeId& id) { return certificates_->revocations().Revokes(id); });
  for (const privacy::NodeId& id : suspects) {
    gone_.erase(id);  // no member that left is suspected
    Emit(id);
  }
  return suspects;
}

std::shared_ptr<const privacy::Envelope> MemberTable::Accuse(const privacy::NodeId& id,
                                                             Instant now) {
  const RecordPtr* known = records_.Find(id);
  if (known == nullptr || (*known)->record.state == MemberState::kLeft || id == local_->key->id() ||
      suspicions_.Dead(id)) {
    return nullptr;
  }
  const Accusation accusation{.certificate = local_->certificate,
                              .suspect = id,
                              .incarnation = (*known)->record.incarnation};
  auto envelope = sealer_->Seal(privacy::EnvelopePurpose::kMember, kBodySuspicion, 0,
                                EncodeAccusation(accusation), now.wall_ms,
                                now.wall_ms + limits::kAccusationLifeMillis);
  RUVD_CHECK(envelope.ok());
  auto evidence = std::make_shared<const privacy::Envelope>(*std::move(envelope));
  const bool suspected = IsUnresponsive(id);
  if (!suspicions_.Add(accusation, evidence, alive(), now.now)) {
    return nullptr;
  }
  if (!suspected) {
    Emit(id);
  }
  return evidence;
}

void MemberTable::OnFrameReceived(const privacy::NodeId& id, TimePoint now) {
  if (auto found = views_.find(id); found != views_.end()) {
    found->second.last_heard = now;
  }
}

void MemberTable::SetLink(const privacy::NodeId& id, bool linked, TimePoint now) {
  if (!linked && !views_.contains(id)) {
    return;
  }
  View& view = views_[id];
  if (view.linked == linked) {
    return;
  }
  view.linked = linked;
  if (linked) {
    view.last_heard = now;
    overdue_.erase(id);
  } else {
    view.rtt.reset();
  }
  Emit(id);
  if (views_.size() > limits::kMaxViews) {
    const auto idle = std::find_if(views_.begin(), views_.end(),
                                   [](const auto& entry) { return !entry.second.linked; });
    if (idle != views_.end()) {
      views_.erase(idle);
    }
  }
}

void MemberTable::SetRtt(const privacy::NodeId& id, Duration rtt) {
  if (auto found = views_.find(id); found != views_.end()) {
    found->second.rtt = rtt;
  }
}

void MemberTable::Forget(const privacy::NodeId& id) {
  suspicions_.Clear(id);
  overdue_.erase(id);
  gone_.erase(id);
  records_.Erase(id);
}

void MemberTable::Sweep(Instant now) {
  std::vector<RecordPtr> seen;
  records_.ForEach(sweep_at_, std::nullopt, [&](const RecordPtr& record) {
    seen.push_back(record);
    return seen.size() <= limits::kSweepRecords;
  });
  if (seen.size() > limits::kSweepRecords) {
    sweep_at_ = seen.back()->node();
    seen.pop_back();
  } else {
    sweep_at_ = privacy::NodeId{};
  }
  for (const RecordPtr& record : seen) {
    const privacy::NodeId& id = record->node();
    const auto view = views_.find(id);
    if (id == local_->key->id() || (view != views_.end() && view->second.linked)) {
      continue;
    }
    if (record->expires_ms <= now.wall_ms ||
        !record->record.certificate.CheckTime(now.wall_ms).ok() ||
        record->record.certificate.issuer.number < certificates_->least_issuer() ||
        record->record.certificate.key_epoch < certificates_->revocations().LeastEpoch(id)) {
      Forget(id);
    } else if (StateOf(*record) == MemberState::kAlive && Overdue(*record, now.wall_ms)) {
      overdue_.insert(id);
      Emit(id);
    }
  }
}

std::vector<privacy::NodeId> MemberTable::Tick(Instant now, Duration stalled) {
  suspicions_.Postpone(stalled);
  std::vector<privacy::NodeId> answering;
  for (const privacy::NodeId& id : suspicions_.TakeExpired(alive(), now.now)) {
    const auto view = views_.find(id);
    if (options_.lifeguard && view != views_.end() && view->second.linked &&
        now.now - view->second.last_heard < limits::kPingTimeout) {
      suspicions_.Renew(id, now.now);
      answering.push_back(id);
      continue;
    }
    gone_.insert(id);
    Emit(id);
  }
  Sweep(now);
  return answering;
}

RecordPtr MemberTable::RandomUnresponsive(Random& random) const {
  const size_t count = suspicions_.size() + overdue_.size();
  if (count == 0) {
    return nullptr;
  }
  const uint64_t drawn = random.Below(count);
  const privacy::NodeId id =
      drawn < suspicions_.size()
          ? suspicions_.At(drawn)
          : *std::next(overdue_.begin(), static_cast<std::ptrdiff_t>(drawn - suspicions_.size()));
  const RecordPtr* record = records_.Find(id);
  return record == nullptr ? nullptr : *record;
}

std::vector<Member> MemberTable::Members() const {
  std::vector<Member> members;
  members.reserve(records_.size());
  records_.ForEach(privacy::NodeId{}, std::nullopt, [&](const RecordPtr& record) {
    members.push_back(MakeMember(*record));
    return true;
  });
  return members;
}

}  // namespace ruvd::federation
