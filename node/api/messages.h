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
#include "ruvd/pattern/v1/pattern.pb.h"
#include "storage/patterns/pattern_store.h"

// Conversions between the API's messages and the node's own types. All checks of a caller's numbers
// are here.
namespace ruvd::api {

// Checks the range of each option; the error names the option and its range. Unset options get the
// defaults of serving. The engine checks whether options fit together.
absl::StatusOr<inference::SamplingOptions> ReadSampling(
    const inference::v1::SamplingOptions& message);
absl::StatusOr<std::optional<inference::DecodingMode>> ReadMode(inference::v1::DecodingMode mode);
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
// Reads a node id of 64 hexadecimal characters.
absl::StatusOr<Digest> ReadOrigin(const std::string& text);

// Returns LIMIT_EXCEEDED for a request of more than limits::kMaxTextRequestBytes. Only patterns
// with their adapters may be larger.
absl::Status CheckRequestBytes(const google::protobuf::Message& request);

void WriteAdapterUse(const serving::AdapterUse& use, inference::v1::AdapterUse* message);
void WriteStarted(const serving::GenerationStarted& started, const inference::Tokenizer& tokenizer,
                  inference::v1::Started* message);
void WriteFinished(const serving::GenerationFinished& finished,
                   const inference::Tokenizer& tokenizer, inference::v1::Finished* message);
void WriteFrame(const inference::StepResult& step, const inference::Tokenizer& tokenizer,
                inference::v1::DenoiseFrame* message);
// Writes a pattern without its embedding and adapter.
void WritePattern(const storage::Pattern& pattern, pattern::v1::Pattern* message);

}  // namespace ruvd::api
