// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "base/status.h"

namespace ruvd::sharing {

// Writes why something was refused into the fields `refusal` and `refusal_reason` of a message,
// which are empty if it was not.
template <typename Message>
void WriteRefusal(const absl::Status& refusal, Message* message) {
  message->set_refusal(refusal.ok() ? "" : MessageOf(refusal));
  message->set_refusal_reason(refusal.ok() ? "" : ReasonOf(refusal));
}

}  // namespace ruvd::sharing
