// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/exchange.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/learner_items.h"
#include "federation/gossip/reconcile.h"
#include "federation/limits.h"
#include "federation/masked/messages.h"
#include "federation/patterns/shared_expert.h"
#include "federation/patterns/shared_pattern.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

absl::Status OtherPlan(const Manifest& manifest, uint64_t most) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kPlanMismatch,
               "a {} of {} bytes came from {}, but the plan of this node allows {}; set "
               "the keys of the section federation alike on all nodes",
               ItemKindName(manifest.kind), manifest.payload_bytes, manifest.certificate.name,
               most);
}

absl::Status OverBudget(const Manifest& manifest) {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kOverBudget,
               "node {} spreads more items or bytes than one member may; this {} of {} bytes is "
               "fetched later, if the member still has it",
               manifest.certificate.name, ItemKindName(manifest.kind), manifest.payload_bytes);
}

// Returns the number of newest items of each kind of masked rounds that are kept of an origin.
size_t MaskItemsOf(const LearnerPlan* plan) {
  return plan == nullptr ? limits::kMaxMaskItemsPerOrigin : limits::kMaxLearnerMaskItemsPerOrigin;
}

}  // namespace

ItemExchange::ItemExchange(const LocalNode& local, Rules rules, CertificateStore& certificates,
                           const EvidenceTable& evidence, PeerScores& scores, Sealer& sealer,
                           Outbox& outbox, const Mesh& mesh)
    : local_(&local),
      rules_(std::move(rules)),
      certificates_(&certificates),
      evidence_(&evidence),
      scores_(&scores),
      sealer_(&sealer),
      outbox_(&outbox),
      mesh_(&mesh),
      table_(MaskItemsOf(rules_.plan.get())),
      budget_(rules_.plan.get(), MaskItemsOf(rules_.plan.get())) {}

void ItemExchange::LinkDown(LinkId link) {
  other_plan_.erase(link);
  to_announce_.erase(link);
  to_confirm_.erase(link);
  fetcher_.LinkDown(link);
  promises_.LinkDown(link);
  chunks_.LinkDown(link);
  denials_.erase(link);
  for (auto& [id, holders] : holders_) {
    std::erase_if(holders.links, [link](const Holder& holder) { return holder.link == link; });
  }
}

ItemExchange::Holder& ItemExchange::HolderOf(const Digest& id, LinkId link) {
  std::vector<Holder>& holders = holders_[id].links;
  const auto found = std::find_if(holders.begin(), holders.end(),
                                  [link](const Holder& holder) { return holder.link == link; });
  return found != holders.end() ? *found : holders.emplace_back(Holder{.link = link});
}

bool ItemExchange::Holds(const Digest& id, LinkId link) const {
  const auto found = holders_.find(id);
  return found != holders_.end() &&
         std::any_of(found->second.links.begin(), found->second.links.end(),
                     [link](const Holder& holder) { return holder.link == link; });
}

bool ItemExchange::Known(const Digest& id) const {
  return table_.Find(id) != nullptr || table_.HasTombstone(id) || fetcher_.Transferring(id);
}

void ItemExchange::TrimHolders() {
  if (holders_.size() > table_.items().size() + 2 * limits::kMaxTransfers) {
    std::erase_if(holders_, [this](const auto& entry) {
      return table_.Find(entry.first) == nullptr && !fetcher_.Transferring(entry.first);
    });
  }
}

absl::Status ItemExchange::OnKnownPush(LinkId link, const Digest& id) {
  fetcher_.AddAnnouncer(id, link);
  announcements_.RecordAnnouncement(id, link);
  if (!table_.HasTombstone(id)) {
    if (std::exchange(HolderOf(id, link).pushed, true) && !holders_.at(id).solicited) {
      return Error(absl::StatusCode::kAlreadyExists, reasons::kReplayed,
                   "item {} was pushed twice over one link; it has no effect",
                   ToHex(id).substr(0, 16));
    }
  }
  ++outbox_->counters().duplicates;
  return absl::OkStatus();
}

