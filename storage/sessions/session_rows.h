// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sessions/session_state.h"

// Keys and plaintexts of the session rows, which docs/store-format.md describes.
namespace ruvd::storage::sessions {

// A key is "s/" | session id.
inline constexpr char kSessionPrefix[] = "s/";
std::string SessionKey(std::string_view session_id);

// Returns INVALID_ARGUMENT or LIMIT_EXCEEDED for a state that must not be stored: see
// storage/limits.h. It does not check the embedding's dimension.
absl::Status CheckSession(const SessionState& session);

std::string EncodeSession(const SessionState& session);
// Returns STORE_CORRUPT for bytes that EncodeSession does not make.
absl::StatusOr<SessionState> DecodeSession(std::string_view bytes);

}  // namespace ruvd::storage::sessions
