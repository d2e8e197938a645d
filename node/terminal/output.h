// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace ruvd::cli {

// Returns a message as one line of JSON with the field names of the .proto files, including zero
// values. This is the only JSON output of verbs, and stable. Bytes in texts that are not UTF-8, as
// paths may contain, are replaced by U+FFFD. A time that is out of range becomes the nearest valid
// one.
std::string ToJsonLine(const google::protobuf::Message& message);

}  // namespace ruvd::cli
