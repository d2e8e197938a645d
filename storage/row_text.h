// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// These helpers are shared by the encoders and decoders of rows.
namespace ruvd::storage {

// Returns INVALID_ARGUMENT if one of the texts is not UTF-8. Every store calls it before it writes
// texts: protobuf writes such bytes into a field of type `string`, but cannot read the row again.
absl::Status CheckTexts(std::string_view what, std::initializer_list<std::string_view> texts);

// Returns STORE_CORRUPT with the text that `what` does not decode.
absl::Status CorruptRow(std::string_view what);

// Returns the message in a row, or CorruptRow for other bytes.
template <typename Message>
absl::StatusOr<Message> ParseRow(std::string_view bytes, std::string_view what) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return CorruptRow(what);
  }
  return message;
}

}  // namespace ruvd::storage