absl::StatusOr<PendingItem> ItemExchange::CheckManifest(const Digest& id,
                                                        privacy::Envelope envelope, Instant now) {
  const bool solicited = fetcher_.IsManifestRequested(id);
  privacy::EnvelopeRules rules;
  rules.cluster_id = local_->cluster_id;
  rules.now_ms = now.wall_ms;
  rules.freshness = solicited ? privacy::EnvelopeRules::Freshness::kStored
                              : privacy::EnvelopeRules::Freshness::kPushed;
  PendingItem item{.id = id, .envelope = std::move(envelope), .header = {}, .manifest = {}};
  ASSIGN_OR_RETURN(item.header, VerifyCertified(item.envelope, *certificates_, rules));
  ASSIGN_OR_RETURN(item.manifest, DecodeManifest(AsBytes(item.envelope.body)));
  if (item.header.purpose != PurposeOf(item.manifest.kind) ||
      item.header.body_type != kBodyManifest) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kWrongPurpose,
                 "manifest of kind {} travels under purpose {}; update the sending node",
                 ItemKindName(item.manifest.kind), static_cast<int>(item.header.purpose));
  }
  if (item.header.expires_ms > item.manifest.certificate.not_after_ms) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "item would outlive its sender's certificate; update the sending node");
  }
  if (item.manifest.kind != ItemKind::kWithdrawal &&
      (item.manifest.certificate.roles & privacy::roles::kContributor) == 0) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kRoleMissing,
                 "node {} may not contribute; issue it a certificate with that role",
                 item.manifest.certificate.name);
  }
  if (item.manifest.model_hash != local_->model_hash ||
      item.manifest.frame_id != local_->frame_id) {
    table_.AddTombstone(id, item.header.expires_ms);  // so that it is not asked for again
  }
  if (item.manifest.model_hash != local_->model_hash) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
                 "item was made for another model; serve the same model on every node");
  }
  if (item.manifest.frame_id != local_->frame_id) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "item was made for another adapter frame; use the same model package");
  }
  const bool learner = IsLearnerItem(item.manifest.kind);
  const bool of_plan = learner || (IsMaskItem(item.manifest.kind) && rules_.plan != nullptr);
  const uint64_t most = of_plan ? MaxLearnerPayloadBytes(item.manifest.kind, rules_.plan.get()) : 0;
  if (of_plan && (rules_.plan == nullptr || item.manifest.payload_bytes > most)) {
    table_.AddTombstone(id, item.header.expires_ms);
    return OtherPlan(item.manifest, most);
  }
  RETURN_IF_ERROR(CheckNumber(item, solicited));
  if (withdrawals_.CoversId(id, item.header.sender_id, item.header.created_ms)) {
    table_.AddTombstone(id, item.header.expires_ms);
    return WithdrawnItem(item.manifest.certificate.name);
  }
  return item;
}

// The replay window does not say why a number was seen. An honest node may push the same manifest
// again if this node's transfer was given up or found no room.
absl::Status ItemExchange::CheckNumber(const PendingItem& item, bool solicited) {
  if (!manifests_.Knows(item.header)) {
    if (solicited) {
      replay_.MarkSeen(item.header);
    } else {
      RETURN_IF_ERROR(replay_.Admit(item.header));
    }
  }
  auto equivocation = manifests_.Record(item.header, item.envelope);
  if (equivocation) {
    convictions_.push_back(
        {.certificate = item.envelope.body.substr(0, privacy::AdmissionCert::kBytes),
         .equivocation = *std::move(equivocation)});
  } else if (!evidence_->IsConvicted(item.header.sender_id)) {
    return absl::OkStatus();
  }
  table_.AddTombstone(item.id, item.header.expires_ms);
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kEquivocation,
               "node {} signed two messages under one number; its items are ignored",
               item.manifest.certificate.name);
}

absl::Status ItemExchange::OnPush(LinkId link, const v1::Push& push, Instant now) {
  wall_ms_ = now.wall_ms;
  privacy::Envelope envelope = FromProto(push.envelope());
  const Digest id = privacy::MessageId(envelope);
  if (promises_.RecordAnswer(link, {.id = id, .chunk = std::nullopt})) {
    fetcher_.OnDelivered(link);
  }
  if (Known(id)) {
    return OnKnownPush(link, id);
  }
  if (put_off_.contains(id)) {
    ++outbox_->counters().duplicates;
    return absl::OkStatus();
  }
  auto item = CheckManifest(id, std::move(envelope), now);
  if (!item.ok()) {
    fetcher_.Forget(id);
    const std::string reason = ReasonOf(item.status());
    // The peer that passed it on had seen only one of the two messages, or another part of the
    // origin's numbers, or had not heard of a withdrawal. Different statements of an origin to
    // different nodes must not turn neighbours against each other.
    if (reason == reasons::kEquivocation || reason == reasons::kReplayed ||
        reason == reasons::kWithdrawn) {
      outbox_->Refuse(/*link=*/0, item.status());
      return absl::OkStatus();
    }
    return item.status();
  }
  if (item->header.sender_id == local_->key->id()) {
    // This is an own item from an earlier boot; if this node no longer has it, it was withdrawn,
    // superseded or lost.
    fetcher_.Forget(id);
    table_.AddTombstone(id, item->header.expires_ms);
    return absl::OkStatus();
  }
  if (fetcher_.HasRoom(id, item->manifest.payload_bytes, link)) {
    if (!budget_.Allows(item->header.sender_id, item->manifest.kind, item->manifest.payload_bytes,
                        now.now)) {
      PutOff(*item, now.now);
      return absl::OkStatus();
    }
    const bool solicited = fetcher_.IsManifestRequested(id);
    fetcher_.Start(*std::move(item), link);
    HolderOf(id, link).pushed = true;
    holders_[id].solicited = solicited;
    SendRequests(now.now);
  }
  return absl::OkStatus();  // if there is no room, anti-entropy brings it again
}

