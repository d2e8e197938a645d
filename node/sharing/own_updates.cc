// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of OwnPatterns that offers updates of all own patterns, plain or noised.

#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/log/log.h"
#include "node/sharing/own_patterns.h"

namespace ruvd::sharing {
namespace {

absl::Status NobodyAgreed(size_t patterns) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "each of the {} pattern(s) that could be shared contains lessons of a user who did "
               "not agree to the tier dp, or lessons whose user was not recorded; ask the users "
               "(ruvd consent allow), or let new feedback teach the patterns again",
               patterns);
}

}  // namespace

absl::StatusOr<OwnCores> OwnPatterns::NextDelta(privacy::ConsentTier tier,
                                                federation::Instant now) const {
  return OwnUpdate(patterns_, self_, layout_,
                   [this, tier, now](const serving::PatternPayload& payload) {
                     return MayBeShared(payload, tier, now);
                   });
}

void OwnPatterns::Withdraw(const std::vector<Digest>& updates, federation::GossipCore& core,
                           federation::Actions* actions) {
  if (updates.empty()) {
    return;
  }
  Append(core.WithdrawItems(updates), actions);
  releases_.Forget(updates);
  const storage::ReleaseSources* const newest = releases_.NewestUpdate();
  in_newest_ = newest == nullptr ? std::map<storage::PatternId, int64_t>() : newest->patterns;
  delta_changed_ = true;
}

bool OwnPatterns::Record(storage::ReleaseSources sources, federation::GossipCore& core,
                         federation::Actions* offered) {
  const federation::Item* item = nullptr;
  for (const federation::Action& action : *offered) {
    if (const auto* const accepted = std::get_if<federation::ItemAccepted>(&action);
        accepted != nullptr) {
      item = &accepted->item;
    }
  }
  if (item == nullptr) {
    return false;
  }
  const Digest id = item->id;
  sources.item = id;
  sources.created_ms = item->created_ms;
  if (const absl::Status noted = releases_.Record(std::move(sources)); !noted.ok()) {
    LogError("an update is not offered, because its contributors could not be recorded: {}",
             MessageOf(noted));
    std::erase_if(*offered, [](const federation::Action& action) {
      return std::holds_alternative<federation::SendFrame>(action) ||
             std::holds_alternative<federation::ItemAccepted>(action);
    });
    Append(core.WithdrawItems({{id}}), offered);
    return false;
  }
  std::set<Digest> live;
  for (const federation::Item& one : core.Items()) {
    live.insert(one.id);
  }
  releases_.RetainOnly(live);
  return true;
}

federation::Actions OwnPatterns::RecordContribution(federation::Actions offered,
                                                    std::vector<privacy::Contributor> contributors,
                                                    federation::GossipCore& core) {
  Record({.item = {}, .patterns = {}, .contributors = std::move(contributors)}, core, &offered);
  return offered;
}

federation::Actions OwnPatterns::RecordSources(federation::Actions offered, OwnCores own,
                                               federation::GossipCore& core) {
  if (Record({.item = {}, .patterns = own.patterns, .contributors = std::move(own.contributors)},
             core, &offered)) {
    in_newest_ = std::move(own.patterns);
    delta_changed_ = false;
  }
  return offered;
}

absl::StatusOr<federation::Actions> OwnPatterns::OfferDelta(uint64_t round,
                                                            federation::GossipCore& core,
                                                            federation::Instant now) {
  if (core.consent() != privacy::ConsentTier::kPublic) {
    return federation::Actions();
  }
  ASSIGN_OR_RETURN(OwnCores own, NextDelta(privacy::ConsentTier::kPublic, now));
  if (own.update.banks.empty()) {
    delta_changed_ = false;
    return federation::Actions();
  }
  ASSIGN_OR_RETURN(federation::Actions actions, core.OfferUpdate(round, own.update, now));
  return RecordSources(std::move(actions), std::move(own), core);
}

absl::StatusOr<federation::Actions> OwnPatterns::OfferNoised(uint64_t round, DpRelease& release,
                                                             federation::GossipCore& core,
                                                             federation::Instant now) {
  if (core.consent() != privacy::ConsentTier::kDp || consents_ == nullptr || !release.Due()) {
    return federation::Actions();
  }
  if (absl::Status allowed = release.Check(); !allowed.ok()) {
    release.RecordRefusal(allowed);
    return federation::Actions();
  }
  ASSIGN_OR_RETURN(OwnCores own, NextDelta(privacy::ConsentTier::kDp, now));
  if (own.update.banks.empty() || own.patterns == in_newest_) {
    delta_changed_ = false;
    if (own.left_out > 0 && own.update.banks.empty()) {
      release.RecordRefusal(NobodyAgreed(own.left_out));
    }
    return federation::Actions();
  }
  const absl::StatusOr<federation::AdapterUpdate> noised =
      release.Release(std::move(own.update), own.contributors,
                      consents_->ForRelease(privacy::ConsentTier::kDp, now.wall_ms));
  if (!noised.ok()) {
    return federation::Actions();  // the release has noted the error; it is tried again
  }
  ASSIGN_OR_RETURN(federation::Actions actions,
                   core.OfferUpdate(round, *noised, now, privacy::ShareableKind::kDpAdapterDelta));
  return RecordSources(std::move(actions), std::move(own), core);
}

}  // namespace ruvd::sharing
