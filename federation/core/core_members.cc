// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Frames of GossipCore about members: records, suspicion, checks for others, reconciliation.

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"
#include "federation/gossip/reconcile.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

absl::Status TooMany(std::string_view what, int count, size_t limit) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
               "frame has {} {} where {} are allowed; update the sending node", count, what, limit);
}

absl::Status WrongId(size_t bytes) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "node id has {} bytes; update the sending node", bytes);
}

// Returns the state that the sender of a ping holds; nullopt if it has none.
absl::StatusOr<std::optional<StateDigest>> StateOf(const v1::Ping& ping) {
  if (ping.state_digest().empty() && ping.state_round() == 0) {
    return std::optional<StateDigest>();
  }
  const auto digest = DigestFrom(ping.state_digest());
  if (!digest || ping.state_round() > limits::kLastRound) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "ping names a state of round {} with a digest of {} bytes, where 32 bytes and a "
                 "round up to {} are allowed; update the sending node",
                 ping.state_round(), ping.state_digest().size(), limits::kLastRound);
  }
  return StateDigest{.round = ping.state_round(), .digest = *digest};
}

}  // namespace

void GossipCore::State::AnnounceSelf(Instant now) {
  ForwardRecords({members.Announce(MemberState::kAlive, now)}, /*except=*/0);
}

void GossipCore::State::AnnounceDeparture(Instant now) {
  const RecordPtr record = members.Announce(MemberState::kLeft, now);
  for (const auto& [peer, link] : link_of) {
    SendRecords(link, {&record, 1});
  }
}

void GossipCore::State::Refute(Instant now) {
  if (now.now - last_refutation < limits::kRefutePeriod && last_refutation != TimePoint{}) {
    refutation_due = true;
    return;
  }
  refutation_due = false;
  last_refutation = now.now;
  ++outbox.counters().refutations;
  AnnounceSelf(now);
}

void GossipCore::State::TickMembers(Instant now) {
  RetryAccusations(now);
  for (const privacy::NodeId& id : detector.Tick(now.now)) {
    if (const auto accusation = members.Accuse(id, now)) {
      ++outbox.counters().suspicions;
      ForwardAccusation(accusation, id, /*except=*/0);
    }
  }
  for (const privacy::NodeId& id : members.Tick(now, detector.stalled())) {
    if (const auto accusation = members.EvidenceOf(id); accusation && IsLinked(id)) {
      SendAccusations(link_of.at(id), {&accusation, 1});
    }
  }
  for (const privacy::NodeId& id : detector.TakeDialRequests()) {
    if (const RecordPtr* record = members.records().Find(id)) {
      DialMember(**record, DialPurpose::kCheck, now);
    }
  }
  if (!leaving && (members.AnnouncementDue(now) || refutation_due)) {
    refutation_due ? Refute(now) : AnnounceSelf(now);
  }
}

// Tells a new neighbour who this node is and whom it suspects; if it suspects the neighbour itself,
// the neighbour can refute.
void GossipCore::State::GreetMember(const Link& link) {
  // Evidence goes first, so that the neighbour does not accept items of an equivocator from this
  // link.
  SendEvidence(link, evidence.Members());
  if (const RecordPtr* own = members.records().Find(local.key->id())) {
    SendRecords(link.id, {own, 1});
  }
  if (const auto of_peer = members.EvidenceOf(link.peer)) {
    SendAccusations(link.id, {&of_peer, 1});
  }
  SendAccusations(link.id, members.Evidence(limits::kMaxAccusationsPerLink));
}

void GossipCore::State::SendRecords(LinkId link, std::span<const RecordPtr> records) {
  WireFrame frame;
  for (const RecordPtr& record : records) {
    *frame.mutable_member_delta()->add_records() = ToProto(record->envelope);
    if (static_cast<size_t>(frame.member_delta().records_size()) == limits::kMaxRecordsPerFrame) {
      outbox.Send(link, std::exchange(frame, {}));
    }
  }
  if (frame.member_delta().records_size() > 0) {
    outbox.Send(link, std::move(frame));
  }
}

