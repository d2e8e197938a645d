// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Byzantine members that withhold (silent nodes, free riders) and members that send too much.

#include <map>
#include <string>
#include <utility>

#include "federation/events/outbox.h"
#include "federation/limits.h"
#include "federation/membership/suspicion.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/fixture.h"
#include "tests/sim/adversary_host.h"
#include "tests/sim/attackers.h"
#include "tests/sim/own_envelopes.h"

namespace ruvd::test {
namespace {

using federation::v1::WireFrame;
using std::chrono::seconds;

class Silent : public Adversary {
 public:
  void OnSend(AdversaryHost& host, federation::LinkId link, const FramePtr& frame) override {
    if (KeepsLinkOpen(*frame)) {
      host.SendFrame(link, frame);
    }
  }
};

// Takes part in membership correctly. It takes items and never gives any; it answers requests with
// "none".
class FreeRider : public Adversary {
 public:
  void OnSend(AdversaryHost& host, federation::LinkId link, const FramePtr& frame) override {
    if (frame->has_chunk()) {
      WireFrame none;
      none.mutable_chunk()->set_item_id(frame->chunk().item_id());
      none.mutable_chunk()->set_index(frame->chunk().index());
      none.mutable_chunk()->set_missing(true);
      host.SendFrame(link, std::make_shared<const WireFrame>(std::move(none)));
    } else if (!frame->has_push() && !frame->has_i_have()) {
      host.SendFrame(link, frame);
    }
  }
};

// Every twenty seconds it sends one of its links more than a node can want to hear.
class Flooder : public Adversary {
 public:
  void OnTick(AdversaryHost& host) override {
    const TimePoint now = host.now().now;
    if (now < next_ || host.open_links().empty()) {
      return;
    }
    next_ = now + seconds(20);
    const federation::LinkId victim = *RandomLink(host);
    const auto frame = std::make_shared<const WireFrame>(Noise(host.random()));
    for (size_t i = 0; i < kFrames; ++i) {
      host.SendFrame(victim, frame);
    }
  }

 private:
  // This is above the burst that a link may have.
  static constexpr auto kFrames = static_cast<size_t>(limits::kFrameBurst) + 500;

  static std::string RandomId(Random& random) {
    std::string id(sizeof(Digest), '\0');
    for (char& c : id) {
      c = static_cast<char>(random.Next());
    }
    return id;
  }
  static WireFrame Noise(Random& random) {
    WireFrame frame;
    switch (random.Below(4)) {
      case 0:
        for (size_t i = 0; i < limits::kMaxIdsPerFrame; ++i) {
          frame.mutable_i_have()->add_ids(RandomId(random));
        }
        break;
      case 1:
        for (size_t i = 0; i < limits::kMaxIdsPerFrame; ++i) {
          frame.mutable_i_want()->add_ids(RandomId(random));
        }
        break;
      case 2:
        frame.mutable_chunk_request()->set_item_id(RandomId(random));
        break;
      default:
        auto* range = frame.mutable_recon_open()->add_ranges();
        range->set_fingerprint(RandomId(random).substr(0, 16));
    }
    return frame;
  }

  TimePoint next_{};
};

// Learns ever new patterns, several a second.
class Spammer : public Adversary {
 public:
  bool SpreadsTooMuch() const override { return true; }
  void OnTick(AdversaryHost& host) override {
    for (int i = 0; i < kPatternsOfATick; ++i) {
      host.OfferPattern(host.SomePattern()).IgnoreError();
    }
  }

 private:
  static constexpr int kPatternsOfATick = 5;  // 20 a second
};

// Accuses a member anew as soon as it has refuted the last accusation.
class Accuser : public Adversary {
 public:
  void OnTick(AdversaryHost& host) override {
    WireFrame frame;
    for (const federation::Member& member : host.core().Members()) {
      if (!member.self && accused_[member.id] <= member.incarnation &&
          static_cast<size_t>(frame.suspicions().accusations_size()) <
              limits::kMaxAccusationsPerFrame) {
        accused_[member.id] = member.incarnation + 1;
        *frame.mutable_suspicions()->add_accusations() =
            federation::ToProto(Accuse(host, member.id, member.incarnation));
      }
    }
    if (!frame.has_suspicions()) {
      return;
    }
    const auto shared = std::make_shared<const WireFrame>(std::move(frame));
    for (const federation::LinkId link : host.open_links()) {
      host.SendFrame(link, shared);
    }
  }

 private:
  privacy::Envelope Accuse(AdversaryHost& host, const privacy::NodeId& suspect,
                           uint64_t incarnation) {
    const federation::Accusation accusation{
        .certificate = host.config().certificate, .suspect = suspect, .incarnation = incarnation};
    return SealOwn(host,
                   HeaderOf(host, privacy::EnvelopePurpose::kMember, federation::kBodySuspicion,
                            kOwnSequence + sequence_++),
                   EncodeAccusation(accusation));
  }

  std::map<privacy::NodeId, uint64_t> accused_;  // from which incarnation on
  uint64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<Adversary> MakeSpammer() {
  return std::make_unique<Spammer>();
}
std::unique_ptr<Adversary> MakeAccuser() {
  return std::make_unique<Accuser>();
}
std::unique_ptr<Adversary> MakeSilent() {
  return std::make_unique<Silent>();
}
std::unique_ptr<Adversary> MakeFreeRider() {
  return std::make_unique<FreeRider>();
}
std::unique_ptr<Adversary> MakeFlooder() {
  return std::make_unique<Flooder>();
}

}  // namespace ruvd::test
