// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::openai {

// A request for a completion, as the node's own message, and what only concerns its answer.
struct CompletionRequest {
  inference::v1::GenerateRequest generate;
  bool is_chat = false;
  bool streams = false;
  bool has_logprobs = false;    // the answer says them
  bool includes_usage = false;  // a stream ends with the counts of tokens
  bool shows_frames = false;    // a stream shows the denoising steps
  std::vector<std::pair<std::string, std::string>> metadata;  // goes back with the answer
};

// Read the body of POST /v1/chat/completions and of POST /v1/completions. `model` is the name that
// the node serves; "model:ADAPTER" and "model:ADAPTER@VERSION" choose an adapter. Ranges of
// sampling options are checked by api::ReadGenerate, which says the same over gRPC. Errors:
// JSON_INVALID, INVALID_ARGUMENT, UNSUPPORTED_PARAMETER and MODEL_UNKNOWN, each with the path of
// its field.
absl::StatusOr<CompletionRequest> ReadChatRequest(std::string_view body, std::string_view model);
absl::StatusOr<CompletionRequest> ReadTextRequest(std::string_view body, std::string_view model);

// Reads which adapter the name of a model asks for into `adapters`, which may be null where no
// adapter can be chosen. An empty name is the node's model.
absl::Status ReadModelName(std::string_view name, std::string_view served,
                           inference::v1::AdapterSelection* adapters);

}  // namespace ruvd::openai
