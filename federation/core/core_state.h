// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/token_bucket.h"
#include "federation/core/gossip_core.h"
#include "federation/events/outbox.h"
#include "federation/gossip/check_backlog.h"
#include "federation/gossip/exchange.h"
#include "federation/gossip/mesh.h"
#include "federation/gossip/recon_schedule.h"
#include "federation/gossip/state_comparison.h"
#include "federation/link/certificates.h"
#include "federation/link/handshake.h"
#include "federation/membership/dial_planner.h"
#include "federation/membership/evidence.h"
#include "federation/membership/failure_detector.h"
#include "federation/membership/member_table.h"
#include "federation/membership/peer_scores.h"
#include "federation/relay/circuit_table.h"
#include "federation/relay/opening_shares.h"
#include "federation/relay/relay_planner.h"
#include "federation/relay/relayed_links.h"
#include "federation/sealer.h"

namespace ruvd::federation {

// The parts of GossipCore. This class handles links (core_links.cc), frames about members
// (core_members.cc), and what keeps the node connected (core_mesh.cc); members, mesh and items are
// separate classes.
struct GossipCore::State {
  using WireFrame = v1::WireFrame;

  // This node refused a link in its mesh, and told the peer how long not to ask again.
  struct MeshRefusal {
    TimePoint since{};
    TimePoint until{};
  };
  struct Link {
    LinkId id = 0;
    std::string dialed_address;
    std::unique_ptr<Handshake> handshake;  // until the link is active
    bool dialed = false;
    bool active = false;
    bool half_open() const { return !active && !dialed && !relayed && !waits_for_list; }
    Mesh::Source source{};  // of the link's channel, or the relay
    // Set when the link is active
    privacy::NodeId peer{};
    privacy::AdmissionCert certificate;
    bool same_plan = false;  // the peer's rounds are those of this node
    TimePoint opened{};
    TokenBucket frames;
    TokenBucket recon;
    TokenBucket revocation_parts;  // limits parts of the revocation list that the peer gets
    TokenBucket circuits;          // limits circuits that the peer begins over this link to others
    OpeningShares openings;        // limits circuits that others begin over this link to this node
    TokenBucket strays;   // limits frames of circuits that ended while the frames were in transit
    bool relays = false;  // the peer carries circuits
    uint32_t own_circuit = 0;   // number of the last circuit that this node began over this link
    uint32_t peer_circuit = 0;  // number of the last circuit that the peer began
    // Set if the link runs through a relay
    bool relayed = false;
    privacy::NodeId relay{};   // the neighbour that carries it
    privacy::NodeId sought{};  // the node that is, or claims to be, at its other end
    bool excused = false;      // if it ends before it is active, the relay is not to blame
    bool failed = false;       // what it carried was altered, or nothing arrived
    std::optional<TimePoint> drains_until;  // the peer is leaving
    std::optional<MeshRefusal> pruned;      // the last one
    uint64_t announced_revocations = 0;  // number of the list that was named when the link opened
    DialPurpose purpose = DialPurpose::kMesh;
    // The peer proved who it is, but this node's revocation list is too old for a new link, and the
    // peer named a newer one. The link becomes active when that has come.
    bool waits_for_list = false;
    TimePoint waits_since{};
  };

  State(GossipConfig config, const privacy::NodeKey& key, Entropy entropy, uint64_t seed,
        TimePoint now);

  // ---- Links (core_links.cc)
  void OpenLink(LinkId id, const std::string& dialed_address, LinkChannel channel, Instant now);
  // Handles a frame of an existing link.
  void HandleFrame(Link& link, const WireFrame& frame, Instant now);
  // Sends a Goaway with the reason, closes, and forgets the link.
  void CloseWithGoaway(Link& link, const absl::Status& status, Instant now);
  // Ends an unused link outside the mesh.
  void CloseIdle(LinkId id, Instant now);
  // Forgets a link that is gone or about to be closed. `lost` means that it broke without a Goaway.
  void ForgetLink(LinkId id, bool hopeless, bool lost, Instant now);
  void TickLinks(Instant now);
  bool IsLinked(const privacy::NodeId& peer) const { return link_of.contains(peer); }

  // ---- Relay (core_relay.cc)
  // Returns the actions of an input, for the owner.
  Actions TakeActions();
  // Wraps the frames for relayed links into frames for the links that carry them.
  void WrapRelayed();
  void TickRelays(Instant now);
  // Returns whether the link to the member runs through a relay.
  bool IsLinkedByRelay(const privacy::NodeId& id) const;