void GossipCore::State::ForwardRecords(const std::vector<RecordPtr>& records, LinkId except) {
  if (records.empty()) {
    return;
  }
  std::shared_ptr<const WireFrame> shared;
  if (records.size() <= limits::kMaxRecordsPerFrame) {
    WireFrame frame;
    for (const RecordPtr& record : records) {
      *frame.mutable_member_delta()->add_records() = ToProto(record->envelope);
    }
    shared = std::make_shared<const WireFrame>(std::move(frame));
  }
  for (const LinkId id : mesh.links()) {
    if (id == except) {
      continue;
    }
    if (shared) {
      outbox.Send(id, shared);
    } else {
      SendRecords(id, records);
    }
  }
}

bool GossipCore::State::ApplyRecords(
    Link& link, const google::protobuf::RepeatedPtrField<v1::SignedEnvelope>& protos, Instant now) {
  std::vector<RecordPtr> newer;
  std::vector<Conviction> convictions;
  bool of_ourselves = false;
  bool open = true;
  const LinkId id = link.id;
  for (const auto& proto : protos) {
    const auto applied = members.Apply(FromProto(proto), now);
    if (applied.ok() && applied->conviction) {
      convictions.push_back(*applied->conviction);
    }
    if (!applied.ok()) {
      open = Refuse(link, applied.status(), now);
      if (!open) {
        break;  // the link was closed, and the reason was reported
      }
    } else if (!applied->newer) {
      ++outbox.counters().duplicates;
    } else if (applied->id == local.key->id()) {
      of_ourselves = true;
    } else {
      newer.push_back(*members.records().Find(applied->id));
      detector.OnRecord(applied->id);
    }
  }
  ForwardRecords(newer, open ? id : 0);
  if (of_ourselves && !leaving) {
    AnnounceSelf(now);
  }
  Convict(convictions, now);
  return links.contains(id);
}

absl::Status GossipCore::State::OnMemberDelta(Link& link, const v1::MemberDelta& delta,
                                              Instant now) {
  if (static_cast<size_t>(delta.records_size()) > limits::kMaxRecordsPerFrame) {
    return TooMany("member records", delta.records_size(), limits::kMaxRecordsPerFrame);
  }
  ApplyRecords(link, delta.records(), now);
  return absl::OkStatus();
}

absl::Status GossipCore::State::OnMemberWant(const Link& link, const v1::MemberWant& want) {
  if (static_cast<size_t>(want.ids_size()) > limits::kMaxRecordsPerFrame) {
    return TooMany("node ids", want.ids_size(), limits::kMaxRecordsPerFrame);
  }
  std::vector<RecordPtr> records;
  for (const std::string& bytes : want.ids()) {
    const auto id = DigestFrom(bytes);
    if (!id) {
      return WrongId(bytes.size());
    }
    const RecordPtr* record = members.records().Find(*id);
    if (record != nullptr && !certificates.revocations().Revokes(*id)) {
      records.push_back(*record);
    }
  }
  SendRecords(link.id, records);
  return absl::OkStatus();
}

void GossipCore::State::SendAccusations(
    LinkId link, std::span<const std::shared_ptr<const privacy::Envelope>> accusations) {
  WireFrame frame;
  for (const auto& accusation : accusations) {
    *frame.mutable_suspicions()->add_accusations() = ToProto(*accusation);
    if (static_cast<size_t>(frame.suspicions().accusations_size()) ==
        limits::kMaxAccusationsPerFrame) {
      outbox.Send(link, std::exchange(frame, {}));
    }
  }
  if (frame.suspicions().accusations_size() > 0) {
    outbox.Send(link, std::move(frame));
  }
}

