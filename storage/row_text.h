// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// What the encoders and decoders of rows share.
namespace ruvd::storage {

// INVALID_ARGUMENT where one of the texts is not UTF-8. Protobuf writes such bytes into a field of
// type `string` and then reads nothing of the row: whoever stores texts asks first.
absl::Status CheckTexts(std::string_view what, std::initializer_list<std::string_view> texts);

// STORE_CORRUPT: `what` does not decode.
absl::Status CorruptRow(std::string_view what);

// The message of a row; CorruptRow for other bytes.
template <typename Message>
absl::StatusOr<Message> ParseRow(std::string_view bytes, std::string_view what) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return CorruptRow(what);
  }
  return message;
}

}  // namespace ruvd::storage
