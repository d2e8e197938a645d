// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Byzantine members that lie: forgers, replayers, equivocators.

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "federation/events/outbox.h"
#include "federation/gossip/manifest.h"
#include "federation/limits.h"
#include "federation/membership/member_record.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"
#include "tests/sim/adversary_host.h"
#include "tests/sim/attackers.h"
#include "tests/sim/own_envelopes.h"

namespace ruvd::test {
namespace {

using federation::v1::WireFrame;
using std::chrono::seconds;

constexpr size_t kRemembered = 128;
constexpr int64_t kRecordLifeMillis = 10 * 60 * 1000;

void FlipBit(std::string& bytes, Random& random) {
  if (!bytes.empty()) {
    bytes[random.Below(bytes.size())] ^= static_cast<char>(1 << random.Below(8));
  }
}

// Envelopes that a node heard and may alter or repeat.
class Memory {
 public:
  void Note(const Adversary::FramePtr& frame, Random& random) {
    if (!frame->has_push() && !frame->has_member_delta() && !frame->has_chunk()) {
      return;
    }
    if (frames_.size() < kRemembered) {
      frames_.push_back(frame);
    } else if (random.Bernoulli(0.05)) {  // keeps old ones for a long time
      frames_[random.Below(kRemembered)] = frame;
    }
  }
  Adversary::FramePtr Any(Random& random) const {
    return frames_.empty() ? nullptr : frames_[random.Below(frames_.size())];
  }

 private:
  std::vector<Adversary::FramePtr> frames_;
};

class Forger : public Adversary {
 public:
  // Half of the chunks that it serves differ from the manifest.
  void OnSend(AdversaryHost& host, federation::LinkId link, const FramePtr& frame) override {
    if (frame->has_chunk() && !frame->chunk().data().empty() && host.random().Bernoulli(0.5)) {
      WireFrame altered = *frame;
      FlipBit(*altered.mutable_chunk()->mutable_data(), host.random());
      host.SendFrame(link, std::make_shared<const WireFrame>(std::move(altered)));
      return;
    }
    host.SendFrame(link, frame);
  }
  bool OnReceive(AdversaryHost& host, federation::LinkId /*link*/, const FramePtr& frame) override {
    heard_.Note(frame, host.random());
    return true;
  }
  void OnTick(AdversaryHost& host) override {
    const auto link = RandomLink(host);
    if (!link || !host.random().Bernoulli(0.5)) {
      return;
    }
    const FramePtr heard = heard_.Any(host.random());
    if (heard == nullptr) {
      return;
    }
    WireFrame forged = *heard;
    if (host.random().Bernoulli(0.3)) {
      std::string bytes = forged.SerializeAsString();
      FlipBit(bytes, host.random());
      host.SendBytes(*link, bytes);
      return;
    }
    if (forged.has_push()) {
      Forge(host, *forged.mutable_push()->mutable_envelope());
    } else if (forged.has_member_delta()) {
      for (auto& record : *forged.mutable_member_delta()->mutable_records()) {
        ForgeRecord(host, record);
      }
    }
    host.SendFrame(*link, std::make_shared<const WireFrame>(std::move(forged)));
  }

 private:
  // Spoils a victim's envelope in one of the ways that a check must find.
  static void Forge(AdversaryHost& host, federation::v1::SignedEnvelope& envelope) {
    switch (host.random().Below(4)) {
      case 0:
        FlipBit(*envelope.mutable_header(), host.random());
        break;
      case 1:
        FlipBit(*envelope.mutable_body(), host.random());
        break;
      case 2:
        FlipBit(*envelope.mutable_signature(), host.random());
        break;
      default:  // the victim's certificate and header, another payload, the forger's signature
        envelope.mutable_body()->back() = static_cast<char>(host.random().Next());
        SignOver(host, envelope);
    }
  }
  // Returns a record in the victim's name that says that it has left, or has another address.
  static void ForgeRecord(AdversaryHost& host, federation::v1::SignedEnvelope& envelope) {
    auto record = federation::DecodeMemberRecord(AsBytes(envelope.body()));
    if (!record.ok()) {
      return;
    }
    record->incarnation += uint64_t{1} << 32;
    if (host.random().Bernoulli(0.5)) {
      record->state = federation::MemberState::kLeft;
    } else {
      record->address = "elsewhere:1";
    }
    envelope.set_body(federation::EncodeMemberRecord(*record));
    SignOver(host, envelope);
  }
  // The header names the altered body; the only available key is the forger's.
  static void SignOver(AdversaryHost& host, federation::v1::SignedEnvelope& envelope) {
    auto header = privacy::ParseHeader(AsBytes(envelope.header()));
    if (!header.ok()) {
      return;
    }
    header->seq += 1;
    header->body_length = static_cast<uint32_t>(envelope.body().size());
    header->body_hash = Sha256(envelope.body());
    envelope.set_header(privacy::EncodeHeader(*header));
    envelope.set_signature(std::string(AsText(host.key().Sign(AsBytes(envelope.header())))));
  }

  Memory heard_;
};

class Replayer : public Adversary {
 public:
  bool OnReceive(AdversaryHost& host, federation::LinkId /*link*/, const FramePtr& frame) override {
    heard_.Note(frame, host.random());
    return true;
  }
  void OnTick(AdversaryHost& host) override {
    const auto link = RandomLink(host);
    if (!link) {
      return;
    }
    for (int i = 0; i < 3; ++i) {
      if (const FramePtr again = heard_.Any(host.random())) {
        host.SendFrame(*link, again);
      }
    }
    if (host.random().Bernoulli(0.1)) {
      host.SendFrame(*link, std::make_shared<const WireFrame>(PushOf(OfOtherCluster(host))));
    }
  }

