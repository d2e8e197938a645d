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
#include "node/sharing/use_ratings.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/patterns/pattern.h"

namespace ruvd::actors {

struct LinkOpened {
  federation::LinkId link = 0;
  std::shared_ptr<sharing::LinkSink> sink;
  std::string address;
  federation::LinkChannel channel;
};
struct DialFailed {
  std::string address;
};
struct FrameReceived {
  federation::LinkId link = 0;
  std::shared_ptr<const federation::v1::WireFrame> frame;
};
struct LinkClosed {
  federation::LinkId link = 0;
};
struct Tick {};
// The answer once no link is left.
struct LeaveDone {};
struct LeaveRequest {
  Duration patience{};
  runtime::ReplyTo<LeaveDone> reply;
};
struct NodesRevoked {
  privacy::RevocationList list;
  std::optional<privacy::IssuerCert> issuer;  // a statement of the root, in place of a list
};
struct CertificateRenewed {
  privacy::AdmissionCert certificate;
};
struct PatternStored {
  storage::PatternId id{};
};
struct LessonsWithdrawn {};
struct CompletionRated {
  sharing::RatedUse use;
};
struct ViewRequest {
  runtime::ReplyTo<sharing::FederationView> reply;
};
struct ConsentRequest {
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  runtime::ReplyTo<privacy::v1::SetConsentResponse> reply;
};
struct ConsentsChanged {
  runtime::ReplyTo<sharing::OptOutAnswer> reply;
};
struct PreviewRequest {
  privacy::ConsentTier tier = privacy::ConsentTier::kPrivate;
  runtime::ReplyTo<privacy::v1::PreviewReleaseResponse> reply;
};
// The messages of the federation actor.
using GossipMessage =
    std::variant<LinkOpened, DialFailed, FrameReceived, LinkClosed, Tick, LeaveRequest,
                 NodesRevoked, CertificateRenewed, PatternStored, LessonsWithdrawn, CompletionRated,
                 ViewRequest, ConsentRequest, ConsentsChanged, PreviewRequest>;

// Makes the actor behind FederationActor. It owns the gossip core, carries out its actions, and
// turns items into patterns and the global adapter.
std::unique_ptr<runtime::Actor<GossipMessage>> MakeGossipActor(
    const FederationActorOptions& options);

}  // namespace ruvd::actors
