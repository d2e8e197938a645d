// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/limit_use.h"
#include "federation/daf/core_delta.h"
#include "federation/events/actions.h"
#include "federation/events/counters.h"
#include "federation/gossip/gossip_config.h"
#include "federation/instant.h"
#include "federation/limits.h"
#include "federation/link/link_channel.h"
#include "federation/membership/kept_scores.h"
#include "federation/membership/record_set.h"
#include "federation/patterns/shared_expert.h"
#include "federation/patterns/shared_pattern.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/withdrawal.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// The whole of federation as one state machine without I/O: links, membership, gossip of items.
// Every input returns actions, which the owner performs in order. Deterministic given its inputs,
// seed and entropy. Not thread-safe: one actor owns it.
class GossipCore {
 public:
  // Fills bytes for nonces: SecureRandomBytes in production, a seeded generator in tests.
  using Entropy = std::function<void(std::span<uint8_t>)>;

  // `key` must outlive the core. Refuses an own certificate that is expired, belongs to another
  // key, or is badly signed, so that a misconfigured node reports this at its start and not at its
  // peers.
  static absl::StatusOr<std::unique_ptr<GossipCore>> Create(GossipConfig config,
                                                            const privacy::NodeKey& key,
                                                            Entropy entropy, uint64_t seed,
                                                            Instant now);
  ~GossipCore();
  GossipCore(const GossipCore&) = delete;
  GossipCore& operator=(const GossipCore&) = delete;

  // ---- Inputs from the network

  // A link is open. `dialed_address` is the address of the Dial action, or "" for an accepted link.
  Actions OnLinkOpened(LinkId link, const std::string& dialed_address, Instant now,
                       LinkChannel channel = {});
  Actions OnDialFailed(const std::string& address, Instant now);
  // Takes any frame from any peer. Refusals are counted and reported, never fatal.
  Actions OnFrame(LinkId link, const v1::WireFrame& frame, Instant now);
  // Bytes arrived that are not a WireFrame, or more than kMaxFrameBytes of them.
  Actions OnBadFrame(LinkId link, Instant now);
  Actions OnLinkClosed(LinkId link, Instant now);
  // Must be called every 100 to 500 ms.
  Actions OnTick(Instant now);

  // ---- Inputs from this node

  // Takes items read back from the store. Expired items, items of members that are kept out by
  // evidence, own items that may no longer be shared, and items of rounds of another plan give
  // ItemDropped; an own contribution to such a round stays, so that it can be withdrawn. An own
  // pattern or contribution is assumed to have been allowed by the tier when it was offered, so a
  // caller that lowers the tier must drop what was stored before the new consent record. Must be
  // called after SetConsent and before any link opens.
  Actions Restore(std::vector<Item> items, Instant now);
  // Takes the result of Evidence before the restart: these members are kept out from the start.
  // Each proof is checked again; proofs that have expired or are invalid are left out. Must be
  // called right after Create.
  Actions RestoreEvidence(const std::vector<std::string>& proofs, Instant now);
  // Takes the result of Scores before the restart. Counts fade by the time that passed since, and
  // graylistings go on. A clock that is as wrong as before changes nothing. One that is wrong only
  // now, or was before this node had heard its neighbours, may end graylistings, or let no time
  // pass; no peer is kept out for longer than what was left. Must be called right after Create.
  void RestoreScores(const KeptScores& scores, Instant now);
  // Takes verified records of members known before the restart, or from other nodes of the process.
  // The base is shared, not copied. Must be called right after Create.
  Actions RestoreMembers(std::shared_ptr<const RecordBase> records, Instant now);
  // Sets the tier; the default is private. A record that is not this node's own leaves the tier
  // unchanged. Lowering the tier withdraws own items that may no longer be shared: they are not
  // offered to peers again.
  absl::StatusOr<Actions> SetConsent(const privacy::ConsentRecord& record, Instant now);
  // Refuses from now on the nodes that the cluster's issuer revoked, and ends the links to them.
  // The list is sent to peers over all links, and over every link that opens. If the list is new,
  // RevocationsChanged is among the actions. Returns the errors of Revocations::Take.
  absl::StatusOr<Actions> SetRevocations(const privacy::RevocationList& list, Instant now);
  // Takes the root's statement about an issuer, which a caller met outside of the core: it may end
  // earlier issuers, whose members then lose their links. Returns the errors of IssuerCert::Verify.
  absl::StatusOr<Actions> LearnIssuer(const privacy::IssuerCert& issuer, Instant now);
  // Signs, keeps and spreads an encoded contribution of a round. `kind` classifies it for the
  // consent tiers: plain, or noised and charged. Errors: CONSENT_MISSING, ROLE_MISSING,
  // PLAN_MISMATCH, UPDATE_INVALID, LIMIT_EXCEEDED. ItemAccepted with own = true is among the
  // actions.
  absl::StatusOr<Actions> OfferContribution(uint64_t round, std::string payload, Instant now,
                                            privacy::ShareableKind kind);
  // Signs, keeps and spreads an encoded verdict on a round. It is a statistic of lessons without
  // noise, so only the tier `public` lets it leave. It has the errors of OfferContribution.
  absl::StatusOr<Actions> OfferVerdict(uint64_t round, std::string payload, Instant now);
  // Signs, keeps and spreads the encoded state after a round (CheckpointRound). It holds what all
  // members sent, and nothing of this node that is not out already, so no consent is needed.
  absl::StatusOr<Actions> OfferCheckpoint(uint64_t round, std::string payload, Instant now);
  // Signs, keeps and spreads an item of a masked round (MaskedRound's OfferMaskItem), of one of the
  // three kinds. It has the same errors.
  absl::StatusOr<Actions> OfferMasked(ItemKind kind, uint64_t round, std::string payload,
                                      Instant now);
  // Offers a pattern in the same way. It is plain, so only the tier `public` lets it leave.
  absl::StatusOr<Actions> OfferPattern(const SharedPattern& pattern, Instant now);
  // Offers an expert in the same way. It is plain, so only the tier `public` lets it leave. It
  // takes the place of the former one.
  absl::StatusOr<Actions> OfferExpert(const SharedExpert& expert, Instant now);
  // Stops sharing every version of an own pattern, or all own contributions and verdicts: peers
  // that ask get nothing, and keep what they already have until it expires.
  Actions WithdrawPattern(const std::array<uint8_t, 16>& id);
  Actions WithdrawContributions();
  // Stops sharing own items by their ids; ids of other items are ignored.
  Actions WithdrawItems(std::span<const Digest> ids);
  // Signs, keeps and spreads the statement that this node takes back what it sent: peers that
  // follow the protocol drop it and do not accept it again. It works under every tier.
  // SIGNATURE_INVALID and WITHDRAWAL_INVALID for a withdrawal that is not this node's own.
  // ItemAccepted with own = true is among the actions.
  absl::StatusOr<Actions> OfferWithdrawal(const privacy::Withdrawal& withdrawal, Instant now);
  // Says which state of the cluster's rounds this node holds: the state after `round` with this
  // digest. The owner calls it whenever that changes. Pings carry it from then on. A neighbour
  // whose ping names another digest for that round lacks items, or this node does: the core
  // compares items with it at once, at most once for each state that is set here.
  void SetStateDigest(uint64_t round, const Digest& digest);
  // Leaves: sends a signed LEFT record and a Goaway over every link. Afterwards the core may only
  // be destroyed.
  Actions Leave(Instant now);
  // Leaves and accepts nothing new, but lets running transfers end, for at most `deadline` and
  // kDrainMax. The owner must go on calling the inputs from the network until drained(), then
  // destroy the core.
  Actions Drain(Duration deadline, Instant now);
  // Returns whether no link is left after Drain.
  bool drained() const;

