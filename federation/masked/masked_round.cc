// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/masked_round.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "privacy/reasons.h"

namespace ruvd::federation {
namespace {

// A member is not left out of the next attempt for missing what most others missed, too: in that
// case this node itself probably hears nothing. It is not marked for later rounds here, but only
// where fewer failed (GroupOutcomesOf).
bool MostDid(size_t did, size_t all) {
  return 2 * did >= all;
}

// Three quarters of those who signed a set must name a member, or sign the same set, so that fewer
// liars cannot exclude a member.
bool NamedByEnough(size_t named, size_t signers) {
  return 4 * named >= 3 * signers;
}

absl::Status CheckSchedule(const MaskedSchedule& schedule) {
  if (schedule.start_ms >= 0 && 0 < schedule.keys_ms && schedule.keys_ms < schedule.commits_ms &&
      schedule.commits_ms < schedule.shares_ms && schedule.shares_ms < schedule.attempt_ms &&
      schedule.attempt_ms <= limits::kMaxMaskAttemptMillis) {
    return absl::OkStatus();
  }
  return Error(
      absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
      "a masked round cannot have keys until {} ms, commitments until {} ms, shares until {} ms "
      "and attempts of {} ms; give ascending times of at most {} ms",
      schedule.keys_ms, schedule.commits_ms, schedule.shares_ms, schedule.attempt_ms,
      limits::kMaxMaskAttemptMillis);
}

absl::Status CheckGroup(const std::vector<privacy::NodeId>& group) {
  const bool ascending = std::ranges::adjacent_find(group, std::greater_equal<>()) == group.end();
  if (ascending && group.size() >= limits::kMinCliqueMembers &&
      group.size() <= limits::kMaxCliqueMembers) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "a masked round has {} members; give {} to {}, sorted by id", group.size(),
               limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
}

absl::Status Contradiction(const Item& item) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kEquivocation,
               "node {} made two different statements in one attempt of masked round {}, the "
               "second in {} {}; it "
               "is excluded from the round",
               ToHex(item.origin).substr(0, 16), item.round, ItemKindName(item.kind),
               ToHex(item.id).substr(0, 16));
}

}  // namespace

std::vector<float> MaskedOutcome::Mean(const privacy::dp::NoiseGrid& grid) const {
  std::vector<float> mean(units.size());
  const auto members = static_cast<double>(weight());
  std::ranges::transform(units, mean.begin(), [&](int32_t unit) {
    return static_cast<float>(std::ldexp(static_cast<double>(unit), grid.exponent) / members);
  });
  return mean;
}

MaskedRound::MaskedRound(MaskedRoundConfig config)
    : config_(std::move(config)),
      layout_hash_(config_.layout.Hash()),
      items_(config_.round, layout_hash_, config_.layout.Values(), config_.group) {}

absl::StatusOr<MaskedRound> MaskedRound::Begin(MaskedRoundConfig config,
                                               std::span<const Item> known) {
  RETURN_IF_ERROR(CheckGroup(config.group));
  RETURN_IF_ERROR(CheckSchedule(config.schedule));
  RETURN_IF_ERROR(config.layout.Check());
  RETURN_IF_ERROR(config.layout.MaxUnitsPerMember(config.group.size()).status());
  MaskedRound round(std::move(config));
  for (const Item& item : known) {
    // Items of other rounds, and wrong items, have no effect here either.
    if (round.items_.Add(item).ok()) {
      round.items_new_ = true;
      round.gave_ |= item.kind == ItemKind::kMaskKey && item.origin == round.config_.self;
    }
  }
  return round;
}

int64_t MaskedRound::Elapsed(Instant now) const {
  return now.wall_ms - config_.schedule.start_ms - attempt_ * config_.schedule.attempt_ms;
}

bool MaskedRound::Candidate(const privacy::NodeId& id) const {
  return !dropped_.contains(id) && !items_.Refused(id);
}

std::vector<privacy::NodeId> MaskedRound::Candidates() const {
  std::vector<privacy::NodeId> candidates;
  std::ranges::copy_if(config_.group, std::back_inserter(candidates),
                       [this](const privacy::NodeId& id) { return Candidate(id); });
  return candidates;
}

// If two members gave the same key, it cannot be determined which one copied it: both stay out of
// this attempt, and the next one has fresh keys.
std::vector<privacy::NodeId> MaskedRound::CandidatesWithKeys() const {
  std::map<privacy::masking::MaskPublicKey, std::vector<privacy::NodeId>> holders;
  for (const privacy::NodeId& id : Candidates()) {
    if (const auto key = items_.Of(attempt_, id).key) {
      holders[*key].push_back(id);
    }
  }
  std::vector<privacy::NodeId> members;
  for (const auto& [key, ids] : holders) {
    if (ids.size() == 1) {
      members.push_back(ids.front());
    }
  }
  std::ranges::sort(members);
  return members;
}

