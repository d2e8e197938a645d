// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>

#include "absl/status/status.h"

namespace ruvd::client {

// Checks that every text of a request, at any depth, is UTF-8; otherwise it could not be sent.
// INVALID_ARGUMENT names the field, the first invalid byte and how to convert the text.
absl::Status CheckRequestTexts(const google::protobuf::Message& request);

}  // namespace ruvd::client
