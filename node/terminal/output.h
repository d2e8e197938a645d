// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ruvd::cli {

// A response as one line of JSON with the field names of the .proto files, zero values included:
// the stable output of `--format json`.
std::string ToJsonLine(const google::protobuf::Message& message);

// Our own JSON as one line. What is not UTF-8, such as a path or a name of a file, is replaced: the
// library would end the process.
std::string ToJsonLine(const nlohmann::json& json);

}  // namespace ruvd::cli
