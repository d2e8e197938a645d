// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A member with a good certificate that sends arbitrary frames: the input is a list of frames, each
// after its length (u16). Nothing may be accepted that was not signed, and nothing may crash.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/gossip_core.h"
#include "federation/limits.h"
#include "federation/link/handshake.h"
#include "federation/local_node.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

using Frame = federation::v1::Frame;

// Opens link 1 to the core as an honest member would.
void Open(GossipCore& core, const NodeKey& key, Instant now) {
  const GossipConfig config = ConfigFor(key, 1);
  const LocalNode local{.key = &key,
                        .certificate = config.certificate,
                        .cluster_id = ClusterIdOf(config.certificate.issuer),
                        .boot_counter = 1,
                        .model_hash = config.model_hash,
                        .frame_id = config.frame_id,
                        .listen_address = config.listen_address,
                        .version_min = limits::kProtocolVersionMin,
                        .version_max = limits::kProtocolVersion};
  CertificateStore certificates(config.certificate.issuer);
  Handshake handshake(local, /*dialed=*/true, Handshake::Nonce{});
  core.OnLinkOpened(1, "", now);
  const Actions actions = core.OnFrame(1, handshake.Hello(), now);
  for (const Action& action : actions) {
    if (const auto* send = std::get_if<SendFrame>(&action)) {
      const auto proof = handshake.OnFrame(*send->frame, certificates, now.wall_ms);
      RUVD_CHECK(proof.ok() && proof->has_value());
      core.OnFrame(1, **proof, now);
    }
  }
  RUVD_CHECK(core.active_links() == 1);
}

void FuzzFrames(std::span<const uint8_t> bytes) {
  static const NodeKey own = NodeKey::FromSeed(SeedOf(0));
  static const NodeKey peer = NodeKey::FromSeed(SeedOf(1));
  Instant now = At(Duration{});
  auto core = *GossipCore::Create(ConfigFor(own, 0), own, EntropyOf(1), 1, now);
  Open(*core, peer, now);
  core->OnLinkOpened(2, "", now);  // and one that was never opened properly
  ByteReader reader(bytes);
  for (LinkId link = 1;; link = 3 - link) {
    const auto length = reader.Read<uint16_t>();
    const auto raw = length ? reader.ReadBytes(*length) : std::nullopt;
    if (!raw) {
      break;
    }
    Frame frame;
    if (frame.ParseFromArray(raw->data(), static_cast<int>(raw->size()))) {
      core->OnFrame(link, frame, now);
    }
    now = At(now.now.time_since_epoch() + std::chrono::milliseconds(100));
    core->OnTick(now);
  }
  RUVD_CHECK(core->Items().empty());
  RUVD_CHECK(core->Members().size() <= 2);
}

}  // namespace
}  // namespace ruvd::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ruvd::test::FuzzFrames({data, size});
  return 0;
}