void MaskedRound::PublishStatement(ItemKind kind, std::string payload, MaskedSteps& steps) {
  const auto added = items_.Add(kind, config_.self, std::make_shared<const std::string>(payload));
  RUVD_CHECK(added.ok() && *added == MaskedRoundItems::AddResult::kNew);
  items_new_ = true;
  gave_ |= kind == ItemKind::kMaskKey;
  steps.push_back(OfferMaskItem{.kind = kind, .payload = std::move(payload)});
}

void MaskedRound::End(absl::StatusOr<MaskedOutcome> outcome, MaskedSteps& steps) {
  ended_ = true;
  part_ = {};
  steps.push_back(MaskedRoundEnded{
      .outcome = std::move(outcome), .group = config_.group.size(), .gave = gave_});
}

void MaskedRound::StopSharing() {
  config_.takes_part = false;
  part_ = {};
}

void MaskedRound::Refuse(const privacy::NodeId& member) {
  items_.Refuse(member);
}

absl::StatusOr<MaskedSteps> MaskedRound::OnItem(const Item& item, Instant now) {
  if (ended_) {
    return MaskedSteps();
  }
  ASSIGN_OR_RETURN(const MaskedRoundItems::AddResult added, items_.Add(item));
  MaskedSteps steps;
  if (added == MaskedRoundItems::AddResult::kContradiction) {
    steps.push_back(MaskMemberRefused{.member = item.origin, .status = Contradiction(item)});
  }
  items_new_ |= added == MaskedRoundItems::AddResult::kNew;
  std::ranges::move(Advance(now), std::back_inserter(steps));
  return steps;
}

MaskedSteps MaskedRound::OnTick(Instant now) {
  return Advance(now);
}

MaskedSteps MaskedRound::Advance(Instant now) {
  MaskedSteps steps;
  while (!ended_ && Elapsed(now) >= 0) {
    TakeSum(steps);
    if (ended_) {
      break;
    }
    if (Elapsed(now) < config_.schedule.attempt_ms) {
      BeginAttempt(now, steps);
      SignSet(now, steps);
      RequestInput(now, steps);
      RequestPayment(now, steps);
      break;
    }
    EndAttempt();
    if (attempt_ + 1U == limits::kMaxMaskAttempts ||
        Candidates().size() < limits::kMinCliqueMembers) {
      End(Error(absl::StatusCode::kAborted, reasons::kMaskedRoundFailed,
                "masked round {} ended without a sum after {} attempt(s), with {} of {} members "
                "left; the next round begins without those that owe a share",
                config_.round.round, attempt_ + 1, Candidates().size(), config_.group.size()),
          steps);
      break;
    }
    ++attempt_;
    begun_ = false;
    part_ = {};
  }
  return steps;
}

void MaskedRound::BeginAttempt(Instant now, MaskedSteps& steps) {
  if (begun_) {
    return;
  }
  begun_ = true;
  const bool member = std::ranges::find(config_.group, config_.self) != config_.group.end();
  // A key that this node gave before a restart is already known: its secret is lost, and a second
  // key would be a contradiction.
  if (!member || !config_.takes_part || !Candidate(config_.self) ||
      items_.Of(attempt_, config_.self).key || Elapsed(now) >= config_.schedule.keys_ms) {
    return;
  }
  auto session = privacy::masking::MaskingSession::Begin(config_.round, config_.layout,
                                                         config_.self, config_.random);
  RUVD_CHECK(session.ok());  // the layout was checked
  part_.session = std::make_unique<privacy::masking::MaskingSession>(*std::move(session));
  PublishStatement(ItemKind::kMaskKey,
                   EncodeMaskKey({.attempt = attempt_,
                                  .offer = part_.session->offer(),
                                  .announcement = config_.announcement}),
                   steps);
}

