// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

#include "absl/status/status.h"
#include "federation/events/actions.h"
#include "federation/events/counters.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {

// Collects the actions of one input, and all counters. Not thread-safe.
class Outbox {
 public:
  using WireFrame = v1::WireFrame;

  void Send(LinkId link, WireFrame frame) {
    Send(link, std::make_shared<const WireFrame>(std::move(frame)));
  }
  void Send(LinkId link, std::shared_ptr<const WireFrame> frame) {
    actions_.push_back(SendFrame{.link = link, .frame = std::move(frame)});
  }
  void Emit(Action action) { actions_.push_back(std::move(action)); }
  // Counts and reports a message that had no effect.
  void Refuse(LinkId link, const absl::Status& status);
  Actions Take() { return std::exchange(actions_, {}); }
  // The actions collected so far
  Actions& pending() { return actions_; }
  GossipCounters& counters() { return counters_; }
  const GossipCounters& counters() const { return counters_; }

 private:
  Actions actions_;
  GossipCounters counters_;
};

// Convert an envelope to its protobuf message and back.
v1::SignedEnvelope ToProto(const privacy::Envelope& envelope);
privacy::Envelope FromProto(const v1::SignedEnvelope& proto);

// Returns a digest from a bytes field; nullopt if the length is wrong.
std::optional<Digest> DigestFrom(std::string_view bytes);

// Returns a Goaway frame that tells the peer why the link closes.
v1::WireFrame GoawayFrame(const absl::Status& status);

}  // namespace ruvd::federation
