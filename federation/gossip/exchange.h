// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random.h"
#include "federation/gossip/fetcher.h"
#include "federation/gossip/item_table.h"
#include "federation/gossip/merkle.h"
#include "federation/gossip_core.h"
#include "federation/instant.h"
#include "federation/link/token_bucket.h"
#include "federation/local_node.h"
#include "federation/membership/certificates.h"
#include "federation/outbox.h"
#include "federation/sealer.h"
#include "privacy/envelope/replay_window.h"

namespace ruvd {

// Gossip of items over active links: fresh manifests are pushed, payloads pulled, and what was
// missed is found by anti-entropy. An item is spread by a node only after that node has checked all
// of it. An error of an On... method means that the message had no effect; the caller counts it.
// Not thread-safe.
class ItemExchange {
 public:
  // Rules of what an item must look like; all references outlive the exchange.
  struct Rules {
    UpdateRules updates;
    PatternRules patterns;
  };
  ItemExchange(const LocalNode& local, Rules rules, CertificateStore& certificates, Sealer& sealer,
               Outbox& outbox, Random random);

  void LinkUp(LinkId link, bool dialed, Instant now);
  void LinkDown(LinkId link);
  void SetRtt(LinkId link, Duration rtt) { fetcher_.SetRtt(link, rtt); }

  absl::Status OnPush(LinkId link, const federation::v1::Push& push, Instant now);
  absl::Status OnIHave(LinkId link, const federation::v1::IHave& i_have);
  absl::Status OnIWant(LinkId link, const federation::v1::IWant& i_want);
  absl::Status OnChunkRequest(LinkId link, const federation::v1::ChunkRequest& request);
  absl::Status OnChunk(LinkId link, const federation::v1::Chunk& chunk, Instant now);
  absl::Status OnReconciliation(LinkId link, const federation::v1::ReconMessage& message,
                                Instant now);
  // Expiry, timeouts, the next reconciliation.
  void Tick(Instant now);
  // Sends the requests that became possible.
  void SendRequests(TimePoint now);

  void Restore(std::vector<Item> items, Instant now);
  // Signs and spreads a checked payload.
  absl::StatusOr<Digest> Offer(ItemKind kind, uint64_t round, std::string payload, Instant now);
  // Drops this node's own items of a kind, or those of them that `which` picks.
  void Withdraw(ItemKind kind, const std::function<bool(const Item&)>& which = nullptr);
  const std::map<Digest, Item>& items() const { return table_.items(); }

 private:
  struct Neighbour {
    TokenBucket recon;
    // Pushes of an id by this link, less those we asked for: a second one is a replay.
    std::map<Digest, int> pushes;
  };
  void CountPush(LinkId link, const Digest& id, int change);
  bool Known(const Digest& id) const;
  absl::Status OnKnownPush(LinkId link, const Digest& id);
  absl::StatusOr<PendingItem> CheckManifest(const Digest& id, Envelope envelope, Instant now);
  absl::Status CheckContent(ItemKind kind, std::string_view payload) const;
  absl::Status Complete(Fetcher::Complete complete);
  // Inserts, reports and spreads. Returns whether it was kept.
  bool Accept(Item item, bool own);
  void Spread(const Item& item, int64_t wall_ms);
  void PushTo(LinkId link, const Item& item);
  void Announce(LinkId link, const std::vector<Digest>& ids);
  void DropItem(const Item& item);
  void StartReconciliation(LinkId link, TimePoint now);
  std::shared_ptr<const MerkleTree> TreeOf(const Item& item);

  const LocalNode* local_;
  Rules rules_;
  CertificateStore* certificates_;
  Sealer* sealer_;
  Outbox* outbox_;
  Random random_;
  ItemTable table_;
  Fetcher fetcher_;
  ReplayWindow replay_;
  std::map<LinkId, Neighbour> neighbours_;
  std::map<Digest, std::set<LinkId>> has_item_;  // live items: links that need no push
  std::map<Digest, std::shared_ptr<const MerkleTree>> trees_;
  int64_t wall_ms_ = 0;  // of the current input
  TimePoint next_recon_{};
  int busy_exchanges_ = 0;
};

}  // namespace ruvd
