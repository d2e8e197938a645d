// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The parts of ItemExchange that are driven by time, by anti-entropy and by this node itself.

#include <algorithm>
#include <functional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/exchange.h"
#include "federation/gossip/learner_items.h"
#include "federation/gossip/reconcile.h"
#include "federation/limits.h"
#include "federation/membership/score_limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

// Returns whether an item is of rounds that this node does not run, so that it can never count. The
// plan changes only while the node does not run.
bool IsOfOtherRounds(const Item& item, const LearnerPlan* plan, int64_t wall_ms) {
  return IsLearnerItem(item.kind) &&
         ReasonOf(CheckLearnerItem(item.kind, *item.payload, item.round, plan, wall_ms)) ==
             reasons::kPlanMismatch;
}

}  // namespace

int64_t ItemExchange::LifeMillisOf(ItemKind kind) const {
  if (kind == ItemKind::kWithdrawal) {
    return limits::kWithdrawalLifeMillis;
  }
  if (IsMaskItem(kind)) {
    // A sum is as good as a contribution, so its shares live as long.
    return rules_.plan == nullptr
               ? limits::kMaskItemLifeMillis
               : std::max(limits::kMaskItemLifeMillis, LearnerLifeMillis(*rules_.plan));
  }
  return IsLearnerItem(kind) && rules_.plan != nullptr ? LearnerLifeMillis(*rules_.plan)
                                                       : limits::kItemLifeMillis;
}

v1::ReconMessage ItemExchange::OpenItems() const {
  return OpenReconciliation(ItemSource(table_.items()));
}

absl::StatusOr<bool> ItemExchange::OnReconciliation(LinkId link, const v1::ReconMessage& message,
                                                    Instant now) {
  wall_ms_ = now.wall_ms;
  ASSIGN_OR_RETURN(ReconAnswer answer, AnswerReconciliation(ItemSource(table_.items()), message));
  bool differs = !answer.surplus.empty();
  for (const Digest& id : answer.missing) {
    if (!table_.HasTombstone(id) && !put_off_.contains(id)) {
      differs = true;
      if (!fetcher_.Transferring(id)) {
        fetcher_.RequestManifest(id, link);
      }
    }
  }
  if (answer.message.ranges_size() > 0) {
    v1::WireFrame frame;
    *frame.mutable_recon_message() = std::move(answer.message);
    outbox_->Send(link, std::move(frame));
  }
  Announce(link, answer.surplus);
  SendRequests(now.now);
  return differs;
}

bool ItemExchange::Awaits(LinkId link, const v1::WireFrame& frame) const {
  if (frame.has_chunk()) {
    const auto id = DigestFrom(frame.chunk().item_id());
    return id && fetcher_.AwaitsChunk(link, *id, frame.chunk().index());
  }
  return frame.has_push() && fetcher_.AwaitsManifests(link) &&
         fetcher_.AwaitsManifest(link, privacy::MessageId(FromProto(frame.push().envelope())));
}

void ItemExchange::SendRequests(TimePoint now) {
  std::map<LinkId, v1::WireFrame> wants;
  for (const Fetcher::Request& request : fetcher_.Poll(now)) {
    promises_.RecordRequest(request.link, {.id = request.id, .chunk = request.chunk}, now);
    const std::string id(AsText(request.id));
    if (request.chunk) {
      v1::WireFrame frame;
      frame.mutable_chunk_request()->set_item_id(id);
      frame.mutable_chunk_request()->set_index(*request.chunk);
      outbox_->Send(request.link, std::move(frame));
      continue;
    }
    v1::WireFrame& frame = wants[request.link];
    frame.mutable_i_want()->add_ids(id);
    if (static_cast<size_t>(frame.i_want().ids_size()) == limits::kMaxIdsPerFrame) {
      outbox_->Send(request.link, std::exchange(frame, {}));
    }
  }
  for (auto& [link, frame] : wants) {
    if (frame.i_want().ids_size() > 0) {
      outbox_->Send(link, std::move(frame));
    }
  }
}

void ItemExchange::OnAnswer(LinkId link, TimePoint sent) {
  const std::vector<Digest> ids = promises_.TakeBrokenPromises(link, sent);
  for (const Digest& id : ids) {
    fetcher_.DropAnnouncer(id, link);  // once is enough: a second request would count again
  }
  const size_t broken = std::min(ids.size(), limits::kMaxBrokenAtOnce);
  if (broken > 0) {
    scores_->RecordMisbehaviour(link, limits::kBrokenPromiseWeight * static_cast<double>(broken));
  }
}

void ItemExchange::Tick(Instant now, bool expires, bool corrected) {
  wall_ms_ = now.wall_ms;
  if (corrected) {
    DropOwnOfTheFuture(now);
  }
  if (expires) {
    for (const Item& item : table_.Expire(now.wall_ms)) {
      DropItem(item);
    }
  }
  for (auto& [link, ids] : std::exchange(to_announce_, {})) {
    std::erase_if(ids, [this](const Digest& id) { return table_.Find(id) == nullptr; });
    Announce(link, ids);
  }
  TrimHolders();
  std::erase_if(put_off_, [&now](const auto& entry) { return entry.second <= now.now; });
  ServeChunks(now.now);
  SendRequests(now.now);
}

