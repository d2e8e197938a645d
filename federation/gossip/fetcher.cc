// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/fetcher.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/events/fair_share.h"
#include "federation/gossip/merkle.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

void AddTo(std::deque<LinkId>& announcers, LinkId link) {
  if (announcers.size() < limits::kMaxAnnouncers &&
      std::find(announcers.begin(), announcers.end(), link) == announcers.end()) {
    announcers.push_back(link);
  }
}

template <typename Count>
Count CountOf(const std::map<LinkId, Count>& counts, LinkId link) {
  const auto found = counts.find(link);
  return found == counts.end() ? 0 : found->second;
}

// Subtracts from a count and removes it when it reaches zero.
template <typename Count>
void TakeFrom(std::map<LinkId, Count>& counts, LinkId link, Count amount) {
  const auto found = counts.find(link);
  found->second -= amount;
  if (found->second == 0) {
    counts.erase(found);
  }
}

// Returns the size of a chunk of a payload; `index` must be below its ChunksOf.
uint64_t BytesOfChunk(uint64_t payload_bytes, uint32_t index) {
  const uint64_t begin = uint64_t{index} * limits::kChunkBytes;
  return std::min<uint64_t>(limits::kChunkBytes, payload_bytes - begin);
}

}  // namespace

void Fetcher::RequestManifest(const Digest& id, LinkId link) {
  if (const auto known = wanted_.find(id); known != wanted_.end()) {
    AddTo(known->second.announcers, link);
    return;
  }
  const size_t own = CountOf(wanted_of_, link);
  if (own < FairShare(wanted_.size() - own, limits::kMaxWanted)) {
    ++wanted_of_[link];
    Pull& pull = wanted_[id];
    pull.owner = link;
    pull.announcers.push_back(link);
  }
}

std::pair<size_t, uint64_t> Fetcher::TransfersOf(LinkId link) const {
  std::pair<size_t, uint64_t> own;
  for (const auto& [id, transfer] : transfers_) {
    if (transfer.pull.owner == link) {
      ++own.first;
      own.second += transfer.item.manifest.payload_bytes;
    }
  }
  return own;
}

// An item that was asked for already has its place, but its bytes do not.
bool Fetcher::HasRoom(const Digest& id, uint64_t bytes, LinkId link) const {
  const auto [own, own_bytes] = TransfersOf(link);
  const size_t others = transfers_.size() - own;
  const uint64_t other_bytes = transfer_bytes_ - own_bytes;
  return transfers_.size() < limits::kMaxTransfers &&
         (AwaitsManifest(link, id) || own < FairShare(others, limits::kMaxTransfers)) &&
         own_bytes + bytes <= FairShare(other_bytes, limits::kMaxPayloadMemory);
}

void Fetcher::Start(PendingItem item, LinkId link) {
  const Digest id = item.id;
  RUVD_CHECK(HasRoom(id, item.manifest.payload_bytes, link) && !transfers_.contains(id));
  Transfer transfer;
  transfer.pull.owner = link;
  transfer.pull.announcers.push_back(link);
  if (auto wanted = wanted_.find(id); wanted != wanted_.end()) {
    for (LinkId other : wanted->second.announcers) {
      AddTo(transfer.pull.announcers, other);
    }
    EraseWanted(wanted);
  }
  transfer_bytes_ += item.manifest.payload_bytes;
  transfer.data = partials_.Take(id);
  transfer.next = static_cast<uint32_t>(transfer.data.size() / limits::kChunkBytes);
  transfer.item = std::move(item);
  transfers_.emplace(id, std::move(transfer));
}

void Fetcher::AddAnnouncer(const Digest& id, LinkId link) {
  if (auto wanted = wanted_.find(id); wanted != wanted_.end()) {
    AddTo(wanted->second.announcers, link);
  }
  if (auto transfer = transfers_.find(id); transfer != transfers_.end()) {
    AddTo(transfer->second.pull.announcers, link);
  }
}

void Fetcher::DropAnnouncer(const Digest& id, LinkId link) {
  if (auto wanted = wanted_.find(id); wanted != wanted_.end()) {
    Drop(wanted->second, link, /*is_chunk=*/false);
  }
  if (auto transfer = transfers_.find(id); transfer != transfers_.end()) {
    Drop(transfer->second.pull, link, /*is_chunk=*/true);
  }
}

void Fetcher::Forget(const Digest& id) {
  if (auto wanted = wanted_.find(id); wanted != wanted_.end()) {
    EraseWanted(wanted);
  }
  if (auto found = transfers_.find(id); found != transfers_.end()) {
    Release(found->second.pull, /*is_chunk=*/true);
    transfer_bytes_ -= found->second.item.manifest.payload_bytes;
    transfers_.erase(found);
  }
}

