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
#include "federation/daf/adapter_delta.h"
#include "federation/daf/adapter_update.h"
#include "federation/events/actions.h"
#include "federation/events/counters.h"
#include "federation/gossip/gossip_config.h"
#include "federation/instant.h"
#include "federation/limits.h"
#include "federation/link/link_channel.h"
#include "federation/membership/record_set.h"
#include "federation/patterns/shared_pattern.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/withdrawal.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// The whole of federation as one state machine without I/O: links, membership, gossip of items.
// Every input returns what to do; the owner does it in order. Deterministic given its inputs, seed
// and entropy. Not thread-safe: one actor owns it.
class GossipCore {
 public:
  // Fills bytes for nonces; SecureRandomBytes in production, a seeded generator in tests.
  using Entropy = std::function<void(std::span<uint8_t>)>;

  // `key` must outlive the core. Refuses an own certificate that is expired, of another key, or
  // badly signed, so that a misconfigured node says so at its start and not at its peers.
  static absl::StatusOr<std::unique_ptr<GossipCore>> Create(GossipConfig config,
                                                            const privacy::NodeKey& key,
                                                            Entropy entropy, uint64_t seed,
                                                            Instant now);
  ~GossipCore();
  GossipCore(const GossipCore&) = delete;
  GossipCore& operator=(const GossipCore&) = delete;

  // ---- Inputs of the network.
  // A link is up. `dialed_address` is the address of the Dial action, or "" for an accepted link.
  Actions OnLinkOpened(LinkId link, const std::string& dialed_address, Instant now,
                       LinkChannel channel = {});
  Actions OnDialFailed(const std::string& address, Instant now);
  // Any frame from anybody: refusals are counted and reported, never fatal.
  Actions OnFrame(LinkId link, const v1::Frame& frame, Instant now);
  // Bytes that are no Frame, or more than kMaxFrameBytes of them.
  Actions OnBadFrame(LinkId link, Instant now);
  Actions OnLinkClosed(LinkId link, Instant now);
  // Call every 100 to 500 ms.
  Actions OnTick(Instant now);

  // ---- Inputs of this node.
  // Items read back from the store; expired ones, those of members that are kept out by evidence,
  // and own ones that may no longer leave, give ItemDropped. An own update or pattern is taken for
  // one that the tier allowed when it was offered: whoever lowers the tier drops what was stored
  // before the new record is. After SetConsent and before any link.
  Actions Restore(std::vector<Item> items, Instant now);
  // What Evidence gave in an earlier life: those members are kept out from the start. Each proof is
  // checked again; what is over, or proves nothing, is left out. Right after Create.
  Actions RestoreEvidence(const std::vector<std::string>& proofs, Instant now);
  // Members known from an earlier life, or from other nodes of the process, whose records were
  // verified; the base is shared, not copied. Right after Create.
  Actions RestoreMembers(std::shared_ptr<const RecordBase> records, Instant now);
  // Default is private. A record that is not this node's own leaves the tier as it was. Lowering
  // the tier withdraws own items that may no longer leave: peers are not offered them again.
  absl::StatusOr<Actions> SetConsent(const privacy::ConsentRecord& record, Instant now);
  // Refuses from now on whom the cluster's issuer revoked, and ends the links with them. The list
  // goes on to peers over all links, and with every link that opens. RevocationsChanged is among
  // the actions where it is news. Errors of Revocations::Take.
  absl::StatusOr<Actions> SetRevocations(const privacy::RevocationList& list, Instant now);
  // Signs, keeps and spreads an update. `kind` says what it is to the tiers: plain, or noised and
  // charged for. CONSENT_MISSING, ROLE_MISSING, UPDATE_INVALID, LIMIT_EXCEEDED. ItemAccepted with
  // own = true is among the actions.
  absl::StatusOr<Actions> OfferAdapterDelta(
      uint64_t round, AdapterDelta delta, Instant now,
      privacy::ShareableKind kind = privacy::ShareableKind::kAdapterDelta);
  // The same for an update of banks, which goes to peers that know it. While a link is open to one
  // that does not, the update also leaves as one core for all t, with a later OnTick.
  absl::StatusOr<Actions> OfferUpdate(
      uint64_t round, const AdapterUpdate& update, Instant now,
      privacy::ShareableKind kind = privacy::ShareableKind::kAdapterDelta);
  // Signs, keeps and spreads an item of a masked round (MaskedRound's OfferMaskItem), of one of the
  // three kinds. The same errors.
  absl::StatusOr<Actions> OfferMasked(ItemKind kind, uint64_t round, std::string payload,
                                      Instant now);
  // The same for a pattern. `kind`: plain, or a noised centroid that was charged for.
  absl::StatusOr<Actions> OfferPattern(
      const SharedPattern& pattern, Instant now,
      privacy::ShareableKind kind = privacy::ShareableKind::kPattern);
  // Stops giving away every version of an own pattern, or all own updates: peers that ask get
  // nothing, and what they already have stays with them until it expires.
  Actions WithdrawPattern(const std::array<uint8_t, 16>& id);
  Actions WithdrawAdapterDeltas();
  // The same for own items by their ids; others stay.
  Actions WithdrawItems(std::span<const Digest> ids);
  // Signs, keeps and spreads that this node took back what it sent: peers that keep to it drop it
  // and take it no more. Whatever the tier is. SIGNATURE_INVALID and WITHDRAWAL_INVALID for one
  // that is not this node's own. ItemAccepted with own = true is among the actions.
  absl::StatusOr<Actions> OfferWithdrawal(const privacy::Withdrawal& withdrawal, Instant now);
  // Says goodbye: a signed LEFT record and Goaway to every link. The core is then only destroyed.
  Actions Leave(Instant now);
  // Says goodbye and takes nothing new, but lets transfers that run end, for at most `deadline` and
  // kDrainMax. Go on calling the inputs of the network until drained(), then destroy the core.
  Actions Drain(Duration deadline, Instant now);
  // After Drain: no link is left.
  bool drained() const;

