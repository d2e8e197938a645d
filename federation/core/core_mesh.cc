// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What keeps a node of GossipCore connected: mesh, dialling, anti-entropy.

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"
#include "federation/gossip/reconcile.h"
#include "federation/limits.h"
#include "federation/membership/score_limits.h"

namespace ruvd::federation {

void GossipCore::State::JoinMesh(const Link& link, Instant now) {
  HastenIfShort(now.now);
  mesh.Graft(link.id);
  WireFrame frame;
  frame.mutable_graft();
  outbox.Send(link.id, std::move(frame));
}

// Newcomers do not refuse each other, and a node with few neighbours refuses no newcomer. So a new
// cluster, which consists of newcomers only, forms as fast as any other.
bool GossipCore::State::IsKeptOutOfMesh(const privacy::AdmissionCert& certificate,
                                        Instant now) const {
  const auto newcomer = [now](const privacy::AdmissionCert& cert) {
    return now.wall_ms - cert.not_before_ms < limits::kProbationMillis;
  };
  return mesh.links().size() >= limits::kMeshLow && newcomer(certificate) &&
         !newcomer(local.certificate);
}

// A node that had few neighbours may have missed much.
void GossipCore::State::HastenIfShort(TimePoint now) {
  if (mesh.links().size() < limits::kMeshLow) {
    recon.RunSoon(now);
  }
}

absl::Status GossipCore::State::OnGraft(Link& link, Instant now) {
  HastenIfShort(now.now);
  if (link.pruned && now.now - link.pruned->since > limits::kGraftGrace &&
      now.now < link.pruned->until - limits::kGraftGrace) {
    scores.RecordMisbehaviour(link.id, limits::kEarlyGraftWeight);
  }
  if (!mesh.Contains(link.id) && IsKeptOutOfMesh(link.certificate, now)) {
    const int64_t age_ms = now.wall_ms - link.certificate.not_before_ms;
    SendPrune(link, now,
              std::max<Duration>(limits::kPruneBackoff,
                                 std::chrono::milliseconds(limits::kProbationMillis - age_ms)));
    return absl::OkStatus();
  }
  if (leaving || !mesh.OnGraft(link.id, scores.ScoreOfLink(link.id), now.now)) {
    // Both ends may ask again at the same time: otherwise the two could refuse each other in turn,
    // each in the backoff that the other's last refusal began.
    const Duration left = mesh.BackoffLeft(link.peer, now.now);
    SendPrune(link, now, left > Duration{} ? left : limits::kPruneBackoff);
  }
  return absl::OkStatus();
}

absl::Status GossipCore::State::OnPrune(Link& link, const v1::Prune& prune, Instant now) {
  if (static_cast<size_t>(prune.peers_size()) > limits::kMaxPeerExchange) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "prune names {} members where {} are allowed; update the sending node",
                 prune.peers_size(), limits::kMaxPeerExchange);
  }
  mesh.OnPrune(link.id, std::chrono::milliseconds(prune.backoff_ms()), now.now);
  ApplyRecords(link, prune.peers(), now);
  return absl::OkStatus();
}

void GossipCore::State::SendPrune(Link& link, Instant now, Duration backoff) {
  if (!link.pruned || now.now >= link.pruned->until) {
    link.pruned = {.since = now.now,
                   .until = now.now + std::min<Duration>(backoff, limits::kPruneBackoff)};
  }
  WireFrame frame;
  frame.mutable_prune()->set_backoff_ms(static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(backoff).count()));
  for (size_t draw = 0; draw < limits::kDialDraws; ++draw) {
    const RecordPtr* record = members.records().Sample(random);
    const bool useful = record != nullptr && (*record)->node() != link.peer &&
                        (*record)->node() != local.key->id() &&
                        !(*record)->record.address.empty() &&
                        members.StateOf(**record) == MemberState::kAlive;
    if (useful) {
      *frame.mutable_prune()->add_peers() = ToProto((*record)->envelope);
    }
    if (static_cast<size_t>(frame.prune().peers_size()) == limits::kMaxPeerExchange) {
      break;
    }
  }
  outbox.Send(link.id, std::move(frame));
}

