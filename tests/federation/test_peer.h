// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A hand-driven peer of one GossipCore: it has its own certificate, can open a link honestly, and
// then sends whatever a test wants.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "federation/core/gossip_core.h"
#include "federation/events/outbox.h"
#include "federation/gossip/manifest.h"
#include "federation/gossip/merkle.h"
#include "federation/link/handshake.h"
#include "federation/local_node.h"
#include "federation/sealer.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {

using WireFrame = federation::v1::WireFrame;

// What a core did in response to inputs.
struct Answers {
  std::vector<WireFrame> frames;
  std::vector<federation::Item> accepted;
  std::vector<Digest> dropped;
  std::vector<Digest> withdrawn;
  std::vector<std::string> refused;  // reasons
  std::string closed;                // reason of the last CloseLink
  std::vector<std::string> dials;
  std::vector<federation::LinkId> identified;

  void Add(federation::Actions actions) {
    for (federation::Action& action : actions) {
      if (auto* send = std::get_if<federation::SendFrame>(&action)) {
        frames.push_back(*send->frame);
      } else if (auto* accept = std::get_if<federation::ItemAccepted>(&action)) {
        accepted.push_back(accept->item);
      } else if (auto* drop = std::get_if<federation::ItemDropped>(&action)) {
        dropped.push_back(drop->id);
      } else if (auto* back = std::get_if<federation::ItemWithdrawn>(&action)) {
        withdrawn.push_back(back->item.id);
      } else if (auto* refuse = std::get_if<federation::MessageRefused>(&action)) {
        refused.push_back(ReasonOf(refuse->status));
        EXPECT_FALSE(MessageOf(refuse->status).empty());
      } else if (auto* close = std::get_if<federation::CloseLink>(&action)) {
        closed = ReasonOf(close->status);
      } else if (auto* dial = std::get_if<federation::Dial>(&action)) {
        dials.push_back(dial->address);
      } else if (auto* known = std::get_if<federation::LinkIdentified>(&action)) {
        identified.push_back(known->link);
      }
    }
  }
  const WireFrame* Find(WireFrame::KindCase kind) const {
    for (const WireFrame& frame : frames) {
      if (frame.kind_case() == kind) {
        return &frame;
      }
    }
    return nullptr;
  }
};

// A core under test with a clock.
class CoreUnderTest {
 public:
  explicit CoreUnderTest(uint64_t number = 0,
                         std::function<void(federation::GossipConfig&)> change = {})
      : key_(privacy::NodeKey::FromSeed(SeedOf(number))) {
    federation::GossipConfig config = ConfigFor(key_, number);
    if (change) {
      change(config);
    }
    core_ =
        *federation::GossipCore::Create(std::move(config), key_, EntropyOf(number), number, now());
  }
  federation::GossipCore& core() { return *core_; }
  // Returns what operators see of a limit.
  LimitUse Limit(std::string_view name) const {
    const std::vector<LimitUse> all = core_->Limits();
    const auto found = std::ranges::find(all, name, &LimitUse::name);
    EXPECT_NE(found, all.end()) << name;
    return found == all.end() ? LimitUse{} : *found;
  }
  federation::Instant now() const { return At(elapsed_); }
  void Advance(Duration duration) { elapsed_ += duration; }
  const privacy::NodeKey& key() const { return key_; }
  uint64_t Refused(const std::string& reason) const {
    const auto& refused = core_->counters().refused;
    const auto found = refused.find(reason);
    return found == refused.end() ? 0 : found->second;
  }

 private:
  privacy::NodeKey key_;
  Duration elapsed_{};
  std::unique_ptr<federation::GossipCore> core_;
};

class TestPeer {
 public:
  TestPeer(CoreUnderTest& target, uint64_t number, federation::LinkId link,
           std::function<void(federation::LocalNode&)> change = {})
      : target_(&target),
        link_(link),
        key_(privacy::NodeKey::FromSeed(SeedOf(number))),
        local_(LocalOf(number)),
        certificates_(Authority().public_key()) {
    if (change) {
      change(local_);
    }
    sealer_ = std::make_unique<federation::Sealer>(local_, EntropyOf(number));
  }

  const privacy::NodeKey& key() const { return key_; }
  federation::LocalNode& local() { return local_; }
  federation::LinkId link() const { return link_; }