absl::Status ItemExchange::OnIHave(LinkId link, const v1::IHave& i_have) {
  if (static_cast<size_t>(i_have.ids_size()) > limits::kMaxIdsPerFrame) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "announcement of {} ids where {} are allowed; update the sending node",
                 i_have.ids_size(), limits::kMaxIdsPerFrame);
  }
  for (const std::string& bytes : i_have.ids()) {
    const auto id = DigestFrom(bytes);
    if (!id) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                   "announced id has {} bytes; update the sending node", bytes.size());
    }
    if (table_.Find(*id) != nullptr) {
      HolderOf(*id, link);
      announcements_.RecordAnnouncement(*id, link);
    } else if (fetcher_.Transferring(*id)) {
      HolderOf(*id, link);
      fetcher_.AddAnnouncer(*id, link);
    } else if (!table_.HasTombstone(*id) && !put_off_.contains(*id)) {
      fetcher_.RequestManifest(*id, link);
    }
  }
  return absl::OkStatus();
}

// The peer that passed the item on is not to blame: it has its own budget for the origin.
void ItemExchange::PutOff(const PendingItem& item, TimePoint now) {
  fetcher_.Forget(item.id);
  if (put_off_.size() >= limits::kMaxPutOff) {
    put_off_.erase(put_off_.begin());  // ids are hashes, so the first one is as good as any
  }
  put_off_[item.id] = now + limits::kPutOffTime;
  outbox_->Refuse(/*link=*/0, OverBudget(item.manifest));
}

absl::Status ItemExchange::OnChunk(LinkId link, const v1::Chunk& chunk, Instant now) {
  wall_ms_ = now.wall_ms;
  outbox_->counters().payload_bytes_received += chunk.data().size();
  const auto id = DigestFrom(chunk.item_id());
  std::vector<Digest> path;
  for (const std::string& bytes : chunk.path()) {
    const auto digest = DigestFrom(bytes);
    if (digest) {
      path.push_back(*digest);
    }
  }
  if (!id || path.size() != static_cast<size_t>(chunk.path_size())) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "chunk has an id or path of a wrong length; update the sending node");
  }
  if (chunk.missing()) {
    OnMissing(link, *id, chunk.index());
    SendRequests(now.now);
    return absl::OkStatus();
  }
  promises_.RecordAnswer(link, {.id = *id, .chunk = chunk.index()});
  auto result = fetcher_.OnChunk(link, *id, chunk.index(), chunk.data(), path);
  absl::Status status = result.status();
  if (result.ok() && !result->has_value()) {
    status = CheckLateChunk(*id, chunk.index(), chunk.data());
  }
  if (!status.ok()) {
    scores_->Invalid(link, 1);  // a peer that serves a payload should have checked it
  } else if (result->has_value()) {
    status = Complete(link, std::move(**result), now);
  }
  SendRequests(now.now);
  return status;
}

// An honest peer drops an item because newer items came or because its origin withdrew it. The
// sender of a manifest decides this, not the peer that passes it on, so this costs the peer at most
// what it earned by delivering.
void ItemExchange::OnMissing(LinkId link, const Digest& id, uint32_t index) {
  const bool chunk = promises_.RecordAnswer(link, {.id = id, .chunk = index});
  const bool manifest = promises_.RecordAnswer(link, {.id = id, .chunk = std::nullopt});
  if (chunk || manifest) {
    ++outbox_->counters().missing;
    scores_->RecordMissing(link);
  }
  fetcher_.DropAnnouncer(id, link);
}

absl::Status ItemExchange::CheckLateChunk(const Digest& id, uint32_t index,
                                          std::string_view data) const {
  const Item* item = table_.Find(id);
  const size_t begin = size_t{index} * limits::kChunkBytes;
  if (item == nullptr ||
      (begin <= item->payload->size() &&
       std::string_view(*item->payload).substr(begin, limits::kChunkBytes) == data)) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kDataLoss, reasons::kUpdateInvalid,
               "chunk {} of item {} came late and does not belong to the item", index,
               ToHex(id).substr(0, 16));
}

