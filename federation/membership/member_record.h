// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "federation/events/actions.h"
#include "privacy/identity/admission.h"

namespace ruvd::federation {

// The body type of an envelope that holds a member record.
inline constexpr uint16_t kBodyMemberRecord = 1;

// What a member says about itself: the body of envelopes of purpose 1. Only the member itself signs
// it, so its state is alive or left; suspicion is each node's own view.
struct MemberRecord {
  privacy::AdmissionCert certificate;
  uint64_t incarnation = 0;  // boot counter << 32 | count in this boot: never decreases
  MemberState state = MemberState::kAlive;
  Digest model_hash{};
  Digest frame_id{};
  std::string address;
};

std::string EncodeMemberRecord(const MemberRecord& record);
// Returns ENVELOPE_MALFORMED, or the errors of AdmissionCert::Parse.
absl::StatusOr<MemberRecord> DecodeMemberRecord(std::span<const uint8_t> body);

}  // namespace ruvd::federation