  // ---- Revocations (core_revocations.cc)
  // Takes a newer list of the issuer: closes links to the nodes that it names, and passes it on
  // over all other links except `from`.
  absl::Status ApplyRevocationList(const privacy::RevocationList& list, LinkId from, Instant now);
  absl::Status LearnIssuer(const privacy::IssuerCert& issuer, Instant now);
  // Fetches lists again that did not come, and ends links that waited for one in vain.
  void TickRevocations(Instant now);

  // ---- Members (core_members.cc)
  void AnnounceSelf(Instant now);
  // Tells every neighbour that this node is leaving.
  void AnnounceDeparture(Instant now);
  void TickMembers(Instant now);

  // ---- Mesh (core_mesh.cc)
  void TickMesh(Instant now);

  // ---- Leaving (core_drain.cc)
  void BeginDrain(Duration deadline, Instant now);
  void TickDrain(Instant now);
  void CloseDraining(Link& link, Instant now);

  // ---- Members that are kept out (core_graylist.cc)
  // Returns whether this node refuses links of the member and does not dial it.
  bool Graylisted(const privacy::NodeId& id) const {
    return evidence.IsConvicted(id) || scores.Graylisted(id);
  }
  void CloseGraylisted(Link& link, Instant now);
  void TickGraylist(Instant now);
  // Has the owner store the scores, unless both these and the stored ones are empty.
  void StoreScores(Instant now);

  LocalNode local;
  const std::chrono::milliseconds max_stale;
  ClusterClock* const clock;  // may be null
  // Whether the node goes by its neighbours' clocks, because most of them agree against its own.
  bool ClockIsCorrected() const { return clock != nullptr && !clock->Check().ok(); }
  // Returns what the machine's wall clock shows.
  int64_t OwnWallMillis(Instant now) const {
    return clock == nullptr ? now.wall_ms : clock->OwnWallMillis();
  }
  bool ClockIsSettled() const { return clock == nullptr || clock->IsSettled(); }
  Random random;
  Outbox outbox;
  CertificateStore certificates;
  std::string encoded_revocations;   // the current list; empty without one
  RevocationNotice own_revocations;  // names it
  RevocationFetcher revocation_fetcher;
  EvidenceTable evidence;
  CheckBacklog<v1::EquivocationProof, limits::kMaxEvidenceWaiting> evidence_backlog;
  CheckBacklog<v1::SignedEnvelope, limits::kMaxAccusationsWaiting> accusation_backlog;
  PeerScores scores;
  Sealer sealer;
  MemberTable members;
  FailureDetector detector;
  DialPlanner dialer;
  CircuitTable circuits;  // carried for other nodes
  RelayedLinks relayed;
  RelayPlanner relay_planner;
  Mesh mesh;
  ReconSchedule recon;
  StateComparison states;
  ItemExchange exchange;
  std::map<LinkId, Link> links;
  std::map<privacy::NodeId, LinkId> link_of;  // active links
  privacy::ConsentTier consent = privacy::ConsentTier::kPrivate;
  bool leaving = false;
  std::optional<TimePoint> drain_until;
  TimePoint last_served{};  // when a peer last asked for a chunk
  TimePoint next_heartbeat{};
  std::optional<TimePoint> scores_stored;  // when the owner was last asked to store them
  bool scores_in_store = false;            // what it stored then was not empty
  TimePoint next_heal_dial{};
  TimePoint last_refutation{};
  bool refutation_due = false;
  bool own_evidence_reported = false;

 private:
  // ---- core_links.cc
  Link& AddLink(LinkId id, bool dialed, const Handshake::Nonce& nonce, LinkChannel channel,
                Instant now);
  void OnHandshakeFrame(Link& link, const WireFrame& frame, Instant now);
  void Activate(Link& link, Instant now);
  // Closes a link whose peer is kept out. Returns whether it did.
  bool CloseUnwelcome(Link& link, Instant now);
  // Makes a link active whose peer proved who it is, and begins to exchange members and items.
  void Join(Link& link, Instant now);
  // Tells everyone of a link whose handshake has ended, which is let go of.
  void LinkUp(Link& link, const privacy::NodeId& peer, Instant now);
  // Ends one of two links to the same peer. Returns false if `link` is the one that ends.
  bool ResolveDuplicate(Link& link, const privacy::NodeId& peer, Instant now);
  // Decides which of two links to the same peer to keep. Both sides choose the same one.
  bool PrefersNewLink(const Link& old_link, const Link& new_link,
                      const privacy::NodeId& peer) const;
  // Returns whether one more link to a member fits; may close an idle link for it.
  bool MakeRoomForLink(Instant now);
  void NoteOwnHello(const std::string& nonce, Instant now);
  // Closes a link for which there is no room.
  void CloseCrowded(Link& link, Instant now);
  // Closes a half-open link if there are too many for one more: the oldest of the source with the
  // most of them.
  void MakeRoomForHalfOpenLink(Instant now);
  // Returns the number of links that are not half-open. A link is half-open while a peer that
  // dialled this node has not proved that it is a member.
  size_t CountedLinks() const;
  absl::Status OnActiveFrame(Link& link, const WireFrame& frame, Instant now);
  // Handles a frame about members, the mesh, evidence or revocations.
  absl::Status OnMemberFrame(Link& link, const WireFrame& frame, Instant now);
  // Handles a frame of the handshake on a link that is already open.
  absl::Status OnRepeatedOpening(const Link& link, const WireFrame& frame);
  static absl::Status UnexpectedFrame(const WireFrame& frame);
  void OnAck(Link& link, uint64_t seq, TimePoint now);
  void OnGoaway(Link& link, const v1::Goaway& goaway, Instant now);
  void OnPeerDrains(Link& link, Duration patience, Instant now);
  // Counts a refusal, and counts it against the peer if the peer is to blame. Returns false if this
  // closed the link.
  bool Refuse(Link& link, const absl::Status& status, Instant now);