 private:
  // Returns a good item of its own, but for another cluster.
  static privacy::Envelope OfOtherCluster(AdversaryHost& host) {
    const std::string payload = SomePayload(host, host.random().Next());
    privacy::EnvelopeHeader header = ContributionHeader(host, kOwnSequence);
    header.cluster_id.fill(0x77);
    return *SealEnvelope(header, federation::EncodeManifest(ManifestOf(host, payload)), host.key());
  }

  Memory heard_;
};

// Returns a record of the host itself, newer than those of its core. One of a higher `version`
// takes its place.
WireFrame OwnRecord(AdversaryHost& host, uint64_t version, uint64_t seq,
                    const std::string& address) {
  // Its core signs the next ones itself where others accuse it.
  constexpr uint64_t kRefutations = 1024;
  const federation::GossipConfig& config = host.config();
  federation::MemberRecord record;
  record.certificate = config.certificate;
  record.incarnation = host.boot_counter() << 32 | ((uint64_t{1} << 20) + version * kRefutations);
  record.model_hash = config.model_hash;
  record.frame_id = config.frame_id;
  record.address = address;
  privacy::EnvelopeHeader header =
      HeaderOf(host, privacy::EnvelopePurpose::kMember, federation::kBodyMemberRecord, seq);
  header.expires_ms = header.created_ms + kRecordLifeMillis;
  WireFrame frame;
  *frame.mutable_member_delta()->add_records() = federation::ToProto(
      *SealEnvelope(header, federation::EncodeMemberRecord(record), host.key()));
  return frame;
}

class Equivocator : public Adversary {
 public:
  void OnTick(AdversaryHost& host) override {
    if (host.now().now < next_ || host.open_links().size() < 2 || pairs_ == kMaxPairs) {
      return;
    }
    next_ = host.now().now + seconds(15);
    const uint64_t seq = kOwnSequence + ++pairs_;
    const WireFrame first = Item(host, seq);
    const WireFrame second = Item(host, seq);
    const WireFrame here = OwnRecord(host, pairs_, seq + kMaxPairs, "here:7000");
    const WireFrame there = OwnRecord(host, pairs_, seq + kMaxPairs, "there:7000");
    bool odd = false;
    for (const federation::LinkId link : host.open_links()) {
      odd = !odd;
      host.SendFrame(link, std::make_shared<const WireFrame>(odd ? first : second));
      host.SendFrame(link, std::make_shared<const WireFrame>(odd ? here : there));
    }
  }
  // Its core does not know its lies, so it serves them itself.
  bool OnReceive(AdversaryHost& host, federation::LinkId link, const FramePtr& frame) override {
    if (!frame->has_chunk_request()) {
      return true;
    }
    const auto found = payloads_.find(frame->chunk_request().item_id());
    if (found == payloads_.end()) {
      return true;
    }
    WireFrame answer;
    answer.mutable_chunk()->set_item_id(found->first);
    answer.mutable_chunk()->set_data(found->second);
    host.SendFrame(link, std::make_shared<const WireFrame>(std::move(answer)));
    return false;
  }

 private:
  // This number of items of one origin is small enough that they never displace each other.
  static constexpr uint64_t kMaxPairs = 3;

  WireFrame Item(AdversaryHost& host, uint64_t seq) {
    const std::string payload = SomePayload(host, host.random().Next());
    const privacy::Envelope envelope = SealOwn(
        host, ContributionHeader(host, seq), federation::EncodeManifest(ManifestOf(host, payload)));
    const Digest id = privacy::MessageId(envelope);
    host.NoteSigned(id, payload);
    payloads_[std::string(AsText(id))] = payload;
    return PushOf(envelope);
  }

  uint64_t pairs_ = 0;
  TimePoint next_{};
  std::map<std::string, std::string> payloads_;  // by id
};

// Says ever anew that it is elsewhere: where honest nodes are, where no node is, and where a
// program that takes names for more than host and port would do harm.
class AddressLiar : public Adversary {
 public:
  void OnTick(AdversaryHost& host) override {
    if (host.now().now < next_ || host.open_links().empty()) {
      return;
    }
    next_ = host.now().now + seconds(2);
    ++told_;
    const auto frame = std::make_shared<const WireFrame>(
        OwnRecord(host, told_, kOwnSequence + told_, Elsewhere(host)));
    for (const federation::LinkId link : host.open_links()) {
      host.SendFrame(link, frame);
    }
  }

 private:
  static std::string Elsewhere(AdversaryHost& host) {
    switch (host.random().Below(4)) {
      case 0:
        return host.SomeAddress().value_or("localhost:1");
      case 1:
        return "unix:/run/elsewhere:1";
      case 2:
        return "dns://192.0.2.1/elsewhere:7000";
      default:
        return "nowhere.invalid:7000";
    }
  }

  uint64_t told_ = 0;
  TimePoint next_{};
};

}  // namespace

std::unique_ptr<Adversary> MakeForger() {
  return std::make_unique<Forger>();
}
std::unique_ptr<Adversary> MakeReplayer() {
  return std::make_unique<Replayer>();
}
std::unique_ptr<Adversary> MakeAddressLiar() {
  return std::make_unique<AddressLiar>();
}
std::unique_ptr<Adversary> MakeEquivocator() {
  return std::make_unique<Equivocator>();
}

}  // namespace ruvd::test
