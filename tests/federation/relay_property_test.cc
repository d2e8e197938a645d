// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Whatever peers send about circuits, in any order, a core stays within its limits, leaves no work
// undone, and its owner sees direct links only.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "federation/limits.h"
#include "federation/relay/relayed_links.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/far_end.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

constexpr size_t kPeers = 4;

class RelayFuzz {
 public:
  explicit RelayFuzz(uint64_t seed) : random_(seed) {
    for (size_t i = 0; i < kPeers; ++i) {
      Connect(i);
    }
  }

  void Step() {
    const size_t peer = random_.Below(kPeers);
    switch (random_.Below(24)) {
      case 0:
        target_.Advance(std::chrono::milliseconds(random_.Below(3000)));
        return Check(target_.core().OnTick(target_.now()));
      case 1:
        return Reconnect(peer);
      case 2: {
        WireFrame frame;
        frame.mutable_goaway()->set_reason("LINK_IDLE");
        frame.mutable_goaway()->set_drain_ms(random_.Bernoulli(0.5) ? 500 : 0);
        return Send(peer, frame);
      }
      case 3: {
        WireFrame frame;
        frame.mutable_relay_close()->set_circuit(Circuit());
        return Send(peer, frame);
      }
      case 4: {
        WireFrame frame;
        frame.mutable_relay_ack()->set_circuit(Circuit());
        frame.mutable_relay_ack()->set_received(random_.Below(4));
        return Send(peer, frame);
      }
      case 5:
      case 6:
      case 7:
        return Send(peer, Carried());
      default:
        return Send(peer, Opening(peer));
    }
  }
  void End() {
    const bool at_once = random_.Bernoulli(0.5);
    Check(at_once ? target_.core().Leave(target_.now())
                  : target_.core().Drain(limits::kDrainMax, target_.now()));
    if (!at_once) {
      target_.Advance(limits::kDrainMax);
      Check(target_.core().OnTick(target_.now()));
    }
    RC_ASSERT(target_.core().drained());
    RC_ASSERT(target_.core().circuits() == 0U);
    RC_ASSERT(open_.empty());
  }

 private:
  void Connect(size_t peer) {
    const federation::LinkId link = next_link_++;
    auto made = std::make_unique<TestPeer>(target_, peer + 1, link, CarryCircuits);
    open_.insert(link);
    if (!made->Dial().closed.empty()) {
      open_.erase(link);
    }
    peers_[peer] = std::move(made);
  }
  void Reconnect(size_t peer) {
    const federation::LinkId link = peers_[peer]->link();
    if (open_.erase(link) > 0) {
      Check(target_.core().OnLinkClosed(link, target_.now()));
    }
    Connect(peer);
  }
  // Numbers from both sides, mostly new ones.
  uint32_t Circuit() { return static_cast<uint32_t>(random_.Below(next_circuit_ + 2)); }
  privacy::NodeId Node(size_t number) {
    return number < kPeers    ? peers_[number]->key().id()
           : number == kPeers ? target_.key().id()
                              : privacy::NodeKey::FromSeed(SeedOf(20 + random_.Below(40))).id();
  }
  WireFrame Opening(size_t peer) {
    WireFrame frame;
    auto* open = frame.mutable_relay_open();
    open->set_circuit(random_.Bernoulli(0.9) ? next_circuit_ += 2 : Circuit());
    const bool to_core = random_.Bernoulli(0.5);
    open->set_source(Text(to_core ? Node(random_.Below(kPeers + 3)) : Node(peer)));
    open->set_target(Text(to_core ? Node(kPeers) : Node(random_.Below(kPeers + 2))));
    return frame;
  }
  WireFrame Carried() {
    WireFrame inner;
    if (random_.Bernoulli(0.3)) {
      inner.mutable_goaway()->set_reason("NODE_DRAINING");
    } else {
      inner.mutable_hello()->set_version_max(limits::kProtocolVersion);
    }
    WireFrame frame;
    frame.mutable_relay_frame()->set_circuit(Circuit());
    frame.mutable_relay_frame()->set_seq(random_.Below(3));
    if (random_.Bernoulli(0.7)) {
      frame.mutable_relay_frame()->set_opening(inner.SerializeAsString());
    } else {
      frame.mutable_relay_frame()->set_sealed(std::string(random_.Below(100'000), 'x'));
    }
    return frame;
  }
  void Send(size_t peer, const WireFrame& frame) {
    if (open_.contains(peers_[peer]->link())) {
      Check(target_.core().OnFrame(peers_[peer]->link(), frame, target_.now()));
    }
  }
  void Check(const federation::Actions& actions) {
    for (const federation::Action& action : actions) {
      if (const auto* send = std::get_if<federation::SendFrame>(&action)) {
        RC_ASSERT(open_.contains(send->link));
      } else if (const auto* close = std::get_if<federation::CloseLink>(&action)) {
        RC_ASSERT(open_.erase(close->link) == 1U);
      }
    }
    RC_ASSERT(target_.core().OnLinkClosed(next_link_, target_.now()).empty());
    RC_ASSERT(target_.core().circuits() <= kPeers * (kPeers - 1));  // one from each to each other
    RC_ASSERT(target_.core().relayed_links() <= limits::kMaxRelayedLinks);
  }

  Random random_;
  CoreUnderTest target_{99};
  std::unique_ptr<TestPeer> peers_[kPeers];
  std::set<federation::LinkId> open_;
  federation::LinkId next_link_ = 1;
  uint32_t next_circuit_ = 1;
};

RC_GTEST_PROP(RelayProperty, OpeningsFramesAndGoodbyesInAnyOrderLeaveNothing, ()) {
  RelayFuzz fuzz(*rc::gen::arbitrary<uint64_t>());
  const auto steps = *rc::gen::inRange<size_t>(0, 300);
  for (size_t step = 0; step < steps; ++step) {
    fuzz.Step();
  }
  fuzz.End();
}

}  // namespace
}  // namespace ruvd::test
