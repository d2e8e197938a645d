// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/events/actions.h"
#include "federation/link/link_channel.h"
#include "node/sharing/use_ratings.h"
#include "privacy/consent/consent.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/revocation_list.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::sharing {

// The sending end of one link's stream. Thread-safe; never blocks.
class LinkSink {
 public:
  virtual ~LinkSink() = default;
  // Queues a frame. A peer that is too far behind is disconnected; anti-entropy brings it up to
  // date later.
  virtual void Send(std::shared_ptr<const federation::v1::WireFrame> frame) = 0;
  // Sends what is queued, then closes. Idempotent.
  virtual void Close() = 0;
  // The peer has proved that it is a member.
  virtual void OnIdentified() {}
};

struct FederationView {
  std::vector<federation::Member> members;
  TimePoint now;                             // the time that last_heard is compared with
  std::map<std::string, uint64_t> refused;   // envelopes and patterns refused since start
  std::map<std::string, uint64_t> accepted;  // items accepted since start, by kind
  std::map<privacy::NodeId, cluster::v1::PeerPatternStatus>
      patterns;                                                  // by the peer that offers them
  std::map<privacy::NodeId, cluster::v1::ExpertStatus> experts;  // of this node and its peers
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  int64_t consent_since_ms = 0;
  uint64_t bytes_shared = 0;  // in the node's whole life
  bool plain_shared = false;  // items without noise left this node, or may have left it, under this
                              // or an earlier consent
  // nullopt: the node takes part in no rounds
  std::optional<cluster::v1::RoundsStatus> rounds;
  std::optional<privacy::v1::ReleaseStatus> release;  // nullopt: the node does not federate
  privacy::AdmissionCert certificate;                 // in use; the default: it does not federate
};

// What was withdrawn because consents of users or sessions changed.
struct OptOutAnswer {
  uint32_t updates = 0;
  uint32_t patterns = 0;
  uint32_t peers = 0;  // linked peers that are told now; other peers learn it later
};

// The part of a program that handles its links. All methods are thread-safe and return at once.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;

  // Registers a link whose stream is open. `address` is the dialled address, "" for an incoming
  // link; `channel` is the TLS channel of the link.
  virtual federation::LinkId OpenLink(std::shared_ptr<LinkSink> sink, std::string address,
                                      federation::LinkChannel channel) = 0;
  virtual void OnDialFailed(std::string address) = 0;
  // Handles a frame; `frame` is null for bytes that are not a frame. Returns false if the program
  // cannot keep up: then close the link, and anti-entropy catches up later.
  virtual bool OnFrame(federation::LinkId link,
                       std::shared_ptr<const federation::v1::WireFrame> frame) = 0;
  virtual void OnClosed(federation::LinkId link) = 0;
};

// The node's part in the cluster: it feeds frames and time to the gossip core (which does no I/O),
// carries out the core's actions, stores items on disk, and turns accepted items into patterns and
// the global adapter. All methods are thread-safe and return at once; callbacks run on the
// node's threads.
class FederationActor : public LinkHandler {
 public:
  // Tells peers that this node leaves, and serves what they are fetching for at most `patience`;
  // nothing new is started. Call it once, right before the actors' drain, which waits for it.
  virtual void Leave(Duration patience) = 0;

  // Sets the cluster's revocation list. An invalid list is logged and ignored.
  virtual void SetRevocations(privacy::RevocationList list) = 0;

  // Takes the root's statement about an issuer (GossipCore::LearnIssuer). Errors are logged.
  virtual void LearnIssuer(privacy::IssuerCert issuer) = 0;

  // Sets a newer certificate of this node. Errors of GossipCore::SetCertificate are logged.
  virtual void SetCertificate(privacy::AdmissionCert certificate) = 0;

  // Offers a new or changed pattern of this node, as far as consent allows.
  virtual void OnPatternStored(const storage::PatternId& id) = 0;

  // A user rated a completion: patterns of peers that serve badly are dropped.
  virtual void OnRated(RatedUse use) = 0;

  // Returns the state for the operator; DEADLINE_EXCEEDED, ACTOR_FAILING or ACTOR_STOPPED if the
  // actor does not answer.
  virtual void View(std::function<void(absl::StatusOr<FederationView>)> done) = 0;
  // Stores a signed consent record, then offers what it allows. kPrivate withdraws everything, and
  // is stored even while the actor does not work. The answer has all fields but the text about what
  // cannot be taken back.
  virtual void SetConsent(
      privacy::ConsentTier tier,
      std::function<void(absl::StatusOr<privacy::v1::SetConsentResponse>)> done) = 0;
  // Lessons were withdrawn or erased: takes back plain contributions that may contain them.
  virtual void OnLessonsWithdrawn() = 0;
  // Handles changed consents of users or sessions: withdraws what may no longer leave and tells
  // peers.
  virtual void OnConsentsChanged(std::function<void(absl::StatusOr<OptOutAnswer>)> done) = 0;
  // Returns what would leave the node next under a tier. Nothing is charged, noised or offered.
  virtual void Preview(
      privacy::ConsentTier tier,
      std::function<void(absl::StatusOr<privacy::v1::PreviewReleaseResponse>)> done) = 0;
};

}  // namespace ruvd::sharing
