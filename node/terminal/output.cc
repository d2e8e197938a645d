// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/output.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "base/status.h"

namespace ruvd::cli {

std::string ToJsonLine(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  RUVD_CHECK(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  return json + "\n";
}

std::string ToJsonLine(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ruvd::cli