absl::Status ItemExchange::CheckMaskContent(ItemKind kind, std::string_view payload, uint64_t round,
                                            const privacy::NodeId& sender) const {
  RETURN_IF_ERROR(CheckMaskItem(kind, payload, round, sender));
  return rules_.plan == nullptr ? absl::OkStatus()
                                : CheckMaskItemOfPlan(kind, payload, round, *rules_.plan, wall_ms_);
}

absl::Status ItemExchange::CheckContent(ItemKind kind, std::string_view payload, uint64_t round,
                                        const privacy::NodeId& sender,
                                        const privacy::PublicKey& key) const {
  if (IsMaskItem(kind)) {
    const absl::Status status = CheckMaskContent(kind, payload, round, sender);
    outbox_->counters().limits.masked_items += status.ok() ? 0 : 1;
    return status;
  }
  if (IsLearnerItem(kind)) {
    return CheckLearnerItem(kind, payload, round, rules_.plan.get(), wall_ms_);
  }
  if (kind == ItemKind::kWithdrawal) {
    return DecodeWithdrawal(payload, sender, key).status();
  }
  if (kind == ItemKind::kExpert) {
    ASSIGN_OR_RETURN(const SharedExpert expert, DecodeSharedExpert(AsBytes(payload)));
    return CheckSharedExpert(expert);
  }
  ASSIGN_OR_RETURN(const SharedPattern pattern, DecodeSharedPattern(AsBytes(payload)));
  return CheckSharedPattern(pattern, rules_.patterns);
}

// A node spreads only what it has checked. But it may learn by another plan, or have a clock that
// is ahead of this node's.
bool ItemExchange::IsFaultOfSource(const PendingItem& item, const absl::Status& status) const {
  const std::string reason = ReasonOf(status);
  const bool of_rounds = IsLearnerItem(item.manifest.kind) || IsMaskItem(item.manifest.kind);
  const bool early =
      of_rounds && rules_.plan != nullptr &&
      item.header.round > RoundAt(*rules_.plan, wall_ms_ + limits::kLearnerClockSkewMillis);
  return !early && reason != reasons::kPlanMismatch;
}

absl::Status ItemExchange::Complete(LinkId link, Fetcher::Complete complete, Instant now) {
  const PendingItem& pending = complete.item;
  budget_.Charge(pending.header.sender_id, pending.manifest.kind, complete.payload.size(), now.now);
  if (!certificates_->Require(pending.manifest.certificate).ok()) {
    // the sender, its key or its issuer was revoked during the transfer
    table_.AddTombstone(pending.id, pending.header.expires_ms);
    holders_.erase(pending.id);
    return absl::OkStatus();
  }
  if (absl::Status status =
          CheckContent(pending.manifest.kind, complete.payload, pending.header.round,
                       pending.header.sender_id, pending.manifest.certificate.node_key);
      !status.ok()) {
    table_.AddTombstone(pending.id, pending.header.expires_ms);  // so that it is not fetched again
    holders_.erase(pending.id);
    if (IsFaultOfSource(pending, status)) {
      scores_->Invalid(link, 1);
    }
    return Annotate(status, "item of " + pending.manifest.certificate.name);
  }
  Item item;
  item.id = pending.id;
  item.kind = pending.manifest.kind;
  item.origin = pending.header.sender_id;
  item.round = pending.header.round;
  item.created_ms = pending.header.created_ms;
  item.expires_ms = pending.header.expires_ms;
  item.envelope = std::make_shared<const privacy::Envelope>(pending.envelope);
  item.payload = std::make_shared<const std::string>(std::move(complete.payload));
  if (HasEffect(item) && Accept(item, /*own=*/false)) {
    scores_->RecordDelivery(link);
    ++outbox_->counters().accepted_items[std::string(ItemKindName(item.kind))];
  }
  return absl::OkStatus();
}

bool ItemExchange::Accept(Item item, bool own) {
  const Digest id = item.id;
  const ItemTable::Inserted inserted = table_.Insert(item);
  for (const Item& dropped : inserted.dropped) {
    DropItem(dropped);
  }
  if (!inserted.kept) {
    holders_.erase(id);
    return false;
  }
  outbox_->Emit(ItemAccepted{.item = item, .own = own});
  if (item.kind == ItemKind::kWithdrawal) {
    Apply(item);
  }
  Spread(item);
  return true;
}

void ItemExchange::DropItem(const Item& item) {
  holders_.erase(item.id);
  trees_.erase(item.id);
  announcements_.Forget(item.id);
  if (item.kind == ItemKind::kWithdrawal) {
    withdrawals_.Remove(item);
  }
  outbox_->Emit(ItemDropped{.id = item.id, .kind = item.kind});
}

}  // namespace ruvd::federation