void ItemExchange::Restore(std::vector<Item> items, Instant now, bool expires) {
  wall_ms_ = now.wall_ms;
  // Withdrawals come first, so that the items that they cover are not restored.
  std::ranges::stable_partition(
      items, [](const Item& item) { return item.kind == ItemKind::kWithdrawal; });
  for (Item& item : items) {
    const auto header = privacy::ParseHeader(AsBytes(item.envelope->header));
    const bool withdrawn = withdrawals_.Covers(item);
    if (withdrawn && item.origin != local_->key->id()) {
      // The node stopped before it acted on the withdrawal, so what it made from the item may still
      // exist.
      outbox_->Emit(ItemWithdrawn{.item = item, .own = false});
    }
    // An own contribution stays, because peers may still count it and must hear of its withdrawal.
    const bool needed = item.kind == ItemKind::kContribution && item.origin == local_->key->id();
    if (!needed && IsOfOtherRounds(item, rules_.plan.get(), now.wall_ms)) {
      table_.AddTombstone(item.id, item.expires_ms);  // so that it is not fetched again
    }
    const bool expired = expires && item.expires_ms <= now.wall_ms;
    if (withdrawn || !header.ok() || expired || IsOfFormerKey(item, *header) || Known(item.id)) {
      outbox_->Emit(ItemDropped{.id = item.id, .kind = item.kind});
      continue;
    }
    replay_.MarkSeen(*header);
    manifests_.Record(*header, *item.envelope);
    const Digest id = item.id;
    const ItemKind kind = item.kind;
    const ItemTable::Inserted inserted = table_.Insert(std::move(item));
    for (const Item& dropped : inserted.dropped) {
      DropItem(dropped);
    }
    if (!inserted.kept) {
      outbox_->Emit(ItemDropped{.id = id, .kind = kind});
    } else if (kind == ItemKind::kWithdrawal) {
      Apply(Item(*table_.Find(id)));
    }
  }
}

absl::StatusOr<Digest> ItemExchange::Offer(ItemKind kind, uint64_t round, std::string payload,
                                           Instant now) {
  wall_ms_ = now.wall_ms;
  if (kind != ItemKind::kWithdrawal &&
      (local_->certificate.roles & privacy::roles::kContributor) == 0) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kRoleMissing,
                 "this node may not contribute; ask the operator for a certificate with that role");
  }
  if (payload.size() > limits::kMaxPayloadBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "an item of {} bytes is above the limit of {}; lower its rank", payload.size(),
                 limits::kMaxPayloadBytes);
  }
  RETURN_IF_ERROR(CheckContent(kind, payload, round, local_->key->id(), local_->key->public_key()));
  Manifest manifest;
  manifest.certificate = local_->certificate;
  manifest.kind = kind;
  manifest.payload_bytes = payload.size();
  manifest.payload_root = MerkleTree(payload).root();
  manifest.model_hash = local_->model_hash;
  manifest.frame_id = local_->frame_id;
  const int64_t expires =
      std::min(now.wall_ms + LifeMillisOf(kind), local_->certificate.not_after_ms);
  ASSIGN_OR_RETURN(privacy::Envelope envelope,
                   sealer_->Seal(PurposeOf(kind), kBodyManifest, round, EncodeManifest(manifest),
                                 now.wall_ms, expires));
  ASSIGN_OR_RETURN(Item item, MakeItem(std::move(envelope), std::move(payload)));
  const Digest id = item.id;
  ++outbox_->counters().offered_items;
  Accept(std::move(item), /*own=*/true);
  return id;
}

void ItemExchange::Withdraw(ItemKind kind, const std::function<bool(const Item&)>& which) {
  DropAll(
      [&](const Item& item) {
        return item.kind == kind && item.origin == local_->key->id() && (!which || which(item));
      },
      /*withdrawn=*/true);
}

void ItemExchange::Expel(const privacy::NodeId& origin) {
  for (const auto& [id, expires_ms] : fetcher_.ForgetOrigin(origin)) {
    table_.AddTombstone(id, expires_ms);
  }
  DropAll([&](const Item& item) { return item.origin == origin; }, /*withdrawn=*/true);
}

bool ItemExchange::IsOfFormerKey(const Item& item, const privacy::EnvelopeHeader& header) const {
  if (IsLearnerItem(item.kind) || IsMaskItem(item.kind)) {
    return false;
  }
  const bool own = item.origin == local_->key->id() && header.key_epoch < local_->key->epoch();
  return own || header.key_epoch < certificates_->revocations().LeastEpoch(header.sender_id);
}

void ItemExchange::DropOfEndedKeys() {
  DropAll(
      [this](const Item& item) {
        const auto header = privacy::ParseHeader(AsBytes(item.envelope->header));
        return header.ok() && IsOfFormerKey(item, *header);
      },
      /*withdrawn=*/false);
}

void ItemExchange::DropOwnOfTheFuture(Instant now) {
  const auto is_ahead = [&](const Item& item) {
    return item.origin == local_->key->id() &&
           item.created_ms > now.wall_ms + limits::kMaxEnvelopeAheadMillis;
  };
  std::vector<Item> withdrawals;
  for (const auto& [id, item] : table_.items()) {
    if (item.kind == ItemKind::kWithdrawal && is_ahead(item)) {
      withdrawals.push_back(item);
    }
  }
  DropAll(is_ahead, /*withdrawn=*/false);
  for (const Item& item : withdrawals) {
    if (const auto offered = Offer(item.kind, item.round, *item.payload, now); !offered.ok()) {
      outbox_->Refuse(/*link=*/0, offered.status());
    }
  }
}

void ItemExchange::DropAll(const std::function<bool(const Item&)>& which, bool withdrawn) {
  std::vector<Item> dropped;
  for (const auto& [id, item] : table_.items()) {
    if (which(item)) {
      dropped.push_back(item);
    }
  }
  for (const Item& item : dropped) {
    table_.Drop(item.id);
    if (withdrawn) {
      outbox_->Emit(ItemWithdrawn{.item = item, .own = item.origin == local_->key->id()});
    }
    DropItem(item);
  }
}

}  // namespace ruvd::federation