void GossipCore::State::TickMesh(Instant now) {
  if (leaving) {
    return;
  }
  if (next_heartbeat <= now.now) {
    next_heartbeat = now.now + limits::kHeartbeat;
    dialer.Expire(now.now, random);
    Heartbeat(now);
  }
  if (next_heal_dial <= now.now) {
    DialUnresponsive(now);
  }
  TickAntiEntropy(now);
}

void GossipCore::State::Heartbeat(Instant now) {
  const size_t others = std::max<size_t>(members.alive(), 1) - 1;
  exchange.Heartbeat(now.now);
  scores.Heartbeat(mesh.links(), now.now);
  const Mesh::Plan plan =
      mesh.Heartbeat(others, [this](LinkId id) { return scores.ScoreOfLink(id); }, now.now);
  for (const LinkId id : plan.graft) {
    JoinMesh(links.at(id), now);
  }
  for (const LinkId id : plan.prune) {
    SendPrune(links.at(id), now);
  }
  for (const LinkId id : plan.idle) {
    CloseIdle(id, now);
  }
  if (plan.better_than) {
    DialHigherScored(
        *plan.better_than,
        limits::kOpportunityGrafts - std::min(limits::kOpportunityGrafts, plan.graft.size()), now);
  }
  const size_t under_way =
      dialer.Dialing(DialPurpose::kMesh) + relay_planner.Searching(DialPurpose::kMesh);
  const size_t missing = plan.dials - std::min(plan.dials, under_way);
  const size_t begun = DialMembers(missing, DialPurpose::kMesh, now);
  const bool alone = mesh.links().empty() && begun == 0;
  DialSeeds(/*all=*/alone, now);
}

void GossipCore::State::DialSeeds(bool all, Instant now) {
  const auto linked = [this](const privacy::NodeId& id) { return IsLinked(id) || Graylisted(id); };
  const auto settled = [this](const privacy::NodeId& id) {
    const RecordPtr* record = members.records().Find(id);
    return record != nullptr && members.StateOf(**record) == MemberState::kAlive;
  };
  for (const std::string& address : dialer.DueSeeds(linked, settled, all, now.now)) {
    if (dialer.Begin(address, DialPurpose::kMesh, now.now)) {
      outbox.Emit(Dial{.address = address});
    }
  }
}

bool GossipCore::State::IsWorthDialing(const SignedRecord& record) const {
  return record.node() != local.key->id() &&
         (!IsLinked(record.node()) || IsLinkedByRelay(record.node())) &&
         !Graylisted(record.node()) && record.record.model_hash == local.model_hash &&
         members.StateOf(record) == MemberState::kAlive;
}

bool GossipCore::State::DialDirectly(const SignedRecord& record, DialPurpose purpose, Instant now) {
  if (!MayDial(record.record.address) || !dialer.Begin(record.record.address, purpose, now.now)) {
    return false;
  }
  outbox.Emit(Dial{.address = record.record.address});
  return true;
}

bool GossipCore::State::DialMember(const SignedRecord& record, DialPurpose purpose, Instant now) {
  return DialDirectly(record, purpose, now) ||
         (NeedsRelay(record, now) && AskRelay(record.node(), purpose, now));
}

// The members are drawn at random from all, so that groups that know each other best do not isolate
// themselves.
size_t GossipCore::State::DialMembers(size_t count, DialPurpose purpose, Instant now) {
  size_t begun = 0;
  std::vector<privacy::NodeId>
      by_relay;  // the second choice, because a link through a relay also costs a third node
  const size_t draws = count == 0 ? 0 : limits::kDialDraws;
  for (size_t draw = 0; draw < draws && begun < count; ++draw) {
    const RecordPtr* record = members.records().Sample(random);
    if (record == nullptr || !IsWorthDialing(**record) ||
        (purpose != DialPurpose::kMesh && IsLinked((*record)->node())) ||
        (purpose == DialPurpose::kMesh &&
         (mesh.BackedOff((*record)->node(), now.now) || scores.Of((*record)->node()) < 0 ||
          IsKeptOutOfMesh((*record)->record.certificate, now)))) {
      continue;
    }
    if (DialDirectly(**record, purpose, now)) {
      ++begun;
    } else if (NeedsRelay(**record, now)) {
      by_relay.push_back((*record)->node());
    }
  }
  for (const privacy::NodeId& id : by_relay) {
    begun += begun < count && AskRelay(id, purpose, now) ? 1 : 0;
  }
  return begun;
}

