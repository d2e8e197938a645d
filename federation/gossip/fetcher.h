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
#include "base/token_bucket.h"
#include "federation/events/actions.h"
#include "federation/events/item.h"
#include "federation/gossip/manifest.h"
#include "federation/gossip/partial_payloads.h"
#include "privacy/envelope/envelope.h"

namespace ruvd::federation {

// A verified manifest whose payload is being fetched.
struct PendingItem {
  Digest id{};
  privacy::Envelope envelope;
  privacy::EnvelopeHeader header;
  Manifest manifest;
};

// Pulls what others announced: first manifests, then payloads chunk by chunk, with one request per
// item at a time. If an announcer is silent, lacks the item or sends wrong data, the next one is
// asked. The chunks of a transfer that was given up are kept for the next attempt. All sizes are
// bounded, and one link gets its FairShare of each bound: an item counts against the link that
// named it first. Not thread-safe.
class Fetcher {
 public:
  // Asks for a manifest that `link` has and this node lacks.
  void RequestManifest(const Digest& id, LinkId link);
  // Returns whether a manifest was asked for. Such a manifest may be older than a push.
  bool IsManifestRequested(const Digest& id) const { return wanted_.contains(id); }
  // Returns whether there is room for another transfer: an item of `bytes` that `link` offered.
  bool HasRoom(const Digest& id, uint64_t bytes, LinkId link) const;
  // Begins or continues to fetch a payload that `link` has. Requires HasRoom.
  void Start(PendingItem item, LinkId link);
  bool Transferring(const Digest& id) const { return transfers_.contains(id); }
  bool transferring() const { return !transfers_.empty(); }
  // Returns the items whose payloads are being transferred.
  std::vector<IncomingItem> Incoming() const;
  // Adds a source for an item that is wanted or in transfer; does nothing for other items.
  void AddAnnouncer(const Digest& id, LinkId link);
  // This link does not have the item after all.
  void DropAnnouncer(const Digest& id, LinkId link);
  void Forget(const Digest& id);
  // Ends all transfers of one origin and returns their ids with their expiry times.
  std::vector<std::pair<Digest, int64_t>> ForgetOrigin(const privacy::NodeId& origin);

  struct Complete {
    PendingItem item;
    std::string payload;
  };
  // Takes a chunk. Returns nullopt if more chunks are missing, or if the chunk came late.
  // UPDATE_INVALID if the chunk does not match the manifest, even if it came late.
  absl::StatusOr<std::optional<Complete>> OnChunk(LinkId link, const Digest& id, uint32_t index,
                                                  const std::string& data,
                                                  std::span<const Digest> path);

  // Return whether this link was asked for a chunk or the manifest of an item and has not answered.
  bool AwaitsChunk(LinkId link, const Digest& id, uint32_t index) const;
  bool AwaitsManifest(LinkId link, const Digest& id) const;
  // Returns whether it was asked for any manifest.
  bool AwaitsManifests(LinkId link) const { return manifests_of_.contains(link); }

  void SetRtt(LinkId link, Duration rtt) { rtt_[link] = rtt; }
  // The link delivered what it was asked for.
  void OnDelivered(LinkId link) { late_.erase(link); }
  void LinkDown(LinkId link);

  struct Request {
    LinkId link = 0;
    Digest id{};
    std::optional<uint32_t> chunk;  // nullopt: the manifest
  };
  // Returns the requests due at `now`, in the order of ids, and counts timeouts.
  std::vector<Request> Poll(TimePoint now);

 private:
  // The sources of an item, and the request in progress.
  struct Pull {
    LinkId owner = 0;  // whose share it is of
    std::deque<LinkId> announcers;
    LinkId asked = 0;
    uint64_t asked_bytes = 0;  // bytes of the requested chunk
    TimePoint deadline{};
    int attempts = 0;
  };
  struct Transfer {
    PendingItem item;
    Pull pull;
    std::string data;  // chunks [0, next)
    uint32_t next = 0;
  };
  // Releases a request that timed out. Returns false if the pull should be given up.
  bool Settle(Pull& pull, TimePoint now, bool is_chunk);
  void Release(Pull& pull, bool is_chunk);
  // Ask the next possible announcer for a manifest, or for a chunk of that many bytes. `rooms`
  // caches results of ManifestCapacity.
  bool AssignManifest(Pull& pull, std::map<LinkId, size_t>& rooms, TimePoint now);
  size_t ManifestCapacity(LinkId link) const;
  bool AssignChunk(Pull& pull, uint64_t bytes, TimePoint now);
  bool MayAskForChunk(LinkId link, uint64_t bytes) const;
  void Ask(Pull& pull, LinkId link, TimePoint now);
  // Returns the number and the bytes of the transfers that count against a link's share.
  std::pair<size_t, uint64_t> TransfersOf(LinkId link) const;
  std::map<Digest, Pull>::iterator EraseWanted(std::map<Digest, Pull>::iterator it);
  void Drop(Pull& pull, LinkId link, bool is_chunk);
  Duration TimeoutOf(LinkId link, int attempts) const;

  std::map<Digest, Pull> wanted_;
  std::map<LinkId, size_t> wanted_of_;  // by owner
  std::map<Digest, Transfer> transfers_;
  PartialPayloads partials_;
  uint64_t transfer_bytes_ = 0;
  // Requests in progress: number of manifests, bytes of chunks
  std::map<LinkId, size_t> manifests_of_;
  size_t manifests_ = 0;
  std::map<LinkId, uint64_t> chunk_bytes_of_;
  uint64_t chunk_bytes_ = 0;
  std::set<LinkId> late_;  // links that did not answer in time, and delivered nothing since
  std::map<LinkId, Duration> rtt_;
  std::map<LinkId, TokenBucket> rates_;  // limits of chunk requests
};

}  // namespace ruvd::federation