std::vector<IncomingItem> Fetcher::Incoming() const {
  std::vector<IncomingItem> incoming;
  incoming.reserve(transfers_.size());
  for (const auto& [id, transfer] : transfers_) {
    incoming.push_back({.kind = transfer.item.manifest.kind,
                        .origin = transfer.item.header.sender_id,
                        .created_ms = transfer.item.header.created_ms});
  }
  return incoming;
}

std::vector<std::pair<Digest, int64_t>> Fetcher::ForgetOrigin(const privacy::NodeId& origin) {
  std::vector<std::pair<Digest, int64_t>> forgotten;
  for (const auto& [id, transfer] : transfers_) {
    if (transfer.item.header.sender_id == origin) {
      forgotten.emplace_back(id, transfer.item.header.expires_ms);
    }
  }
  for (const auto& [id, expires_ms] : forgotten) {
    Forget(id);
  }
  return forgotten;
}

absl::StatusOr<std::optional<Fetcher::Complete>> Fetcher::OnChunk(LinkId link, const Digest& id,
                                                                  uint32_t index,
                                                                  const std::string& data,
                                                                  std::span<const Digest> path) {
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) {
    return std::optional<Complete>();
  }
  Transfer& transfer = found->second;
  const Manifest& manifest = transfer.item.manifest;
  const uint32_t chunks = ChunksOf(manifest.payload_bytes);
  if (index >= chunks || data.size() != BytesOfChunk(manifest.payload_bytes, index) ||
      !VerifyChunk(manifest.payload_root, chunks, index, data, path)) {
    Drop(transfer.pull, link, /*is_chunk=*/true);
    return Error(absl::StatusCode::kDataLoss, reasons::kUpdateInvalid,
                 "chunk {} of item {} is not the one its manifest names; another node is asked",
                 index, ToHex(id).substr(0, 16));
  }
  OnDelivered(link);
  if (index != transfer.next) {
    return std::optional<Complete>();  // late: another announcer was faster
  }
  Release(transfer.pull, /*is_chunk=*/true);
  transfer.pull.attempts = 0;
  transfer.data += data;
  if (++transfer.next < chunks) {
    return std::optional<Complete>();
  }
  Complete complete{.item = std::move(transfer.item), .payload = std::move(transfer.data)};
  transfer_bytes_ -= complete.item.manifest.payload_bytes;
  transfers_.erase(found);
  return std::optional<Complete>(std::move(complete));
}

void Fetcher::LinkDown(LinkId link) {
  rtt_.erase(link);
  rates_.erase(link);
  late_.erase(link);
  for (auto& [id, pull] : wanted_) {
    Drop(pull, link, /*is_chunk=*/false);
  }
  for (auto& [id, transfer] : transfers_) {
    Drop(transfer.pull, link, /*is_chunk=*/true);
  }
}

void Fetcher::Release(Pull& pull, bool is_chunk) {
  if (pull.asked == 0) {
    return;
  }
  if (is_chunk) {
    chunk_bytes_ -= pull.asked_bytes;
    TakeFrom(chunk_bytes_of_, pull.asked, pull.asked_bytes);
  } else {
    --manifests_;
    TakeFrom(manifests_of_, pull.asked, size_t{1});
  }
  pull.asked = 0;
}

std::map<Digest, Fetcher::Pull>::iterator Fetcher::EraseWanted(
    std::map<Digest, Pull>::iterator it) {
  Release(it->second, /*is_chunk=*/false);
  TakeFrom(wanted_of_, it->second.owner, size_t{1});
  return wanted_.erase(it);
}

bool Fetcher::AwaitsChunk(LinkId link, const Digest& id, uint32_t index) const {
  const auto transfer = transfers_.find(id);
  return transfer != transfers_.end() && transfer->second.pull.asked == link &&
         transfer->second.next == index;
}

bool Fetcher::AwaitsManifest(LinkId link, const Digest& id) const {
  const auto wanted = wanted_.find(id);
  return wanted != wanted_.end() && wanted->second.asked == link;
}

void Fetcher::Drop(Pull& pull, LinkId link, bool is_chunk) {
  std::erase(pull.announcers, link);
  if (pull.asked == link) {
    Release(pull, is_chunk);
  }
  if (pull.owner == link && !pull.announcers.empty()) {
    pull.owner = pull.announcers.front();
    if (!is_chunk) {
      TakeFrom(wanted_of_, link, size_t{1});
      ++wanted_of_[pull.owner];
    }
  }
}

Duration Fetcher::TimeoutOf(LinkId link, int attempts) const {
  const auto rtt = rtt_.find(link);
  const Duration base = std::max<Duration>(limits::kRequestTimeout,
                                           rtt == rtt_.end() ? Duration(0) : 3 * rtt->second);
  // On a slow link a chunk takes longer than the round trip time suggests.
  return std::min<Duration>(limits::kRequestTimeoutMax, base * (1 << std::min(attempts, 5)));
}