void GossipCore::State::ForwardAccusation(
    const std::shared_ptr<const privacy::Envelope>& accusation, const privacy::NodeId& suspect,
    LinkId except) {
  WireFrame frame;
  *frame.mutable_suspicions()->add_accusations() = ToProto(*accusation);
  const auto shared = std::make_shared<const WireFrame>(std::move(frame));
  for (const LinkId id : mesh.links()) {
    if (id != except) {
      outbox.Send(id, shared);
    }
  }
  // The suspect should hear of the suspicion first (Lifeguard's buddy system).
  const auto direct = link_of.find(suspect);
  if (direct != link_of.end() && !mesh.Contains(direct->second)) {
    outbox.Send(direct->second, shared);
  }
}

absl::Status GossipCore::State::OnSuspicions(Link& link, const v1::Suspicions& suspicions,
                                             Instant now) {
  if (static_cast<size_t>(suspicions.accusations_size()) > limits::kMaxAccusationsPerFrame) {
    return TooMany("accusations", suspicions.accusations_size(), limits::kMaxAccusationsPerFrame);
  }
  const LinkId from = link.id;
  Accusations accusations;
  for (const auto& proto : suspicions.accusations()) {
    const absl::Status status = ApplyAccusation(proto, from, accusations, now);
    if (ReasonOf(status) == reasons::kBusy) {
      // keeps only fields that this version knows
      accusation_backlog.Add(from, ToProto(FromProto(proto)));
    }
    if (!status.ok() && !Refuse(link, status, now)) {
      return absl::OkStatus();  // the link was closed, and the reason was reported
    }
  }
  AnswerAccusations(from, std::move(accusations), now);
  return absl::OkStatus();
}

absl::Status GossipCore::State::ApplyAccusation(const v1::SignedEnvelope& proto, LinkId from,
                                                Accusations& accusations, Instant now) {
  const privacy::Envelope envelope = FromProto(proto);
  ASSIGN_OR_RETURN(const MemberTable::AccusationResult accused,
                   members.ApplyAccusation(envelope, now));
  const AccusationClaim claim = *PeekAccusation(AsBytes(envelope.body));
  const privacy::NodeId& suspect = claim.suspect;
  if (accused == MemberTable::AccusationResult::kNoCredit) {
    ++outbox.counters().limits.accusations;
    // A node that believes the accuser passes the accusation on, and needs an answer.
    accusations.of_ourselves |= suspect == local.key->id() && links.at(from).peer != claim.accuser;
    return Error(absl::StatusCode::kResourceExhausted, reasons::kOverBudget,
                 "member {} accuses others of not answering, who then answer; look at its network "
                 "and its clock",
                 ToHex(claim.accuser).substr(0, 16));
  }
  if (accused == MemberTable::AccusationResult::kFirst ||
      accused == MemberTable::AccusationResult::kFurther) {
    ForwardAccusation(std::make_shared<const privacy::Envelope>(envelope), suspect, from);
    // A node that cannot dial the suspect at all would mistake that for silence.
    const RecordPtr* record = members.records().Find(suspect);
    const bool can_look = IsLinked(suspect) || (record != nullptr && !NeedsRelay(**record, now));
    if (accused == MemberTable::AccusationResult::kFirst && can_look) {
      detector.Check(suspect, members.alive(), now.now);
    }
  } else if (accused == MemberTable::AccusationResult::kUnknown) {
    accusations.wanted.mutable_member_want()->add_ids(std::string(AsText(suspect)));
  } else if (accused == MemberTable::AccusationResult::kRefute) {
    accusations.of_ourselves = true;
  }
  return absl::OkStatus();
}

void GossipCore::State::AnswerAccusations(LinkId from, Accusations accusations, Instant now) {
  if (accusations.wanted.has_member_want()) {
    outbox.Send(from, std::move(accusations.wanted));
  }
  if (accusations.of_ourselves && !leaving) {
    detector.OnRefuted();
    Refute(now);
  }
}