  // Begins to open a link and returns the first frame.
  WireFrame Hello(const federation::RevocationNotice& revocations = {}) {
    handshake_ = std::make_unique<federation::Handshake>(local_, /*dialed=*/true,
                                                         federation::Handshake::Nonce{1});
    handshake_->Announce(revocations);
    return handshake_->Hello();
  }
  // Dials the core and says that it has this revocation list. Returns the answers of the last step:
  // the link is open if nothing closed it.
  Answers Dial(const federation::RevocationNotice& revocations = {}) {
    Answers answers;
    answers.Add(target_->core().OnLinkOpened(link_, "", target_->now()));
    answers.Add(target_->core().OnFrame(link_, Hello(revocations), target_->now()));
    return answers.Find(WireFrame::kHelloAck) == nullptr ? answers : Finish(answers);
  }
  // Proves the identity after the core's answer to Hello(), which is in `answers`.
  Answers Finish(const Answers& answers) {
    const WireFrame* ack = answers.Find(WireFrame::kHelloAck);
    RUVD_CHECK(ack != nullptr);
    auto proof = handshake_->OnFrame(*ack, certificates_, target_->now().wall_ms);
    EXPECT_TRUE(proof.ok()) << proof.status();
    return Send(**proof);
  }
  Answers Send(const WireFrame& frame) {
    Answers answers;
    answers.Add(target_->core().OnFrame(link_, frame, target_->now()));
    return answers;
  }
  Answers Push(const privacy::Envelope& envelope) {
    WireFrame frame;
    *frame.mutable_push()->mutable_envelope() = federation::ToProto(envelope);
    return Send(frame);
  }
  // A signed manifest for a payload; `change` may spoil it before it is signed.
  privacy::Envelope Manifest(federation::ItemKind kind, const std::string& payload,
                             const std::function<void(ruvd::federation::Manifest&)>& change = {}) {
    ruvd::federation::Manifest manifest;
    manifest.certificate = local_.certificate;
    manifest.kind = kind;
    manifest.payload_bytes = payload.size();
    manifest.payload_root = federation::MerkleTree(payload).root();
    manifest.model_hash = local_.model_hash;
    manifest.frame_id = local_.frame_id;
    if (change) {
      change(manifest);
    }
    const int64_t created = target_->now().wall_ms;
    return *sealer_->Seal(federation::PurposeOf(kind), federation::kBodyManifest, 1,
                          federation::EncodeManifest(manifest), created,
                          std::min(created + kDayMillis, local_.certificate.not_after_ms));
  }
  federation::Sealer& sealer() { return *sealer_; }
  // Answers the chunk request among `answers`, and those that follow, from `payload`.
  Answers Serve(const Answers& answers, const std::string& payload) {
    Answers last = answers;
    while (const WireFrame* request = last.Find(WireFrame::kChunkRequest)) {
      last = Send(ChunkOf(request->chunk_request(), payload));
    }
    return last;
  }
  // Tells the core of a revocation list and sends the parts that it asks for.
  Answers OfferRevocations(uint64_t number, const std::string& encoded) {
    WireFrame frame;
    *frame.mutable_revocation_notice() = ToProto(federation::NoticeOf(number, encoded));
    return ServeRevocations(Send(frame), encoded);
  }
  // Answers the request for a part of a revocation list among `answers`, and those that follow.
  Answers ServeRevocations(const Answers& answers, const std::string& encoded) {
    Answers last = answers;
    while (const WireFrame* want = last.Find(WireFrame::kRevocationsWant)) {
      last = Send(federation::PartOf(encoded, want->revocations_want()).value());
    }
    return last;
  }
  static WireFrame ChunkOf(const federation::v1::ChunkRequest& request,
                           const std::string& payload) {
    WireFrame frame;
    auto* chunk = frame.mutable_chunk();
    chunk->set_item_id(request.item_id());
    chunk->set_index(request.index());
    chunk->set_data(payload.substr(request.index() * limits::kChunkBytes, limits::kChunkBytes));
    for (const Digest& digest : federation::MerkleTree(payload).Path(request.index())) {
      chunk->add_path(std::string(AsText(digest)));
    }
    return frame;
  }

 private:
  federation::LocalNode LocalOf(uint64_t number) const {
    const federation::GossipConfig config = ConfigFor(key_, number);
    return {.key = &key_,
            .certificate = config.certificate,
            .cluster_id = Authority().cluster_id(),
            .boot_counter = 1,
            .model_hash = config.model_hash,
            .frame_id = config.frame_id,
            .listen_address = config.listen_address};
  }

  CoreUnderTest* target_;
  federation::LinkId link_;
  privacy::NodeKey key_;
  federation::LocalNode local_;
  federation::CertificateStore certificates_;
  std::unique_ptr<federation::Sealer> sealer_;
  std::unique_ptr<federation::Handshake> handshake_;
};

}  // namespace ruvd::test
