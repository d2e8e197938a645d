// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/own_envelopes.h"

#include <iterator>
#include <utility>

#include "base/status.h"
#include "federation/events/outbox.h"
#include "federation/gossip/merkle.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {

using federation::v1::WireFrame;

std::optional<federation::LinkId> RandomLink(SimNode& node) {
  if (node.open_links().empty()) {
    return std::nullopt;
  }
  auto link = node.open_links().begin();
  std::advance(link, static_cast<std::ptrdiff_t>(node.random().Below(node.open_links().size())));
  return *link;
}

bool KeepsLinkOpen(const WireFrame& frame) {
  switch (frame.kind_case()) {
    case WireFrame::kHello:
    case WireFrame::kHelloAck:
    case WireFrame::kHelloProof:
    case WireFrame::kPing:
    case WireFrame::kAck:
    case WireFrame::kGoaway:
      return true;
    default:
      return false;
  }
}

privacy::EnvelopeHeader HeaderOf(SimNode& node, privacy::EnvelopePurpose purpose,
                                 uint16_t body_type, uint64_t seq) {
  privacy::EnvelopeHeader header;
  header.purpose = purpose;
  header.cluster_id = privacy::ClusterIdOf(node.identity().config.certificate.issuer.root);
  header.boot_id = privacy::BootIdOf(node.identity().key.id(), node.boot_counter());
  header.seq = seq;
  header.created_ms = node.now().wall_ms;
  header.expires_ms = header.created_ms + kDayMillis;
  header.body_type = body_type;
  return header;
}

privacy::Envelope SealOwn(SimNode& node, const privacy::EnvelopeHeader& header, std::string body) {
  auto envelope = SealEnvelope(header, std::move(body), node.identity().key);
  RUVD_CHECK(envelope.ok());
  return *std::move(envelope);
}

uint64_t RoundOf(SimNode& node) {
  return RoundAt(node.plan(), node.now().wall_ms);
}

privacy::EnvelopeHeader ContributionHeader(SimNode& node, uint64_t seq) {
  privacy::EnvelopeHeader header = HeaderOf(node, PurposeOf(federation::ItemKind::kContribution),
                                            federation::kBodyManifest, seq);
  header.round = RoundOf(node);
  return header;
}

std::string SomePayload(SimNode& node, uint64_t content_seed) {
  return EncodeContribution(WorldContribution(node.plan(), RoundOf(node), content_seed),
                            node.plan());
}

federation::Manifest ManifestOf(SimNode& node, const std::string& payload) {
  const federation::GossipConfig& config = node.identity().config;
  federation::Manifest manifest;
  manifest.certificate = config.certificate;
  manifest.kind = federation::ItemKind::kContribution;
  manifest.payload_bytes = payload.size();
  manifest.payload_root = federation::MerkleTree(payload).root();
  manifest.model_hash = config.model_hash;
  manifest.frame_id = config.frame_id;
  return manifest;
}

WireFrame PushOf(const privacy::Envelope& envelope) {
  WireFrame frame;
  *frame.mutable_push()->mutable_envelope() = federation::ToProto(envelope);
  return frame;
}

}  // namespace ruvd::test