  // ---- The certificate, and views of the state

  // Continues with a newer certificate of this node's key: links that open show it, and so does a
  // new record of this node. Open links stay until the earlier certificate ends. Errors:
  // CERTIFICATE_*, KEY_INVALID for a certificate of another key, cluster or name.
  absl::StatusOr<Actions> SetCertificate(const privacy::AdmissionCert& certificate, Instant now);
  const privacy::AdmissionCert& certificate() const;

  std::vector<Member> Members() const;  // by id, including this node
  // Works for nodes that are not members, too
  MemberStanding StandingOf(const privacy::NodeId& id) const;
  std::vector<Item> Items() const;  // by id
  // Items that are being transferred to this node
  std::vector<IncomingItem> Incoming() const;
  const GossipCounters& counters() const;
  // Returns the limits that hold peers, and what became of them.
  std::vector<LimitUse> Limits() const;
  privacy::ConsentTier consent() const;
  size_t active_links() const;
  // How many of them run through a relay
  size_t relayed_links() const;
  // The neighbour through which the link to a member runs; nullopt if there is no link, or a direct
  // one
  std::optional<privacy::NodeId> RelayTo(const privacy::NodeId& peer) const;
  // Circuits that this node carries for others
  size_t circuits() const;
  // Returns the creation time up to which versions of a member's pattern are withdrawn; nullopt if
  // they are not.
  std::optional<int64_t> PatternWithdrawn(const privacy::NodeId& origin,
                                          const std::array<uint8_t, 16>& pattern) const;
  std::vector<privacy::NodeId> MeshPeers() const;   // by link
  std::vector<privacy::NodeId> Graylisted() const;  // members whose links are refused, by id
  // Returns OK, or REVOCATION_STALE if the newest list is older than max_stale.
  absl::Status RevocationsFresh(Instant now) const;
  // Returns a proof for each member that is known to have equivocated, by id: at most kMaxEvidence,
  // each EvidenceTable::kStoredBytes long.
  std::vector<std::string> Evidence() const;
  // Returns what is remembered of peers, for RestoreScores.
  KeptScores Scores(Instant now) const;
  // Returns this node's score of a peer; negative: not in its mesh; 0 for an unknown peer.
  double ScoreOf(const privacy::NodeId& peer) const;
  std::shared_ptr<const SignedRecord> OwnRecord() const;

 private:
  struct State;
  explicit GossipCore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ruvd::federation