// The link that sent an accusation pays for its check, as when the accusation arrived.
void GossipCore::State::RetryAccusations(Instant now) {
  for (const LinkId from : accusation_backlog.links()) {
    Accusations accusations;
    certificates.budget().Charge(from, /*awaited=*/false, now.now);
    // Only one frame of records is requested at a time.
    while (static_cast<size_t>(accusations.wanted.member_want().ids_size()) <
           limits::kMaxRecordsPerFrame) {
      auto proto = accusation_backlog.Take(from);
      if (!proto) {
        break;
      }
      const absl::Status status = ApplyAccusation(*proto, from, accusations, now);
      if (ReasonOf(status) == reasons::kBusy) {
        accusation_backlog.PutBack(from, *std::move(proto));
        break;
      }
      if (!status.ok() && !Refuse(links.at(from), status, now)) {
        break;  // the link was closed, and its waiting accusations were dropped
      }
    }
    certificates.budget().Charge(/*link=*/0, /*awaited=*/false, now.now);
    if (links.contains(from)) {
      AnswerAccusations(from, std::move(accusations), now);
    }
  }
}

absl::Status GossipCore::State::OnPing(const Link& link, const v1::Ping& ping) {
  ASSIGN_OR_RETURN(const std::optional<StateDigest> state, StateOf(ping));
  if (clock != nullptr) {
    clock->Heard(link.peer, ping.wall_ms());
  }
  WireFrame answer;
  answer.mutable_ack()->set_seq(ping.seq());
  outbox.Send(link.id, std::move(answer));
  // A leaving node begins nothing new, and states of other plans always differ.
  if (!leaving && link.same_plan && states.OnSaid(link.peer, state)) {
    ReconcileItems(link);
  }
  return absl::OkStatus();
}

absl::Status GossipCore::State::OnPingRequest(const Link& link, const v1::PingRequest& request,
                                              Instant now) {
  const auto target = DigestFrom(request.target());
  if (!target) {
    return WrongId(request.target().size());
  }
  if (*target == local.key->id()) {
    WireFrame answer;
    answer.mutable_ack()->set_seq(request.seq());
    outbox.Send(link.id, std::move(answer));
  } else {
    detector.OnPingRequest(link.id, request.seq(), *target, now.now);
  }
  return absl::OkStatus();
}

absl::Status GossipCore::State::OnMemberReconciliation(const Link& link,
                                                       const v1::ReconMessage& message,
                                                       Instant now) {
  ASSIGN_OR_RETURN(
      ReconAnswer answer,
      AnswerReconciliation(RecordSource(members.records(), certificates.revocations()), message));
  if (answer.message.ranges_size() > 0) {
    WireFrame frame;
    *frame.mutable_recon_message() = std::move(answer.message);
    frame.mutable_recon_message()->set_space(v1::RECON_SPACE_MEMBERS);
    outbox.Send(link.id, std::move(frame));
  }
  std::vector<RecordPtr> surplus;
  for (const Digest& id : answer.surplus) {
    const RecordPtr record = *members.records().Find(id);
    if (record->expires_ms > now.wall_ms && surplus.size() < limits::kMaxRecordsPerExchange) {
      surplus.push_back(record);
    }
  }
  SendRecords(link.id, surplus);
  // A peer that has not heard of a revocation yet lists records that would be refused.
  std::erase_if(answer.missing,
                [this](const Digest& id) { return certificates.revocations().Revokes(id); });
  const size_t wanted = std::min(answer.missing.size(), limits::kMaxRecordsPerExchange);
  for (size_t i = 0; i < wanted; i += limits::kMaxRecordsPerFrame) {
    WireFrame frame;
    for (size_t j = i; j < std::min(wanted, i + limits::kMaxRecordsPerFrame); ++j) {
      frame.mutable_member_want()->add_ids(std::string(AsText(answer.missing[j])));
    }
    outbox.Send(link.id, std::move(frame));
  }
  if (!surplus.empty() || wanted > 0) {
    recon.RunSoon(now.now);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::federation
