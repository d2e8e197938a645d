// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ruvd::cli {

// Returns a response as one line of JSON with the field names of the .proto files, including zero
// values. This is the stable output of `--format json`.
std::string ToJsonLine(const google::protobuf::Message& message);

// Returns JSON as one line. Bytes that are not UTF-8, as paths may contain, are replaced, because
// the library would otherwise throw and end the process.
std::string ToJsonLine(const nlohmann::json& json);

}  // namespace ruvd::cli
