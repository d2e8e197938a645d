// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace ruvd {

// A response as one line of JSON with the field names of the .proto files, zero values included:
// the stable output of `--format json`.
std::string ToJsonLine(const google::protobuf::Message& message);

}  // namespace ruvd
