// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/limit_use.h"
#include "base/token_bucket.h"
#include "federation/events/outbox.h"
#include "federation/gossip/chunk_service.h"
#include "federation/gossip/fetcher.h"
#include "federation/gossip/gossip_config.h"
#include "federation/gossip/item_table.h"
#include "federation/gossip/merkle.h"
#include "federation/gossip/mesh.h"
#include "federation/gossip/mesh_announcements.h"
#include "federation/gossip/origin_budget.h"
#include "federation/gossip/promises.h"
#include "federation/gossip/withdrawal_index.h"
#include "federation/instant.h"
#include "federation/learner/plan.h"
#include "federation/link/certificates.h"
#include "federation/local_node.h"
#include "federation/membership/evidence.h"
#include "federation/membership/peer_scores.h"
#include "federation/sealer.h"
#include "privacy/envelope/equivocation.h"
#include "privacy/envelope/replay_window.h"

namespace ruvd::federation {

// Gossip of items: fresh manifests are pushed over the mesh, payloads are pulled over any link, and
// anti-entropy finds what was missed. A node spreads an item only after it has checked all of it.
// An error of a handler (On*) means that the message had no effect; the caller counts it. Not
// thread-safe.
class ItemExchange {
 public:
  // Rules for the form of items. All references must outlive the exchange.
  struct Rules {
    PatternRules patterns;
    std::shared_ptr<const LearnerPlan> plan;  // null: this node runs no rounds
  };
  ItemExchange(const LocalNode& local, Rules rules, CertificateStore& certificates,
               const EvidenceTable& evidence, PeerScores& scores, Sealer& sealer, Outbox& outbox,
               const Mesh& mesh);

  // `same_plan` says whether the peer takes part in this node's rounds.
  void LinkUp(LinkId link, bool same_plan) {
    if (!same_plan) {
      other_plan_.insert(link);
    }
  }
  void LinkDown(LinkId link);
  void SetRtt(LinkId link, Duration rtt) { fetcher_.SetRtt(link, rtt); }

  absl::Status OnPush(LinkId link, const v1::Push& push, Instant now);
  absl::Status OnIHave(LinkId link, const v1::IHave& i_have);
  absl::Status OnIWant(LinkId link, const v1::IWant& i_want, Instant now);
  absl::Status OnChunkRequest(LinkId link, const v1::ChunkRequest& request, Instant now);
  absl::Status OnChunk(LinkId link, const v1::Chunk& chunk, Instant now);
  // Returns the opening message of a reconciliation.
  v1::ReconMessage OpenItems() const;
  // Returns whether the peer has other items than this node.
  absl::StatusOr<bool> OnReconciliation(LinkId link, const v1::ReconMessage& message, Instant now);
  // Returns whether this node asked this link for the frame. If so, the rate of such frames is this
  // node's own doing.
  bool Awaits(LinkId link, const v1::WireFrame& frame) const;
  // The peer answered a frame that was sent at `sent`: promises before it that were not kept count
  // against the peer.
  void OnAnswer(LinkId link, TimePoint sent);
  // Must be called every kHeartbeat: sends confirmations that are due. Neighbours of the mesh that
  // announce much less than the others get a deficit in their score.
  void Heartbeat(TimePoint now);
  // Handles timeouts, and expiry if `expires`: whether the clock can be trusted. `corrected`: the
  // node goes by its neighbours' clocks against its own.
  void Tick(Instant now, bool expires, bool corrected);
  // Sends the requests that have become possible.
  void SendRequests(TimePoint now);

  // Returns whether payloads are being transferred to this node.
  bool transferring() const { return fetcher_.transferring(); }
  // Returns the items whose payloads are being transferred.
  std::vector<IncomingItem> Incoming() const { return fetcher_.Incoming(); }

  // Takes items of an earlier process. Expired ones stay unless `expires`, as for Tick.
  void Restore(std::vector<Item> items, Instant now, bool expires);
  // Signs and spreads a checked payload.
  absl::StatusOr<Digest> Offer(ItemKind kind, uint64_t round, std::string payload, Instant now);
  // Drops this node's own items of a kind, or only those for which `which` returns true.
  void Withdraw(ItemKind kind, const std::function<bool(const Item&)>& which = nullptr);
  // Returns whether a live withdrawal covers all that this one covers.
  bool Knows(const privacy::Withdrawal& withdrawal) const {
    return withdrawals_.Knows(withdrawal, local_->key->epoch());
  }
  // Returns the creation time up to which versions of a member's pattern are withdrawn.
  std::optional<int64_t> PatternWithdrawn(const privacy::NodeId& origin,
                                          const std::array<uint8_t, 16>& pattern) const {
    return withdrawals_.PatternWithdrawn(origin, pattern);
  }
  // Drops all items of a member, including those in transfer, and remembers their ids as unwanted.
  void Expel(const privacy::NodeId& origin);
  // Forgets which numbers of messages were seen. What is known already stays known by its id.
  void ForgetNumbers() { replay_ = privacy::ReplayWindow(); }
  // Drops items that were signed with keys which the revocation list ended, like items that expire:
  // what was learned from them stays, and their nodes offer them again under the next key. Items of
  // rounds stay, because a round counts what was signed in time.
  void DropOfEndedKeys();
  // Returns the members found since the last call that signed two items under one number.
  std::vector<Conviction> TakeConvictions() { return std::exchange(convictions_, {}); }
  const std::map<Digest, Item>& items() const { return table_.items(); }
  // Returns the limits of what one origin may have this node fetch and keep, and of what this node
  // sends to others.
  std::vector<LimitUse> Limits() const;

