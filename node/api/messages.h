// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "node/learning/learning.h"
#include "node/serving/inference.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "storage/patterns/pattern_store.h"

// Between the API's messages and the node's own types. Every check of a caller's numbers is here.
namespace ruvd::api {

// Range-checks each option; the error names the option and its range. What is not set gets the
// default of serving. Whether options fit each other is the engine's to say.
absl::StatusOr<inference::SamplingOptions> ReadSampling(
    const inference::v1::SamplingOptions& message);
absl::StatusOr<std::optional<inference::DecodingMode>> ReadMode(inference::v1::DecodingMode mode);
// The chosen adapters; empty where nothing is chosen. Whether the node has them is its to say.
absl::StatusOr<std::vector<serving::AdapterChoice>> ReadAdapters(
    const inference::v1::AdapterSelection& message);
absl::StatusOr<serving::ScoreJob> ReadScore(const inference::v1::ScoreRequest& message);
absl::StatusOr<learning::Feedback> ReadFeedback(const learning::v1::SubmitFeedbackRequest& message);
// 32 hexadecimal characters.
absl::StatusOr<storage::PatternId> ReadPatternId(const std::string& text);
// A node id: 64 hexadecimal characters.
absl::StatusOr<Digest> ReadOrigin(const std::string& text);

// LIMIT_EXCEEDED for a request that holds more than limits::kMaxTextRequestBytes: only patterns,
// with their adapters, may be larger.
absl::Status CheckRequestBytes(const google::protobuf::Message& request);

void WriteAdapterUse(const serving::AdapterUse& use, inference::v1::AdapterUse* message);
void WriteStarted(const serving::GenerationStarted& started, const inference::Tokenizer& tokenizer,
                  inference::v1::Started* message);
void WriteFinished(const serving::GenerationFinished& finished,
                   const inference::Tokenizer& tokenizer, inference::v1::Finished* message);
void WriteFrame(const inference::StepResult& step, const inference::Tokenizer& tokenizer,
                inference::v1::DenoiseFrame* message);
// Without embedding and adapter.
void WritePattern(const storage::Pattern& pattern, pattern::v1::Pattern* message);

}  // namespace ruvd::api