void MaskedRound::SignSet(Instant now, MaskedSteps& steps) {
  if (part_.session == nullptr || part_.set || items_.Of(attempt_, config_.self).set ||
      !config_.ready || Elapsed(now) >= config_.schedule.commits_ms) {
    return;
  }
  std::vector<privacy::NodeId> members = CandidatesWithKeys();
  if (members != Candidates() && Elapsed(now) < config_.schedule.keys_ms) {
    return;
  }
  if (!std::ranges::binary_search(members, config_.self)) {
    part_.session.reset();  // another member copied this node's key
    return;
  }
  std::erase_if(members, [&](const privacy::NodeId& id) {
    if (id == config_.self) {
      return true;
    }
    const absl::Status offered = part_.session->AddOffer(id, {.round = config_.round.round,
                                                              .layout = layout_hash_,
                                                              .key = *items_.Of(attempt_, id).key});
    if (!offered.ok()) {
      items_.Refuse(id);
      steps.push_back(MaskMemberRefused{.member = id, .status = offered});
    }
    return !offered.ok();
  });
  auto set = part_.session->CliqueOf(members);
  if (!set.ok() || !config_.layout.MaxUnitsPerMember(set->members.size()).ok()) {
    part_.session.reset();  // there are too few members, or too few besides those that may collude
    return;
  }
  part_.set = *std::move(set);
  part_.set_hash = part_.set->SetHash();
  own_sets_.insert(part_.set_hash);
  PublishStatement(ItemKind::kMaskSet, EncodeMaskSet({.attempt = attempt_, .clique = *part_.set}),
                   steps);
}

template <typename Did>
bool MaskedRound::AnyMember(Did did) const {
  return part_.set &&
         std::ranges::any_of(part_.set->members, [&](const privacy::masking::CliqueMember& member) {
           return did(items_.Of(attempt_, member.id));
         });
}

template <typename Did>
bool MaskedRound::EveryMember(Did did) const {
  return part_.set && !AnyMember([&](const MaskStatements& said) { return !did(said); });
}

void MaskedRound::RequestInput(Instant now, MaskedSteps& steps) {
  const auto committed = [this](const MaskStatements& said) {
    return said.committed_to == part_.set_hash;
  };
  const int64_t until =
      AnyMember(committed) ? config_.schedule.shares_ms : config_.schedule.commits_ms;
  if (part_.session == nullptr || part_.asked || Elapsed(now) >= until ||
      !EveryMember([this](const MaskStatements& said) {
        return said.set && said.set_hash == part_.set_hash;
      })) {
    return;
  }
  part_.asked = true;
  steps.push_back(MaskInputWanted{.attempt = attempt_, .set = *part_.set});
}

absl::StatusOr<MaskedSteps> MaskedRound::SubmitInput(uint8_t attempt,
                                                     privacy::masking::MaskInput input,
                                                     Instant now) {
  const bool open = !ended_ && attempt == attempt_ && part_.asked && part_.session != nullptr;
  if (!open || Elapsed(now) >= config_.schedule.attempt_ms) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskReused,
                 "attempt {} of masked round {} needs no input now; a key masks only once, and "
                 "only before its attempt ends",
                 attempt, config_.round.round);
  }
  // Whatever happens below, this key is not used again.
  const std::unique_ptr<privacy::masking::MaskingSession> session = std::move(part_.session);
  MaskShareItem share{.attempt = attempt_, .salt = {}, .update = {}};
  config_.random(share.salt);
  ASSIGN_OR_RETURN(share.update, session->Mask(*part_.set, std::move(input)));
  part_.share = EncodeMaskShare(share);
  MaskedSteps steps;
  PublishStatement(ItemKind::kMaskCommitment,
                   EncodeMaskCommitment({.attempt = attempt_,
                                         .round = config_.round.round,
                                         .set = part_.set_hash,
                                         .layout = layout_hash_,
                                         .share = CommitmentTo(*part_.share)}),
                   steps);
  std::ranges::move(Advance(now), std::back_inserter(steps));
  return steps;
}

void MaskedRound::RequestPayment(Instant now, MaskedSteps& steps) {
  const auto shared = [this](const MaskStatements& said) {
    return said.HasShareOf(part_.set_hash);
  };
  const int64_t until =
      AnyMember(shared) ? config_.schedule.attempt_ms : config_.schedule.shares_ms;
  if (!part_.share || part_.asked_payment || Elapsed(now) >= until ||
      !EveryMember(
          [this](const MaskStatements& said) { return said.committed_to == part_.set_hash; })) {
    return;
  }
  part_.asked_payment = true;
  steps.push_back(MaskPaymentWanted{.attempt = attempt_});
}

absl::StatusOr<MaskedSteps> MaskedRound::Reveal(uint8_t attempt, uint64_t reservation,
                                                Instant now) {
  const bool open = !ended_ && attempt == attempt_ && part_.asked_payment && part_.share &&
                    reservation > config_.last_reservation;
  if (!open || Elapsed(now) >= config_.schedule.attempt_ms) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kMaskReused,
                 "attempt {} of masked round {} has no share that reservation {} pays for; a "
                 "share leaves once, for a charge of its own, before its attempt ends",
                 attempt, config_.round.round, reservation);
  }
  config_.last_reservation = reservation;
  MaskedSteps steps;
  PublishStatement(ItemKind::kMaskShare, *std::exchange(part_.share, std::nullopt), steps);
  std::ranges::move(Advance(now), std::back_inserter(steps));
  return steps;
}

