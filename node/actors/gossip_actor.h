// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "federation/events/actions.h"
#include "federation/link/link_channel.h"
#include "node/actors/federation_actor.h"
#include "node/runtime/actor.h"
#include "node/runtime/ask.h"
#include "node/sharing/federation.h"
#include "storage/patterns/pattern.h"

namespace ruvd {

struct LinkOpened {
  LinkId link = 0;
  std::shared_ptr<LinkSink> sink;
  std::string address;
  LinkChannel channel;
};
struct DialFailed {
  std::string address;
};
struct FrameReceived {
  LinkId link = 0;
  std::shared_ptr<const federation::v1::Frame> frame;
};
struct LinkClosed {
  LinkId link = 0;
};
struct Tick {};
// Answered when no link is left.
struct Left {};
struct LeaveRequest {
  Duration patience{};
  ReplyTo<Left> reply;
};
struct NodesRevoked {
  RevocationList list;
};
struct CertificateRenewed {
  AdmissionCert certificate;
};
struct PatternStored {
  PatternId id{};
};
struct ViewRequest {
  ReplyTo<FederationView> reply;
};
struct ConsentRequest {
  ConsentTier tier = ConsentTier::kPrivate;
  ReplyTo<ConsentAnswer> reply;
};
struct ConsentsChanged {
  ReplyTo<ConsentsAnswer> reply;
};
struct PreviewRequest {
  ConsentTier tier = ConsentTier::kPrivate;
  ReplyTo<ReleasePreview> reply;
};
// What the federation actor is told.
using GossipMessage = std::variant<LinkOpened, DialFailed, FrameReceived, LinkClosed, Tick,
                                   LeaveRequest, NodesRevoked, CertificateRenewed, PatternStored,
                                   ViewRequest, ConsentRequest, ConsentsChanged, PreviewRequest>;

// The actor behind FederationActor: owns the gossip core, carries out its actions, turns items into
// patterns and the federated adapter.
std::unique_ptr<Actor<GossipMessage>> MakeGossipActor(const FederationActorOptions& options);

}  // namespace ruvd