 private:
  // A link whose peer has an item.
  struct Holder {
    LinkId link = 0;
    bool pushed = false;  // pushed without a request: a second push is a replay
  };
  struct Holders {
    std::vector<Holder> links;
    bool solicited = false;  // requested, perhaps twice: a second push is not a replay
  };
  Holder& HolderOf(const Digest& id, LinkId link);
  bool Holds(const Digest& id, LinkId link) const;
  bool Known(const Digest& id) const;
  // Returns whether the rate limit allows to tell a link that an item is gone.
  bool MayReportGone(LinkId link, TimePoint now);
  // The peer says that it no longer has the item.
  void OnMissing(LinkId link, const Digest& id, uint32_t index);
  // Returns UPDATE_INVALID for a late chunk that does not belong to an item of this node.
  absl::Status CheckLateChunk(const Digest& id, uint32_t index, std::string_view data) const;
  absl::Status OnKnownPush(LinkId link, const Digest& id);
  // Forgets the holders of items that this node neither has nor fetches.
  void TrimHolders();
  absl::StatusOr<PendingItem> CheckManifest(const Digest& id, privacy::Envelope envelope,
                                            Instant now);
  // Checks the signer and the number of a verified manifest.
  absl::Status CheckNumber(const PendingItem& item, bool solicited);
  // Returns whether an item is to be dropped because the revocation list ended the key that signed
  // it, or because this node offers it again under its present key.
  bool IsOfFormerKey(const Item& item, const privacy::EnvelopeHeader& header) const;
  // Drops what this node signed while its clock was ahead of the neighbours', by which it goes now:
  // no peer takes it. Withdrawals are signed again.
  void DropOwnOfTheFuture(Instant now);
  void DropAll(const std::function<bool(const Item&)>& which, bool withdrawn);
  // Checks the payload whose hash `sender` signed.
  absl::Status CheckContent(ItemKind kind, std::string_view payload, uint64_t round,
                            const privacy::NodeId& sender, const privacy::PublicKey& key) const;
  absl::Status CheckMaskContent(ItemKind kind, std::string_view payload, uint64_t round,
                                const privacy::NodeId& sender) const;
  // Drops the items that a newly inserted withdrawal covers, and older withdrawals that it
  // includes.
  void Apply(const Item& withdrawal);
  // Returns whether a checked item has an effect: it was not withdrawn, and contains something new.
  bool HasEffect(const Item& item);
  // Returns how long an item of this node lives.
  int64_t LifeMillisOf(ItemKind kind) const;
  // Handles a payload whose last chunk came over `link`.
  absl::Status Complete(LinkId link, Fetcher::Complete complete, Instant now);
  // Returns whether whatever made CheckContent fail is the fault of those who passed the item on.
  bool IsFaultOfSource(const PendingItem& item, const absl::Status& status) const;
  // Does not ask for an item for a while, because its origin has used up its budget.
  void PutOff(const PendingItem& item, TimePoint now);
  // Sends the chunks that may be sent now.
  void ServeChunks(TimePoint now);
  // Inserts, reports and spreads an item. Returns whether it was kept.
  bool Accept(Item item, bool own);
  // Tells all neighbours of an item; those that announced it to this node get a confirmation.
  void Spread(const Item& item);
  void PushTo(LinkId link, const Item& item);
  void Announce(LinkId link, const std::vector<Digest>& ids);
  void DropItem(const Item& item);
  // Returns the audit path of a chunk.
  std::vector<Digest> PathOf(const Item& item, uint32_t index);

  const LocalNode* local_;
  Rules rules_;
  CertificateStore* certificates_;
  const EvidenceTable* evidence_;
  PeerScores* scores_;
  Sealer* sealer_;
  Outbox* outbox_;
  const Mesh* mesh_;
  ItemTable table_;
  Fetcher fetcher_;
  Promises promises_;
  OriginBudget budget_;
  std::map<Digest, TimePoint> put_off_;  // beyond budget_: when each may be asked for again
  ChunkService chunks_;
  std::map<LinkId, TokenBucket> denials_;
  privacy::ReplayWindow replay_;
  privacy::EquivocationDetector
      manifests_;  // verified manifests; distinguishes a second message from a second copy
  std::vector<Conviction> convictions_;
  WithdrawalIndex withdrawals_;
  std::set<LinkId> other_plan_;  // links whose peers take no items of this node's rounds
  MeshAnnouncements announcements_;
  std::map<Digest, Holders> holders_;                  // for live items and those in transfer
  std::map<LinkId, std::vector<Digest>> to_announce_;  // sent with the next tick
  std::map<LinkId, std::vector<Digest>> to_confirm_;   // sent every kConfirmPeriod
  TimePoint next_confirm_{};
  // Trees of live items of several chunks whose chunks were asked for: 64 B a chunk, and so at most
  // a thousandth of kMaxPayloadMemory
  std::map<Digest, MerkleTree> trees_;
  // Time of the current input, and of the last heartbeat
  int64_t wall_ms_ = 0;
  TimePoint heartbeat_{};
};

}  // namespace ruvd::federation