  // ---- Views.
  // Goes on with a newer certificate of this node's key: links that open show it, as does a new
  // record of this node. Open links stay until the former one ends. CERTIFICATE_*, KEY_INVALID for
  // one of another key, cluster or name.
  absl::StatusOr<Actions> SetCertificate(const privacy::AdmissionCert& certificate, Instant now);
  const privacy::AdmissionCert& certificate() const;

  std::vector<Member> Members() const;  // by id, this node included
  // Also of nodes that are no members.
  MemberStanding StandingOf(const privacy::NodeId& id) const;
  std::vector<Item> Items() const;  // by id
  // The update of the highest round (then of banks, then newest) of every origin, input of a round.
  std::vector<Item> NewestDeltas() const;  // by origin
  const GossipCounters& counters() const;
  privacy::ConsentTier consent() const;
  size_t active_links() const;
  // Of them, those that run through a relay.
  size_t relayed_links() const;
  // The neighbour through which the link to a member runs; nullopt where there is no link, or a
  // direct one.
  std::optional<privacy::NodeId> RelayTo(const privacy::NodeId& peer) const;
  // Circuits that this node carries for others.
  size_t circuits() const;
  // Of links, with peers that know withdrawals.
  size_t peers_that_take_withdrawals() const;
  // Until when versions of a member's pattern are withdrawn, by their creation; nullopt: none is.
  std::optional<int64_t> PatternWithdrawn(const privacy::NodeId& origin,
                                          const std::array<uint8_t, 16>& pattern) const;
  std::vector<privacy::NodeId> MeshPeers() const;   // by link
  std::vector<privacy::NodeId> Graylisted() const;  // members whose links are refused, by id
  // OK, or REVOCATION_STALE where the newest list is older than max_stale.
  absl::Status RevocationsFresh(Instant now) const;
  // A proof of each member that is known to have equivocated, by id; kMaxEvidence at most, each
  // EvidenceTable::kStoredBytes long.
  std::vector<std::string> Evidence() const;
  // What this node thinks of a peer; negative: not in its mesh. 0 for one that it knows nothing of.
  double ScoreOf(const privacy::NodeId& peer) const;
  std::shared_ptr<const SignedRecord> OwnRecord() const;
  int local_health() const;  // 0 (well) to kMaxLocalHealth

 private:
  struct State;
  explicit GossipCore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ruvd::federation
