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
#include "node/sharing/dp_centroids.h"
#include "node/sharing/dp_release.h"
#include "node/sharing/federated_model.h"
#include "node/sharing/masked_view.h"
#include "privacy/consent/consent.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/revocation_list.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::sharing {

// The sending end of one link's stream. Thread-safe; never blocks.
class LinkSink {
 public:
  virtual ~LinkSink() = default;
  // Queues a frame. A peer too far behind is disconnected; anti-entropy catches it up later.
  virtual void Send(std::shared_ptr<const federation::v1::Frame> frame) = 0;
  // Sends what is queued, then closes. Idempotent.
  virtual void Close() = 0;
};

struct FederationView {
  std::vector<federation::Member> members;
  TimePoint now;                             // what last_heard is measured against
  std::map<std::string, uint64_t> refused;   // envelopes and patterns refused since start
  std::map<std::string, uint64_t> accepted;  // items accepted since start, by kind
  uint32_t federated_adapter_version = 0;
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  int64_t consent_since_ms = 0;
  uint64_t bytes_shared = 0;  // in the node's whole life
  bool plain_left =
      false;  // items without noise left, or may have, under this consent or one before
  std::optional<DpReleaseView> release;  // none: the node does not federate
  // Of the last round of updates; none where there was none since the start of the node.
  std::optional<FederatedOutcome> last_round;
  std::vector<float> boundaries;  // of its banks
  std::optional<DpCentroidsView> centroids;
  int64_t certificate_expires_ms = 0;  // 0: the node does not federate
  std::optional<MaskedView> masked;    // none: the node does not federate
};

struct ConsentAnswer {
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  int64_t since_ms = 0;
  uint32_t items_offered = 0;
  uint32_t items_taken_back = 0;
  uint32_t peers = 0;  // linked now, that drop what they are told of; others hear of it later
};

// What was taken back as users or sessions said something else.
struct ConsentsAnswer {
  uint32_t updates = 0;
  uint32_t patterns = 0;
  uint32_t peers = 0;  // linked now, that drop what they are told of; others hear of it later
};

// What noised centroids would leave.
struct CentroidPreview {
  absl::Status refusal;  // why none would; OK: a release would be made, which noise may leave empty
  size_t lessons = 0;    // whose embeddings it would be of; never leaves the node
  size_t contributors = 0;
  size_t left_out = 0;  // lessons of people who did not agree
  DpCentroidsView release;
};

// What would leave the node next under a tier, without anything being spent, noised or offered.
struct ReleasePreview {
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  // Why nothing would leave now; OK: it would.
  absl::Status refusal;
  size_t patterns = 0;      // whose cores the update is the mean of
  size_t left_out = 0;      // with a core, kept back as somebody did not agree
  size_t contributors = 0;  // users and sessions whose lessons are in it
  // Under `public`: the update's payload byte by byte, then those of patterns, the first of them.
  std::vector<std::string> payloads;
  size_t more_payloads = 0;  // that are not shown
  // Under `dp`: the payload up to its values, which do not exist before they are paid for. Under
  // `masked` that of a share: all in it that is chosen by this node are masked values.
  DpRelease::Layout layout;
  double norm = 0;  // of the update before it is clipped; never leaves the node
  DpReleaseView release;
  // Under `dp`: noised centroids, which do not exist before they are paid for either.
  std::optional<CentroidPreview> centroids;
};

// The node's part in the cluster: feeds the sans-I/O gossip core with frames and time, carries out
// its actions, keeps items durable, turns accepted ones into patterns and the federated adapter.
// All methods are thread-safe and return at once; callbacks run on the node's threads.
class FederationActor {
 public:
  virtual ~FederationActor() = default;

  // A link's stream is up. `address` is what was dialled, "" for an incoming link; `channel` is
  // what TLS knows of it.
  virtual federation::LinkId OpenLink(std::shared_ptr<LinkSink> sink, std::string address,
                                      federation::LinkChannel channel) = 0;
  virtual void OnDialFailed(std::string address) = 0;
  // `frame` is null for bytes that are no frame.
  // False when this node cannot keep up: the link should close, anti-entropy catches up later.
  virtual bool OnFrame(federation::LinkId link,
                       std::shared_ptr<const federation::v1::Frame> frame) = 0;
  virtual void OnClosed(federation::LinkId link) = 0;

  // Tells peers that this node leaves and serves what they are fetching for at most `patience`;
  // nothing new begins. The actors' drain waits for it. Call it once, right before that.
  virtual void Leave(Duration patience) = 0;

  // The cluster's revocation list, or a newer one; what is wrong with it is logged.
  virtual void SetRevocations(privacy::RevocationList list) = 0;

  // A newer certificate of this node. Errors of GossipCore::SetCertificate are logged.
  virtual void SetCertificate(privacy::AdmissionCert certificate) = 0;

  // A pattern of this node is new or has changed: offers it as far as consent allows.
  virtual void OnPatternStored(const storage::PatternId& id) = 0;

  // An error where the actor does not answer: DEADLINE_EXCEEDED, ACTOR_STOPPED.
  virtual void View(std::function<void(absl::StatusOr<FederationView>)> done) = 0;
  // Stores a signed consent record, then offers what it allows. PRIVATE withdraws.
  virtual void SetConsent(privacy::ConsentTier tier,
                          std::function<void(absl::StatusOr<ConsentAnswer>)> done) = 0;
  // Users or sessions said something else: takes back what may no longer leave and tells peers.
  virtual void OnConsentsChanged(std::function<void(absl::StatusOr<ConsentsAnswer>)> done) = 0;
  virtual void Preview(privacy::ConsentTier tier,
                       std::function<void(absl::StatusOr<ReleasePreview>)> done) = 0;
};

}  // namespace ruvd::sharing