  // ---- core_revocations.cc
  // Each of these may close the link.
  absl::Status OnRevocationFrame(Link& link, const WireFrame& frame, Instant now);
  absl::Status OnRevocations(Link& link, const v1::Revocations& part, Instant now);
  absl::Status OnRevocationsWant(Link& link, const v1::RevocationsWant& want, Instant now);
  // Checks and applies a list that came over a link, where it was named with this number.
  absl::Status TakeRevocations(LinkId link, const std::string& bytes, uint64_t number, Instant now);
  absl::StatusOr<privacy::RevocationList> CheckRevocations(const std::string& bytes,
                                                           uint64_t number) const;
  WireFrame RevocationNoticeFrame() const;
  void ForwardRevocations(LinkId except);
  // Asks peers for lists that are newer than the own one.
  void FetchRevocations(Instant now);
  // Closes the links to members that the list excludes.
  void CloseExcluded(Instant now);
  void CloseStale(Link& link, Instant now);
  // Keeps a link until the newer list that its peer named has come; without one, closes it.
  void WaitForRevocations(Link& link, Instant now);
  // Handles a frame of a link that waits. Only the list is taken.
  void OnWaitingFrame(Link& link, const WireFrame& frame, Instant now);
  // Makes links active that waited for a list, or ends them.
  void SettleWaiting(Instant now);
  // Drops the items of nodes that the current list names and `former` does not.
  void ExpelRevoked(const privacy::RevocationList& former);
  void ExpelOfEndedIssuers();

  // ---- core_members.cc
  void GreetMember(const Link& link);
  absl::Status OnMemberDelta(Link& link, const v1::MemberDelta& delta, Instant now);
  // Applies records one by one and passes new ones on. Returns false if the link was closed
  // meanwhile.
  bool ApplyRecords(Link& link,
                    const google::protobuf::RepeatedPtrField<v1::SignedEnvelope>& protos,
                    Instant now);
  absl::Status OnMemberWant(const Link& link, const v1::MemberWant& want);
  absl::Status OnSuspicions(Link& link, const v1::Suspicions& suspicions, Instant now);
  // The reactions that accusations from one link require.
  struct Accusations {
    v1::WireFrame wanted;  // requests for records that this node lacks
    bool of_ourselves = false;
  };
  // Applies one accusation and notes the required reaction. Returns the errors of
  // MemberTable::ApplyAccusation.
  absl::Status ApplyAccusation(const v1::SignedEnvelope& proto, LinkId from,
                               Accusations& accusations, Instant now);
  void AnswerAccusations(LinkId from, Accusations accusations, Instant now);
  // Checks accusations that there was no time to check before.
  void RetryAccusations(Instant now);
  absl::Status OnPing(const Link& link, const v1::Ping& ping);
  absl::Status OnPingRequest(const Link& link, const v1::PingRequest& request, Instant now);
  absl::Status OnMemberReconciliation(const Link& link, const v1::ReconMessage& message,
                                      Instant now);
  void SendRecords(LinkId link, std::span<const RecordPtr> records);
  void ForwardRecords(const std::vector<RecordPtr>& records, LinkId except);
  void SendAccusations(LinkId link,
                       std::span<const std::shared_ptr<const privacy::Envelope>> accusations);
  void ForwardAccusation(const std::shared_ptr<const privacy::Envelope>& accusation,
                         const privacy::NodeId& suspect, LinkId except);
  void Refute(Instant now);

