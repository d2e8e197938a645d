// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "federation/events/actions.h"
#include "federation/gossip/manifest.h"
#include "federation/gossip/partial_payloads.h"
#include "federation/link/token_bucket.h"
#include "privacy/envelope/envelope.h"

namespace ruvd::federation {

// A verified manifest whose payload is on its way.
struct PendingItem {
  Digest id{};
  privacy::Envelope envelope;
  privacy::EnvelopeHeader header;
  Manifest manifest;
};

// Pulls what others announced: first manifests, then payloads chunk by chunk, one request per item
// at a time, from the next announcer when one is silent, lacks it or lies. The chunks of a transfer
// that was given up are kept for the next one. Bounded, and of each bound one link gets its
// FairShare: what a link was the first to name counts against it. Not thread-safe.
class Fetcher {
 public:
  // A manifest that `link` has and we do not.
  void Want(const Digest& id, LinkId link);
  // Whether a manifest was asked for: it may then be older than a push may be.
  bool Wanted(const Digest& id) const { return wanted_.contains(id); }
  // Room for another transfer, of an item of `bytes` that `link` brought.
  bool HasRoom(const Digest& id, uint64_t bytes, LinkId link) const;
  // Begins to pull a payload that `link` has, or goes on with it. Needs HasRoom.
  void Start(PendingItem item, LinkId link);
  bool Transferring(const Digest& id) const { return transfers_.contains(id); }
  bool transferring() const { return !transfers_.empty(); }
  // Another source of something wanted or in transfer; nothing otherwise.
  void AddAnnouncer(const Digest& id, LinkId link);
  // This link does not have it after all.
  void DropAnnouncer(const Digest& id, LinkId link);
  void Forget(const Digest& id);
  // Ends all transfers of one origin and returns their ids and when they expire.
  std::vector<std::pair<Digest, int64_t>> ForgetOrigin(const privacy::NodeId& origin);

  struct Complete {
    PendingItem item;
    std::string payload;
  };
  // A chunk. nullopt: more to come, or a late answer. UPDATE_INVALID: the chunk is not the
  // manifest's, late or not.
  absl::StatusOr<std::optional<Complete>> OnChunk(LinkId link, const Digest& id, uint32_t index,
                                                  const std::string& data,
                                                  std::span<const Digest> path);

  // Whether this link was asked for a chunk or the manifest of an item and has not answered.
  bool AwaitsChunk(LinkId link, const Digest& id, uint32_t index) const;
  bool AwaitsManifest(LinkId link, const Digest& id) const;
  // Whether it was asked for any manifest.
  bool AwaitsManifests(LinkId link) const { return manifests_of_.contains(link); }

  void SetRtt(LinkId link, Duration rtt) { rtt_[link] = rtt; }
  // The link gave what it was asked for.
  void Gave(LinkId link) { late_.erase(link); }
  void LinkDown(LinkId link);

  struct Request {
    LinkId link = 0;
    Digest id{};
    std::optional<uint32_t> chunk;  // nullopt: the manifest
  };
  // Requests due at `now`, in the order of ids; counts timeouts.
  std::vector<Request> Poll(TimePoint now);

 private:
  // Who has something and whom we asked.
  struct Pull {
    LinkId owner = 0;  // whose share it is of
    std::deque<LinkId> announcers;
    LinkId asked = 0;
    uint64_t asked_bytes = 0;  // of a chunk
    TimePoint deadline{};
    int attempts = 0;
  };
  struct Transfer {
    PendingItem item;
    Pull pull;
    std::string data;  // chunks [0, next)
    uint32_t next = 0;
  };
  // Releases a request that timed out. False if the pull is hopeless.
  bool Settle(Pull& pull, TimePoint now, bool is_chunk);
  void Release(Pull& pull, bool is_chunk);
  // Asks the next announcer that may be asked for a manifest, or for a chunk of so many bytes.
  // `rooms`: what was found out of RoomForManifests before.
  bool AssignManifest(Pull& pull, std::map<LinkId, size_t>& rooms, TimePoint now);
  size_t RoomForManifests(LinkId link) const;
  bool AssignChunk(Pull& pull, uint64_t bytes, TimePoint now);
  bool MayAskForChunk(LinkId link, uint64_t bytes) const;
  void Ask(Pull& pull, LinkId link, TimePoint now);
  // Transfers and their bytes that are of a link's share.
  std::pair<size_t, uint64_t> TransfersOf(LinkId link) const;
  std::map<Digest, Pull>::iterator EraseWanted(std::map<Digest, Pull>::iterator it);
  void Drop(Pull& pull, LinkId link, bool is_chunk);
  Duration TimeoutOf(LinkId link, int attempts) const;

  std::map<Digest, Pull> wanted_;
  std::map<LinkId, size_t> wanted_of_;  // by owner
  std::map<Digest, Transfer> transfers_;
  PartialPayloads partials_;
  uint64_t transfer_bytes_ = 0;
  // Requests under way: manifests by their number, chunks by their bytes.
  std::map<LinkId, size_t> manifests_of_;
  size_t manifests_ = 0;
  std::map<LinkId, uint64_t> chunk_bytes_of_;
  uint64_t chunk_bytes_ = 0;
  std::set<LinkId> late_;  // did not answer in time, and gave nothing since
  std::map<LinkId, Duration> rtt_;
  std::map<LinkId, TokenBucket> rates_;  // of requests for chunks
};

}  // namespace ruvd::federation
