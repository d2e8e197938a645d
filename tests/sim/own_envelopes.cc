// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/own_envelopes.h"

#include <iterator>
#include <utility>

#include "base/status.h"
#include "federation/events/outbox.h"
#include "federation/gossip/merkle.h"
#include "tests/federation/fixture.h"
#include "tests/sim/contributions.h"

namespace ruvd::test {

using federation::v1::WireFrame;

std::optional<federation::LinkId> RandomLink(AdversaryHost& host) {
  if (host.open_links().empty()) {
    return std::nullopt;
  }
  auto link = host.open_links().begin();
  std::advance(link, static_cast<std::ptrdiff_t>(host.random().Below(host.open_links().size())));
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

privacy::EnvelopeHeader HeaderOf(AdversaryHost& host, privacy::EnvelopePurpose purpose,
                                 uint16_t body_type, uint64_t seq) {
  privacy::EnvelopeHeader header;
  header.purpose = purpose;
  header.cluster_id = privacy::ClusterIdOf(host.config().certificate.issuer.root);
  header.boot_id = privacy::BootIdOf(host.key().id(), host.boot_counter());
  header.seq = seq;
  header.created_ms = host.now().wall_ms;
  header.expires_ms = header.created_ms + kDayMillis;
  header.body_type = body_type;
  return header;
}

privacy::Envelope SealOwn(AdversaryHost& host, const privacy::EnvelopeHeader& header,
                          std::string body) {
  auto envelope = SealEnvelope(header, std::move(body), host.key());
  RUVD_CHECK(envelope.ok());
  return *std::move(envelope);
}

uint64_t RoundOf(AdversaryHost& host) {
  return RoundAt(host.plan(), host.now().wall_ms);
}

privacy::EnvelopeHeader ContributionHeader(AdversaryHost& host, uint64_t seq) {
  privacy::EnvelopeHeader header = HeaderOf(host, PurposeOf(federation::ItemKind::kContribution),
                                            federation::kBodyManifest, seq);
  header.round = RoundOf(host);
  return header;
}

std::string SomePayload(AdversaryHost& host, uint64_t content_seed) {
  return EncodeContribution(WorldContribution(host.plan(), RoundOf(host), content_seed),
                            host.plan());
}

federation::Manifest ManifestOf(AdversaryHost& host, const std::string& payload) {
  const federation::GossipConfig& config = host.config();
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
