// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/membership/suspicion.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {

std::string EncodeAccusation(const Accusation& accusation) {
  ByteWriter writer;
  writer.WriteText(accusation.certificate.Encode()).WriteBytes(accusation.suspect);
  return writer.Write(accusation.incarnation).Take();
}

absl::StatusOr<AccusationClaim> PeekAccusation(std::span<const uint8_t> body) {
  ByteReader reader(body);
  const auto certificate = reader.ReadBytes(privacy::AdmissionCert::kBytes);
  const auto suspect = reader.ReadArray<32>();
  const auto incarnation = reader.Read<uint64_t>();
  if (reader.failed() || reader.remaining() != 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "suspicion is truncated or too long; update the sending node");
  }
  return AccusationClaim{.accuser = privacy::AdmissionCert::ClaimedNodeId(*certificate),
                         .suspect = *suspect,
                         .incarnation = *incarnation};
}

absl::StatusOr<Accusation> DecodeAccusation(std::span<const uint8_t> body) {
  ASSIGN_OR_RETURN(const AccusationClaim claim, PeekAccusation(body));
  Accusation accusation;
  ASSIGN_OR_RETURN(accusation.certificate,
                   privacy::AdmissionCert::Parse(body.first(privacy::AdmissionCert::kBytes)));
  accusation.suspect = claim.suspect;
  accusation.incarnation = claim.incarnation;
  return accusation;
}

Duration SuspicionTimeout(size_t members, size_t confirmations, size_t expected) {
  const double scale = std::max(1.0, std::log10(static_cast<double>(std::max<size_t>(members, 1))));
  const double unit = std::chrono::duration<double>(limits::kSuspicionUnit).count();
  const double least = limits::kSuspicionMult * scale * unit;
  const double most = limits::kSuspicionMaxMult * least;
  const double share = expected == 0 ? 1
                                     : std::log(static_cast<double>(confirmations) + 1) /
                                           std::log(static_cast<double>(expected) + 1);
  const double timeout = std::max(least, most - share * (most - least));
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(timeout));
}

size_t ExpectedConfirmations(size_t members) {
  // without this node, the suspect and the accuser
  const size_t others = members < 3 ? 0 : members - 3;
  return std::min(others, members < limits::kManyMembers ? limits::kSuspicionConfirmationsFew
                                                         : limits::kSuspicionConfirmations);
}

bool SuspicionTable::Settled(const AccusationClaim& claim, size_t members) const {
  const auto found = suspects_.find(claim.suspect);
  return found != suspects_.end() && found->second.incarnation == claim.incarnation &&
         !Counts(found->second, claim.accuser, members);
}

bool SuspicionTable::Counts(const Suspect& suspect, const privacy::NodeId& accuser,
                            size_t members) {
  return suspect.accusers.size() <= ExpectedConfirmations(members) &&
         std::find(suspect.accusers.begin(), suspect.accusers.end(), accuser) ==
             suspect.accusers.end();
}

bool SuspicionTable::Add(const Accusation& accusation,
                         std::shared_ptr<const privacy::Envelope> envelope, size_t members,
                         TimePoint now) {
  auto found = suspects_.find(accusation.suspect);
  if (found != suspects_.end() && found->second.incarnation != accusation.incarnation) {
    suspects_.erase(found);  // it is about an older record, which was refuted
    found = suspects_.end();
  }
  if (found == suspects_.end()) {
    if (suspects_.size() >= limits::kMaxSuspects) {
      return false;
    }
    found = suspects_.emplace(accusation.suspect, Suspect{}).first;
    found->second.incarnation = accusation.incarnation;
    found->second.since = now;
    found->second.evidence = std::move(envelope);
  }
  Suspect& suspect = found->second;
  const privacy::NodeId& accuser = accusation.certificate.node_id;
  if (!Counts(suspect, accuser, members)) {
    return false;
  }
  suspect.accusers.push_back(accuser);
  CreditOf(accuser, now).Charge(now);
  return true;
}

