// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Two members with good certificates send arbitrary frames, over their links and through circuits,
// and so does a peer without a certificate: the input is a list of frames, each after its length
// (u16). Nothing may be accepted that was not signed, nothing may be carried beyond the limits, and
// nothing may crash.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/core/gossip_core.h"
#include "federation/limits.h"
#include "federation/link/handshake.h"
#include "federation/local_node.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

using WireFrame = federation::v1::WireFrame;

// Opens a link to the core as an honest member would.
void Open(federation::GossipCore& core, const privacy::NodeKey& key, federation::LinkId link,
          federation::Instant now) {
  const federation::GossipConfig config = ConfigFor(key, link);
  const federation::LocalNode local{
      .key = &key,
      .certificate = config.certificate,
      .cluster_id = privacy::ClusterIdOf(config.certificate.issuer.root),
      .boot_counter = 1,
      .model_hash = config.model_hash,
      .frame_id = config.frame_id,
      .listen_address = config.listen_address,
      .relays = true};
  federation::CertificateStore certificates(config.certificate.issuer.root);
  federation::Handshake handshake(local, /*dialed=*/true, federation::Handshake::Nonce{});
  core.OnLinkOpened(link, "", now);
  const federation::Actions actions = core.OnFrame(link, handshake.Hello(), now);
  for (const federation::Action& action : actions) {
    if (const auto* send = std::get_if<federation::SendFrame>(&action)) {
      const auto proof = handshake.OnFrame(*send->frame, certificates, now.wall_ms);
      RUVD_CHECK(proof.ok() && proof->has_value());
      core.OnFrame(link, **proof, now);
    }
  }
  RUVD_CHECK(core.active_links() == link);
}

// The owner of a core has no link whose id it did not choose.
void CheckLinks(const federation::Actions& actions) {
  for (const federation::Action& action : actions) {
    if (const auto* send = std::get_if<federation::SendFrame>(&action)) {
      RUVD_CHECK(send->link <= 3);
    } else if (const auto* close = std::get_if<federation::CloseLink>(&action)) {
      RUVD_CHECK(close->link <= 3);
    }
  }
}

void FuzzFrames(std::span<const uint8_t> bytes) {
  static const privacy::NodeKey own = privacy::NodeKey::FromSeed(SeedOf(0));
  static const privacy::NodeKey peer = privacy::NodeKey::FromSeed(SeedOf(1));
  static const privacy::NodeKey other = privacy::NodeKey::FromSeed(SeedOf(2));
  federation::Instant now = At(Duration{});
  auto core = *federation::GossipCore::Create(ConfigFor(own, 0), own, EntropyOf(1), 1, now);
  Open(*core, peer, 1, now);
  Open(*core, other, 2, now);
  core->SetStateDigest(7, Digest{});
  core->OnLinkOpened(3, "", now);  // and one that was never opened properly
  ByteReader reader(bytes);
  for (federation::LinkId link = 1;; link = link % 3 + 1) {
    const auto length = reader.Read<uint16_t>();
    const auto raw = length ? reader.ReadBytes(*length) : std::nullopt;
    if (!raw) {
      break;
    }
    WireFrame frame;
    if (frame.ParseFromArray(raw->data(), static_cast<int>(raw->size()))) {
      CheckLinks(core->OnFrame(link, frame, now));
    }
    now = At(now.now.time_since_epoch() + std::chrono::milliseconds(100));
    CheckLinks(core->OnTick(now));
  }
  RUVD_CHECK(core->Items().empty());
  RUVD_CHECK(core->Members().size() <= 3);
  RUVD_CHECK(core->relayed_links() == 0);
  RUVD_CHECK(core->circuits() <= 2 && core->active_links() <= 2);
}

}  // namespace
}  // namespace ruvd::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ruvd::test::FuzzFrames({data, size});
  return 0;
}
