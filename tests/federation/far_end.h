// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "federation/relay/relayed_links.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {

inline void CarryCircuits(federation::LocalNode& local) {
  local.relays = true;
}

inline std::string Text(const privacy::NodeId& id) {
  return std::string(AsText(id));
}

// A member at the far end of a circuit whose relay is a TestPeer, in one process.
class FarEnd {
 public:
  FarEnd(CoreUnderTest& target, TestPeer& relay, uint64_t number, uint32_t circuit)
      : target_(&target),
        relay_(&relay),
        circuit_(circuit),
        key_(privacy::NodeKey::FromSeed(SeedOf(number))),
        certificates_(Authority().public_key()) {
    const federation::GossipConfig config = ConfigFor(key_, number);
    local_ = relay.local();
    local_.key = &key_;
    local_.certificate = config.certificate;
    privacy::ChannelKey channel = privacy::ChannelKey::Generate(EntropyOf(number));
    nonce_ = channel.public_key();
    link_ = links_.Add({.link = relay.link(), .circuit = circuit}, std::move(channel));
  }
  const privacy::NodeKey& key() const { return key_; }
  federation::LocalNode& local() { return local_; }

  // Opens the circuit as the relay passes it on, under `source`.
  Answers Open(const privacy::NodeId& source) {
    WireFrame frame;
    frame.mutable_relay_open()->set_circuit(circuit_);
    frame.mutable_relay_open()->set_source(Text(source));
    frame.mutable_relay_open()->set_target(Text(target_->key().id()));
    return relay_->Send(frame);
  }
  Answers Send(const WireFrame& frame) { return relay_->Send(*links_.Wrap(link_, frame)); }
  // Returns the frame as the relay brings it.
  WireFrame Wrap(const WireFrame& frame) { return *links_.Wrap(link_, frame); }
  // Returns the contents of those frames that the relay passes on to this end, in their order.
  std::vector<WireFrame> Read(const Answers& answers) {
    std::vector<WireFrame> inner;
    for (const WireFrame& frame : answers.frames) {
      if (frame.has_relay_frame() && frame.relay_frame().circuit() == circuit_) {
        auto opened = links_.Unwrap(link_, frame.relay_frame());
        EXPECT_TRUE(opened.ok() && opened->has_value()) << opened.status();
        if (opened.ok() && opened->has_value()) {
          inner.push_back(**opened);
        }
      }
    }
    return inner;
  }
  // The whole handshake. The answers of its last step.
  Answers Dial(federation::LinkChannel channel = {.own_certificates = {}, .relayed = true}) {
    federation::Handshake handshake(local_, /*dialed=*/true, nonce_, std::move(channel));
    const Answers answers = Send(handshake.Hello());
    const WireFrame* ack = answers.Find(WireFrame::kRelayFrame);
    if (ack == nullptr) {
      return answers;
    }
    auto inner = links_.Unwrap(link_, ack->relay_frame());
    EXPECT_TRUE(inner.ok() && inner->has_value());
    auto proof = handshake.OnFrame(**inner, certificates_, target_->now().wall_ms);
    if (!proof.ok()) {
      Answers refused;
      refused.refused.push_back(ReasonOf(proof.status()));
      return refused;
    }
    const WireFrame wrapped = *links_.Wrap(link_, **proof);
    EXPECT_TRUE(
        links_.Secure(link_, handshake.peer_nonce(), /*dialed=*/true, handshake.Session()).ok());
    return relay_->Send(wrapped);
  }

 private:
  CoreUnderTest* target_;
  TestPeer* relay_;
  uint32_t circuit_;
  privacy::NodeKey key_;
  federation::LocalNode local_;
  federation::CertificateStore certificates_;
  federation::Handshake::Nonce nonce_{};
  federation::RelayedLinks links_;
  federation::LinkId link_ = 0;
};

}  // namespace ruvd::test
