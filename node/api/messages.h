// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "node/api/caller.h"
#include "node/learning/learning.h"
#include "node/serving/inference.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "storage/patterns/pattern_store.h"

// Conversions between the API's messages and the node's own types. All checks of a caller's numbers
// are here.
namespace ruvd::api {

// Returns MODEL_UNKNOWN (NOT_FOUND) for a name that is neither empty nor the model's; `field` is
// where the name came from.
absl::Status CheckModel(std::string_view field, const std::string& name,
                        const inference::Model& model);
// Returns MODEL_MISMATCH for an embedding of another model package; empty is not compared.
absl::Status CheckPackage(const std::string& package, const Digest& own);
// Returns the chosen adapters; empty if none is chosen. It does not check whether the node has
// them.
absl::StatusOr<std::vector<serving::AdapterChoice>> ReadAdapters(
    const inference::v1::AdapterSelection& message);
// Returns the id of the caller's user, as OwnId gives it. INVALID_ARGUMENT if it is too long.
absl::StatusOr<std::string> ReadUserId(const std::string& id, const Caller& caller);
absl::StatusOr<serving::ScoreJob> ReadScore(const inference::v1::ScoreRequest& message,
                                            const Caller& caller);
absl::StatusOr<learning::Feedback> ReadFeedback(const learning::v1::SubmitFeedbackRequest& message,
                                                const Caller& caller);
// Reads a pattern id of 32 hexadecimal characters.
absl::StatusOr<storage::PatternId> ReadPatternId(const std::string& text);
// Reads a node id of 64 hexadecimal characters from a field.
absl::StatusOr<Digest> ReadNodeId(std::string_view field, const std::string& text);

// Returns LIMIT_EXCEEDED for a request of more than limits::kMaxTextRequestBytes.
absl::Status CheckRequestBytes(const google::protobuf::Message& request);

void WriteAdapterUse(const serving::AdapterUse& use, inference::v1::AdapterUse* message);
void WriteStarted(const serving::GenerationStarted& started, const inference::Tokenizer& tokenizer,
                  inference::v1::Started* message);
void WriteFinished(const serving::GenerationFinished& finished,
                   const inference::Tokenizer& tokenizer, inference::v1::Finished* message);
void WriteFrame(const inference::StepResult& step, const inference::Tokenizer& tokenizer,
                inference::v1::DenoiseFrame* message);

}  // namespace ruvd::api
