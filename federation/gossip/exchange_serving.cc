// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The parts of ItemExchange that give items to peers.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/exchange.h"
#include "federation/gossip/learner_items.h"
#include "federation/limits.h"
#include "federation/membership/score_limits.h"
#include "privacy/limits.h"

namespace ruvd::federation {
namespace {

v1::WireFrame MissingChunk(const Digest& id, uint32_t index) {
  v1::WireFrame frame;
  frame.mutable_chunk()->set_item_id(std::string(AsText(id)));
  frame.mutable_chunk()->set_index(index);
  frame.mutable_chunk()->set_missing(true);
  return frame;
}

// Returns whether every neighbour will take a push of an item of this age, and confirm it, though
// it takes the item up to kAnnounceTime later, or its clock differs by as much. The origin chooses
// the date, so an item at the limit of ages would make neighbours look silent.
bool IsOwed(int64_t age_ms) {
  constexpr int64_t kMarginMillis = limits::kAnnounceTime / std::chrono::milliseconds(1);
  return age_ms <= limits::kPushAgeMillis - kMarginMillis &&
         age_ms >= kMarginMillis - limits::kMaxEnvelopeAheadMillis;
}

}  // namespace

absl::Status ItemExchange::OnIWant(LinkId link, const v1::IWant& i_want, Instant now) {
  if (static_cast<size_t>(i_want.ids_size()) > limits::kMaxIdsPerFrame) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "request for {} ids where {} are allowed; update the sending node",
                 i_want.ids_size(), limits::kMaxIdsPerFrame);
  }
  for (const std::string& bytes : i_want.ids()) {
    const auto id = DigestFrom(bytes);
    if (!id) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                   "requested id has {} bytes; update the sending node", bytes.size());
    }
    if (const Item* item = table_.Find(*id); item != nullptr) {
      PushTo(link, *item);
      // so that the peer that asked need not wait
    } else if (table_.HasTombstone(*id) && MayReportGone(link, now.now)) {
      outbox_->Send(link, MissingChunk(*id, /*index=*/0));
    }
  }
  return absl::OkStatus();
}

bool ItemExchange::MayReportGone(LinkId link, TimePoint now) {
  return denials_
      .try_emplace(link, limits::kDenialsPerSecond, static_cast<double>(limits::kDenialBurst), now)
      .first->second.Take(now);
}

std::vector<Digest> ItemExchange::PathOf(const Item& item, uint32_t index) {
  if (ChunksOf(item.payload->size()) == 1) {
    return {};
  }
  return trees_.try_emplace(item.id, *item.payload).first->second.Path(index);
}

absl::Status ItemExchange::OnChunkRequest(LinkId link, const v1::ChunkRequest& request,
                                          Instant now) {
  const auto id = DigestFrom(request.item_id());
  if (!id) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "chunk request names an id of {} bytes; update the sending node",
                 request.item_id().size());
  }
  const Item* item = table_.Find(*id);
  if (item == nullptr || request.index() >= ChunksOf(item->payload->size())) {
    outbox_->Send(link, MissingChunk(*id, request.index()));
    return absl::OkStatus();
  }
  const size_t begin = size_t{request.index()} * limits::kChunkBytes;
  const size_t bytes = std::min(item->payload->size() - begin, limits::kChunkBytes);
  if (!chunks_.Add({.link = link, .item = *id, .index = request.index(), .bytes = bytes},
                   now.now)) {
    ++outbox_->counters().limits.chunk_requests;
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "{} requests for chunks wait already, which is more than a node makes; update the "
                 "asking node",
                 limits::kMaxChunkRequestsWaiting);
  }
  ServeChunks(now.now);
  return absl::OkStatus();
}

void ItemExchange::ServeChunks(TimePoint now) {
  for (const ChunkService::Request& request : chunks_.TakeDue(now)) {
    const Item* item = table_.Find(request.item);
    if (item == nullptr) {
      outbox_->Send(request.link, MissingChunk(request.item, request.index));
      continue;
    }
    v1::WireFrame frame;
    auto* chunk = frame.mutable_chunk();
    chunk->set_item_id(std::string(AsText(request.item)));
    chunk->set_index(request.index);
    chunk->set_data(
        item->payload->substr(size_t{request.index} * limits::kChunkBytes, limits::kChunkBytes));
    for (const Digest& digest : PathOf(*item, request.index)) {
      chunk->add_path(std::string(AsText(digest)));
    }
    outbox_->counters().payload_bytes_sent += chunk->data().size();
    outbox_->Send(request.link, std::move(frame));
  }
}

void ItemExchange::PushTo(LinkId link, const Item& item) {
  v1::WireFrame frame;
  *frame.mutable_push()->mutable_envelope() = ToProto(*item.envelope);
  HolderOf(item.id, link);
  outbox_->Send(link, std::move(frame));
}

void ItemExchange::Announce(LinkId link, const std::vector<Digest>& ids) {
  v1::WireFrame frame;
  for (const Digest& id : ids) {
    frame.mutable_i_have()->add_ids(std::string(AsText(id)));
    if (static_cast<size_t>(frame.i_have().ids_size()) == limits::kMaxIdsPerFrame) {
      outbox_->Send(link, std::exchange(frame, {}));
    }
  }
  if (frame.i_have().ids_size() > 0) {
    outbox_->Send(link, std::move(frame));
  }
}

void ItemExchange::Spread(const Item& item) {
  // Most neighbours already know what anti-entropy brought, and it may be much at once.
  const auto holders = holders_.find(item.id);
  const int64_t age_ms = wall_ms_ - item.created_ms;
  const bool is_new = age_ms <= limits::kPushAgeMillis;
  const bool fresh = is_new && (holders == holders_.end() || !holders->second.solicited);
  std::set<LinkId> told;
  for (const LinkId link : mesh_->links()) {
    if (Holds(item.id, link)) {
      told.insert(link);
      if (is_new) {
        to_confirm_[link].push_back(item.id);
      }
    } else if (fresh) {
      PushTo(link, item);
    } else {
      HolderOf(item.id, link);
      to_announce_[link].push_back(item.id);
    }
  }
  if (fresh && IsOwed(age_ms)) {
    const bool of_rounds =
        IsLearnerItem(item.kind) || (IsMaskItem(item.kind) && rules_.plan != nullptr);
    announcements_.RecordItem(item.id, told, of_rounds ? other_plan_ : std::set<LinkId>(),
                              heartbeat_);
  }
}

void ItemExchange::Heartbeat(TimePoint now) {
  heartbeat_ = now;
  if (now >= next_confirm_) {
    next_confirm_ = now + limits::kConfirmPeriod;
    for (auto& [link, ids] : std::exchange(to_confirm_, {})) {
      std::erase_if(ids, [this](const Digest& id) { return table_.Find(id) == nullptr; });
      Announce(link, ids);
    }
  }
  announcements_.Heartbeat(mesh_->links(), now);
  for (const LinkId link : mesh_->links()) {
    scores_->RecordDeficit(link, announcements_.DeficitOf(link));
  }
}

}  // namespace ruvd::federation