  // ---- core_graylist.cc
  // Ends the link of a peer whose score fell too low. Returns true if it did.
  bool CloseIfGraylisted(LinkId id, Instant now);
  absl::Status OnEvidence(Link& link, const v1::Evidence& message, Instant now);
  // Checks a proof later, with RetryEvidence, if it has the form of one.
  void KeepProof(LinkId from, const v1::EquivocationProof& proof);
  // Checks one proof that came over a link and acts on it. Returns the errors of
  // EvidenceTable::Apply.
  absl::Status ApplyEvidence(const v1::EquivocationProof& proof, LinkId from, Instant now);
  // Checks proofs that there was no time to check before.
  void RetryEvidence(Instant now);
  // Acts on proofs that this node found itself.
  void Convict(const std::vector<Conviction>& convictions, Instant now);
  // Drops what a newly convicted member signed, ends its link, and tells the neighbours except one.
  void ActOnEvidence(const privacy::NodeId& id, EvidenceTable::ApplyResult applied, LinkId except,
                     Instant now);
  void SendEvidence(const Link& link, std::span<const privacy::NodeId> about);

  // ---- core_relay.cc
  absl::Status OnCircuitFrame(Link& link, const WireFrame& frame, Instant now);
  absl::Status OnRelayOpen(Link& link, const v1::RelayOpen& open, Instant now);
  // Accepts a circuit if this node is its target, or carries it on to the target. An error is the
  // reason for a refusal.
  absl::Status AcceptCircuit(Link& link, CircuitEnd end, const privacy::NodeId& source,
                             Instant now);
  absl::Status CarryCircuit(Link& link, CircuitEnd end, const privacy::NodeId& target, Instant now);
  void OnRelayFrame(const Link& link, const v1::RelayFrame& frame, Instant now);
  void OnRelayClose(const Link& link, const v1::RelayClose& close, Instant now);
  // Returns whether the frame belongs to a circuit. Then the circuit's limits apply instead of the
  // link's.
  bool BelongsToCircuit(Link& link, const WireFrame& frame, TimePoint now) const;
  void SendCircuitClose(CircuitEnd end, const absl::Status& status);
  // Returns whether this node may dial an address that a member states. One that leads to the own
  // machine or to its own line makes no sense, unless this node has such an address, too: it would
  // make the node knock at its neighbours in the house.
  bool MayDial(const std::string& address) const;
  // Returns whether the member has no address, or dials to it fail.
  bool NeedsRelay(const SignedRecord& record, Instant now) const;
  // Asks neighbours, one after the other, to carry a link to a member. Returns false if it cannot
  // be done now.
  bool AskRelay(const privacy::NodeId& target, DialPurpose purpose, Instant now);
  bool AskNextRelay(const privacy::NodeId& target, Instant now);
  // Returns neighbours that carry circuits and have room for another one of this node.
  std::vector<privacy::NodeId> Relays() const;
  absl::Status CheckRelayCapacity(LinkId carrier) const;
  static uint32_t NextCircuit(Link& carrier);
  Link& OpenRelayed(const Link& carrier, CircuitEnd end, const privacy::NodeId& member, bool dialed,
                    Instant now);
  // Seals the frames after the handshake, if the other end is the member that was wanted.
  absl::Status SecureRelayed(Link& link);
  void OnLinkForgotten(const Link& link, TimePoint now);

  // ---- core_mesh.cc
  absl::Status OnGraft(Link& link, Instant now);
  absl::Status OnPrune(Link& link, const v1::Prune& prune, Instant now);
  absl::Status OnReconciliation(Link& link, const v1::ReconMessage& message, Instant now);
  void JoinMesh(const Link& link, Instant now);
  // Returns whether the owner of the certificate is a newcomer that this node's mesh does not need.
  bool IsKeptOutOfMesh(const privacy::AdmissionCert& certificate, Instant now) const;
  void HastenIfShort(TimePoint now);
  void SendPrune(Link& link, Instant now, Duration backoff = limits::kPruneBackoff);
  void Heartbeat(Instant now);
  void DialSeeds(bool all, Instant now);
  // Dials up to `count` living members that have no link.
  size_t DialMembers(size_t count, DialPurpose purpose, Instant now);
  void DialHigherScored(double score, size_t count, Instant now);
  // Dials a member, or asks a relay for a link to it.
  bool DialMember(const SignedRecord& record, DialPurpose purpose, Instant now);
  bool DialDirectly(const SignedRecord& record, DialPurpose purpose, Instant now);
  bool IsWorthDialing(const SignedRecord& record) const;
  void DialUnresponsive(Instant now);
  void TickAntiEntropy(Instant now);
  // Compares the items alone, or also the members.
  void ReconcileItems(const Link& link);
  void StartReconciliation(const Link& link);
};

}  // namespace ruvd::federation