bool Fetcher::Settle(Pull& pull, TimePoint now, bool is_chunk) {
  if (pull.asked != 0 && pull.deadline <= now) {
    late_.insert(pull.asked);
    Release(pull, is_chunk);
    ++pull.attempts;
  }
  return !pull.announcers.empty() && pull.attempts < limits::kMaxAttempts;
}

void Fetcher::Ask(Pull& pull, LinkId link, TimePoint now) {
  pull.asked = link;
  pull.deadline = now + TimeoutOf(link, pull.attempts);
}

// A manifest that arrives without room is wasted. Many are requested in one frame, so a small
// amount of room waits until there is more.
size_t Fetcher::ManifestCapacity(LinkId link) const {
  const size_t own = CountOf(manifests_of_, link) + TransfersOf(link).first;
  const size_t all = manifests_ + transfers_.size();
  const size_t share = FairShare(all - own, limits::kMaxTransfers);
  const size_t room = share - std::min(own, share);
  return room >= share / 4 ? room : 0;
}

bool Fetcher::AssignManifest(Pull& pull, std::map<LinkId, size_t>& rooms, TimePoint now) {
  for (size_t i = 0; pull.asked == 0 && i < pull.announcers.size(); ++i) {
    const LinkId link = pull.announcers.front();
    pull.announcers.pop_front();
    pull.announcers.push_back(link);
    auto room = rooms.find(link);
    if (room == rooms.end()) {
      room = rooms.emplace(link, ManifestCapacity(link)).first;
    }
    if (room->second > 0) {
      --room->second;
      ++manifests_;
      ++manifests_of_[link];
      Ask(pull, link, now);
      return true;
    }
  }
  return false;
}

// A late link is asked for only one thing at a time, so that it delays no other link.
bool Fetcher::MayAskForChunk(LinkId link, uint64_t bytes) const {
  const uint64_t own = CountOf(chunk_bytes_of_, link);
  const uint64_t share = std::min(FairShare(chunk_bytes_ - own, limits::kMaxRequestBytes),
                                  limits::kMaxRequestBytesOfPeer);
  return own == 0 || (own + bytes <= share && !late_.contains(link));
}

bool Fetcher::AssignChunk(Pull& pull, uint64_t bytes, TimePoint now) {
  if (pull.asked != 0 || chunk_bytes_ + bytes > limits::kMaxRequestBytes) {
    return false;
  }
  for (size_t i = 0; i < pull.announcers.size(); ++i) {
    const LinkId link = pull.announcers.front();
    pull.announcers.pop_front();
    pull.announcers.push_back(link);
    if (!MayAskForChunk(link, bytes)) {
      continue;
    }
    const auto rate =
        rates_.try_emplace(link, limits::kRequestsPerSecond, limits::kRequestBurst, now);
    if (!rate.first->second.Take(now)) {
      continue;
    }
    pull.asked_bytes = bytes;
    chunk_bytes_ += bytes;
    chunk_bytes_of_[link] += bytes;
    Ask(pull, link, now);
    return true;
  }
  return false;
}

std::vector<Fetcher::Request> Fetcher::Poll(TimePoint now) {
  std::vector<Request> requests;
  for (auto it = transfers_.begin(); it != transfers_.end();) {
    Transfer& transfer = it->second;
    if (!Settle(transfer.pull, now, /*is_chunk=*/true)) {
      Release(transfer.pull, /*is_chunk=*/true);
      transfer_bytes_ -= transfer.item.manifest.payload_bytes;
      partials_.Insert(it->first, std::move(transfer.data));
      it = transfers_.erase(it);
      continue;
    }
    const uint64_t missing = transfer.item.manifest.payload_bytes - transfer.data.size();
    const uint64_t bytes =
        std::clamp<uint64_t>(missing, limits::kMinRequestBytes, limits::kChunkBytes);
    if (AssignChunk(transfer.pull, bytes, now)) {
      requests.push_back({.link = transfer.pull.asked, .id = it->first, .chunk = transfer.next});
    }
    ++it;
  }
  std::map<LinkId, size_t> rooms;
  for (auto it = wanted_.begin(); it != wanted_.end();) {
    if (!Settle(it->second, now, /*is_chunk=*/false)) {
      it = EraseWanted(it);
      continue;
    }
    if (AssignManifest(it->second, rooms, now)) {
      requests.push_back({.link = it->second.asked, .id = it->first, .chunk = std::nullopt});
    }
    ++it;
  }
  return requests;
}

}  // namespace ruvd::federation