TokenBucket& SuspicionTable::CreditOf(const privacy::NodeId& accuser, TimePoint now) {
  if (credits_.size() >= limits::kMaxSuspects && !credits_.contains(accuser)) {
    credits_.erase(credits_.begin());  // ids are hashes, so the first one is as good as any
  }
  return credits_
      .try_emplace(accuser, limits::kFalseAccusationsPerSecond, limits::kFalseAccusationBurst, now)
      .first->second;
}

bool SuspicionTable::HasCredit(const privacy::NodeId& accuser, TimePoint now) {
  const auto credit = credits_.find(accuser);
  return credit == credits_.end() || credit->second.Has(now);
}

void SuspicionTable::ChargeOwn(const privacy::NodeId& accuser, uint64_t incarnation,
                               TimePoint now) {
  if (std::exchange(own_incarnation_, incarnation) != incarnation) {
    own_accusers_.clear();
  }
  if (own_accusers_.size() < limits::kMaxSuspects && own_accusers_.insert(accuser).second) {
    CreditOf(accuser, now).Charge(now);
  }
}

std::vector<privacy::NodeId> SuspicionTable::EndOf(
    const std::function<bool(const privacy::NodeId&)>& accuser) {
  std::vector<privacy::NodeId> ended;
  for (auto it = suspects_.begin(); it != suspects_.end();) {
    if (accuser(it->second.accusers.front())) {
      ended.push_back(it->first);
      it = suspects_.erase(it);
    } else {
      ++it;
    }
  }
  return ended;
}

bool SuspicionTable::Dead(const privacy::NodeId& suspect) const {
  const auto found = suspects_.find(suspect);
  return found != suspects_.end() && found->second.dead;
}

std::shared_ptr<const privacy::Envelope> SuspicionTable::EvidenceOf(
    const privacy::NodeId& suspect) const {
  const auto found = suspects_.find(suspect);
  return found == suspects_.end() ? nullptr : found->second.evidence;
}

std::vector<std::shared_ptr<const privacy::Envelope>> SuspicionTable::Evidence(size_t count) {
  std::vector<std::shared_ptr<const privacy::Envelope>> evidence;
  count = std::min(count, suspects_.size());
  auto it = suspects_.lower_bound(next_evidence_);
  while (evidence.size() < count) {
    it = it == suspects_.end() ? suspects_.begin() : it;
    evidence.push_back(it->second.evidence);
    ++it;
  }
  next_evidence_ = it == suspects_.end() ? privacy::NodeId{} : it->first;
  return evidence;
}

Duration SuspicionTable::TimeoutOf(const Suspect& suspect, size_t members) const {
  return lifeguard_ ? SuspicionTimeout(members, suspect.accusers.size() - 1,
                                       ExpectedConfirmations(members))
                    : SuspicionTimeout(members, 0, 0);
}

std::vector<privacy::NodeId> SuspicionTable::TakeExpired(size_t members, TimePoint now) {
  std::vector<privacy::NodeId> expired;
  for (auto& [id, suspect] : suspects_) {
    if (!suspect.dead && now - suspect.since >= TimeoutOf(suspect, members)) {
      suspect.dead = true;
      expired.push_back(id);
      for (const privacy::NodeId& accuser : suspect.accusers) {
        if (const auto credit = credits_.find(accuser); credit != credits_.end()) {
          credit->second.Return(1);
        }
      }
    }
  }
  return expired;
}

void SuspicionTable::Renew(const privacy::NodeId& suspect, TimePoint now) {
  if (auto found = suspects_.find(suspect); found != suspects_.end()) {
    found->second.since = now;
    found->second.dead = false;
  }
}

void SuspicionTable::Postpone(Duration pause) {
  for (auto& [id, suspect] : suspects_) {
    suspect.since += pause;
  }
}

}  // namespace ruvd::federation
