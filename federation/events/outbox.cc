// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/events/outbox.h"

#include <cstring>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "federation/limits.h"

namespace ruvd::federation {

std::string_view MemberStateName(MemberState state) {
  switch (state) {
    case MemberState::kAlive:
      return "alive";
    case MemberState::kSuspect:
      return "suspect";
    case MemberState::kLeft:
      return "left";
    case MemberState::kDead:
      return "dead";
  }
  return "unknown";
}

void Outbox::Refuse(LinkId link, const absl::Status& status) {
  ++counters_.refused[ReasonOf(status)];
  Emit(MessageRefused{.link = link, .status = status});
}

v1::SignedEnvelope ToProto(const privacy::Envelope& envelope) {
  v1::SignedEnvelope proto;
  proto.set_header(envelope.header);
  proto.set_body(envelope.body);
  proto.set_signature(envelope.signature);
  return proto;
}

privacy::Envelope FromProto(const v1::SignedEnvelope& proto) {
  return {.header = proto.header(), .body = proto.body(), .signature = proto.signature()};
}

std::optional<Digest> DigestFrom(std::string_view bytes) {
  Digest digest;
  if (bytes.size() != digest.size()) {
    return std::nullopt;
  }
  std::memcpy(digest.data(), bytes.data(), digest.size());
  return digest;
}

v1::WireFrame GoawayFrame(const absl::Status& status) {
  v1::WireFrame frame;
  const std::string reason = ReasonOf(status);
  frame.mutable_goaway()->set_reason(reason.empty() ? reasons::kInternal : reason);
  frame.mutable_goaway()->set_message(
      std::string(CutUtf8(MessageOf(status), limits::kMaxGoawayText)));
  return frame;
}

}  // namespace ruvd::federation