// Dials members that gave this node more than its neighbours do.
void GossipCore::State::DialHigherScored(double score, size_t count, Instant now) {
  for (const privacy::NodeId& id : scores.Better(score)) {
    const RecordPtr* record = count == 0 ? nullptr : members.records().Find(id);
    if (record != nullptr && IsWorthDialing(**record) && !IsLinked(id) &&
        !mesh.BackedOff(id, now.now) && DialMember(**record, DialPurpose::kMesh, now)) {
      --count;
    }
  }
}

// Dials silent members, because a partition heals through members that seemed lost.
void GossipCore::State::DialUnresponsive(Instant now) {
  const Duration period =
      std::max<Duration>(limits::kHealDialMin, limits::kHealDialPerMember *
                                                   static_cast<int64_t>(members.records().size()));
  next_heal_dial =
      now.now + period / 2 +
      Duration(static_cast<int64_t>(random.Below(static_cast<uint64_t>(period.count()))));
  const RecordPtr silent = members.RandomUnresponsive(random);
  if (silent && !IsLinked(silent->node()) && !Graylisted(silent->node()) &&
      silent->record.model_hash == local.model_hash) {
    DialMember(*silent, DialPurpose::kHeal, now);
  }
}

void GossipCore::State::ReconcileItems(const Link& link) {
  ++outbox.counters().reconciliations;
  WireFrame frame;
  *frame.mutable_recon_open() = exchange.OpenItems();
  outbox.Send(link.id, std::move(frame));
}

void GossipCore::State::StartReconciliation(const Link& link) {
  ReconcileItems(link);
  WireFrame about_members;
  *about_members.mutable_recon_open() =
      OpenReconciliation(RecordSource(members.records(), certificates.revocations()));
  about_members.mutable_recon_open()->set_space(v1::RECON_SPACE_MEMBERS);
  outbox.Send(link.id, std::move(about_members));
}

absl::Status GossipCore::State::OnReconciliation(Link& link, const v1::ReconMessage& message,
                                                 Instant now) {
  if (!link.recon.Take(now.now)) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "peer reconciles more than {} times a second; update the sending node",
                 limits::kReconPerSecond);
  }
  if (leaving) {
    return absl::OkStatus();
  }
  mesh.Touch(link.id, now.now);
  if (message.space() == v1::RECON_SPACE_MEMBERS) {
    return OnMemberReconciliation(link, message, now);
  }
  if (message.space() != v1::RECON_SPACE_ITEMS) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "reconciliation of unknown space {}; update this node",
                 static_cast<int>(message.space()));
  }
  ASSIGN_OR_RETURN(const bool differs, exchange.OnReconciliation(link.id, message, now));
  if (differs) {
    recon.RunSoon(now.now);
  }
  return absl::OkStatus();
}

void GossipCore::State::TickAntiEntropy(Instant now) {
  if (!recon.Due(now.now)) {
    return;
  }
  // Half of the exchanges are with members outside the mesh, because neighbours cannot hide these
  // from this node. There are fewer while much is exchanged, because each costs a link and four
  // signatures.
  const double outside = recon.busy() ? limits::kReconOutsideBusy : limits::kReconOutside;
  if (random.Bernoulli(outside) && DialMembers(1, DialPurpose::kExchange, now) > 0) {
    recon.Begun(ClusterScale(members.records().size()), now.now, random);
    return;
  }
  if (link_of.empty()) {
    recon.Retry(now.now);
    return;
  }
  auto chosen = link_of.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random.Below(link_of.size())));
  StartReconciliation(links.at(chosen->second));
  recon.Begun(ClusterScale(members.records().size()), now.now, random);
}

}  // namespace ruvd::federation
