// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Byzantine members that try to exhaust the resources of honest nodes: memory, room for transfers,
// links; and members that serve another adapter frame.

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "federation/limits.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/sim/adversary_host.h"
#include "tests/sim/attackers.h"
#include "tests/sim/own_envelopes.h"

namespace ruvd::test {
namespace {

using federation::v1::WireFrame;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Sends frames that are larger than allowed, promises payloads of the largest size, and serves
// payloads that claim to be large.
class Bomber : public Adversary {
 public:
  void OnTick(AdversaryHost& host) override {
    const auto link = RandomLink(host);
    if (!link || host.now().now < next_) {
      return;
    }
    next_ = host.now().now + milliseconds(700);
    WireFrame frame;
    switch (host.random().Below(4)) {
      case 0:  // above the limit of a frame
        frame.mutable_chunk()->set_item_id(std::string(sizeof(Digest), 'x'));
        frame.mutable_chunk()->set_data(std::string(2 * limits::kMaxFrameBytes, 'x'));
        break;
      case 1:  // a payload of a terabyte
        frame = Promise(host, uint64_t{1} << 40);
        break;
      case 2:  // as large as allowed; it takes room and nothing ever comes
        frame = Promise(host, limits::kMaxPayloadBytes);
        break;
      default:
        frame = Nested(host);
    }
    host.SendFrame(*link, std::make_shared<const WireFrame>(std::move(frame)));
  }
  bool OnReceive(AdversaryHost& host, federation::LinkId link, const FramePtr& frame) override {
    if (!frame->has_chunk_request()) {
      return true;
    }
    if (frame->chunk_request().item_id() != nested_id_) {
      return !promised_.contains(frame->chunk_request().item_id());  // lets them wait
    }
    WireFrame answer;
    answer.mutable_chunk()->set_item_id(nested_id_);
    answer.mutable_chunk()->set_data(nested_);
    host.SendFrame(link, std::make_shared<const WireFrame>(std::move(answer)));
    return false;
  }

 private:
  WireFrame Promise(AdversaryHost& host, uint64_t bytes) {
    federation::Manifest manifest = ManifestOf(host, "nothing");
    manifest.payload_bytes = bytes;
    manifest.payload_root.fill(static_cast<uint8_t>(host.random().Next()));
    const privacy::Envelope envelope =
        SealOwn(host, ContributionHeader(host, ++sequence_), federation::EncodeManifest(manifest));
    promised_.insert(std::string(AsText(privacy::MessageId(envelope))));
    return PushOf(envelope);
  }
  // Returns a small payload that says that it has as many banks as it can. Its hash is right, so
  // only the check of its content protects the memory.
  WireFrame Nested(AdversaryHost& host) {
    nested_ = SomePayload(host, 1);
    constexpr size_t kBanks = 111;  // the number of banks, after the header
    std::fill_n(nested_.begin() + kBanks, 16, '\xff');
    const privacy::Envelope envelope =
        SealOwn(host, ContributionHeader(host, ++sequence_),
                federation::EncodeManifest(ManifestOf(host, nested_)));
    nested_id_ = AsText(privacy::MessageId(envelope));
    return PushOf(envelope);
  }

  uint64_t sequence_ = kOwnSequence;
  TimePoint next_{};
  std::set<std::string> promised_;
  std::string nested_;
  std::string nested_id_;
};

// One of many identities of one attacker: it links to every node, to surround honest nodes and take
// their links, and gives nothing. Items must spread in spite of them.
class Sybil : public Adversary {
 public:
  void OnSend(AdversaryHost& host, federation::LinkId link, const FramePtr& frame) override {
    if (KeepsLinkOpen(*frame)) {
      host.SendFrame(link, frame);
    }
  }
  void OnTick(AdversaryHost& host) override {
    if (host.now().now < next_ || host.open_links().size() >= limits::kMaxLinks) {
      return;
    }
    next_ = host.now().now + seconds(1);
    for (int i = 0; i < 4; ++i) {
      if (const std::optional<std::string> address = host.SomeAddress()) {
        host.DialAddress(*address);
      }
    }
  }

 private:
  TimePoint next_{};
};

// Offers contributions for another adapter frame than its links announce.
class WrongFrame : public Adversary {
 public:
  void OnTick(AdversaryHost& host) override {
    const auto link = RandomLink(host);
    if (!link || host.now().now < next_) {
      return;
    }
    next_ = host.now().now + seconds(5);
    federation::Manifest manifest = ManifestOf(host, SomePayload(host, 1));
    manifest.frame_id.fill(0x99);
    host.SendFrame(*link, std::make_shared<const WireFrame>(
                              PushOf(SealOwn(host, ContributionHeader(host, ++sequence_),
                                             federation::EncodeManifest(manifest)))));
  }

 private:
  uint64_t sequence_ = kOwnSequence;
  TimePoint next_{};
};

}  // namespace

std::unique_ptr<Adversary> MakeBomber() {
  return std::make_unique<Bomber>();
}
std::unique_ptr<Adversary> MakeSybil() {
  return std::make_unique<Sybil>();
}
std::unique_ptr<Adversary> MakeWrongFrame() {
  return std::make_unique<WrongFrame>();
}

}  // namespace ruvd::test