// A member takes the sum of the set that it signed. Other nodes take the sum of a majority of the
// group, so that a few members that agree with each other do not speak for all.
bool MaskedRound::Counts(const privacy::masking::Clique& set) const {
  return own_sets_.contains(set.SetHash()) || 2 * set.members.size() > config_.group.size();
}

// Looks at earlier attempts, too, because their last share may come late.
void MaskedRound::TakeSum(MaskedSteps& steps) {
  if (!std::exchange(items_new_, false)) {
    return;
  }
  for (uint8_t attempt = 0; attempt < limits::kMaxMaskAttempts; ++attempt) {
    for (const privacy::masking::Clique& set : items_.Complete(attempt)) {
      if (!Counts(set)) {
        continue;
      }
      auto units = items_.Sum(attempt, set, config_.layout);
      if (units.ok()) {
        End(MaskedOutcome{.attempt = attempt, .set = set, .units = *std::move(units)}, steps);
      } else {
        End(units.status(), steps);
      }
      return;
    }
  }
}

// Nodes may differ in who is in the group: a backdated key of the round before may have reached
// only some of them. If few nodes had it, too few name its owner; if most had it, the few others
// are left out, because otherwise the views would differ in every attempt.
std::set<privacy::NodeId> MaskedRound::Dissenters(const std::set<privacy::NodeId>& failed) const {
  std::map<Digest, std::vector<privacy::NodeId>> signers;
  std::set<Digest> hopeless;  // sets with a member that failed; their signers will sign another set
  size_t all = 0;
  for (const privacy::NodeId& id : Candidates()) {
    const MaskStatements said = items_.Of(attempt_, id);
    if (!said.set) {
      continue;
    }
    ++all;
    signers[said.set_hash].push_back(id);
    if (std::ranges::any_of(said.set->members, [&](const privacy::masking::CliqueMember& member) {
          return failed.contains(member.id);
        })) {
      hopeless.insert(said.set_hash);
    }
  }
  std::set<privacy::NodeId> dissenters;
  for (const auto& [hash, ids] : signers) {
    if (NamedByEnough(ids.size(), all) && !hopeless.contains(hash)) {
      for (const auto& [other, few] : signers) {
        if (other != hash) {
          dissenters.insert(few.begin(), few.end());
        }
      }
    }
  }
  return dissenters;
}

void MaskedRound::AddDefaulters(const privacy::masking::Clique& set,
                                std::set<privacy::NodeId>* failed) const {
  const Digest hash = set.SetHash();
  std::vector<privacy::NodeId> uncommitted;
  std::vector<privacy::NodeId> withheld;
  for (const privacy::masking::CliqueMember& member : set.members) {
    const MaskStatements said = items_.Of(attempt_, member.id);
    if (said.committed_to != hash) {
      uncommitted.push_back(member.id);
    }
    if (!said.HasShareOf(hash)) {
      withheld.push_back(member.id);
    }
  }
  // Without all commitments no member owes a share.
  const std::vector<privacy::NodeId>& owed = uncommitted.empty() ? withheld : uncommitted;
  if (MostDid(set.members.size() - owed.size(), set.members.size())) {
    failed->insert(owed.begin(), owed.end());
  }
}

// A member that gave a key and failed afterwards is left out of the next attempts. This is judged
// by the items alone, not by the set that this node signed, so nodes with the same items (which
// differ only in the last ones) get the same members.
void MaskedRound::EndAttempt() {
  std::vector<privacy::NodeId> with_key;
  std::map<privacy::NodeId, size_t> named;
  size_t signers = 0;
  for (const privacy::NodeId& id : Candidates()) {
    const MaskStatements said = items_.Of(attempt_, id);
    if (said.key) {
      with_key.push_back(id);
    }
    if (said.set) {
      ++signers;
      for (const privacy::masking::CliqueMember& other : said.set->members) {
        ++named[other.id];
      }
    }
  }
  std::set<privacy::NodeId> failed;
  for (const privacy::NodeId& id : with_key) {
    const bool silent = !items_.Of(attempt_, id).set && MostDid(signers, with_key.size());
    if (silent || !NamedByEnough(named[id], signers)) {
      failed.insert(id);
    }
  }
  for (const privacy::masking::Clique& set : items_.Agreed(attempt_)) {
    AddDefaulters(set, &failed);
  }
  failed.merge(Dissenters(failed));
  dropped_.merge(failed);
}

}  // namespace ruvd::federation
