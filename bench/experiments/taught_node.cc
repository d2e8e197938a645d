// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/taught_node.h"

#include "base/status.h"
#include "base/utf8.h"

namespace ruvd::bench {

std::vector<TextPair> PairsOf(const Crops& crops, const inference::Tokenizer& tokenizer,
                              std::vector<size_t>* documents) {
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < crops.pieces.size(); ++i) {
    TextPair pair{.prompt = tokenizer.Decode(crops.pieces[i].prompt),
                  .completion = tokenizer.Decode(crops.pieces[i].completion)};
    if (!IsUtf8(pair.prompt) || !IsUtf8(pair.completion)) {
      continue;
    }
    pairs.push_back(std::move(pair));
    if (documents != nullptr) {
      documents->push_back(crops.documents[i]);
    }
  }
  return pairs;
}

absl::Status TeachAll(ServedNode& node, const std::vector<TextPair>& lessons) {
  for (const TextPair& lesson : lessons) {
    inference::v1::GenerateRequest request;
    request.set_prompt(lesson.prompt);
    request.mutable_sampling()->set_max_tokens(4);  // it is corrected whatever it says
    request.mutable_sampling()->set_steps(1);
    ASSIGN_OR_RETURN(const inference::v1::Finished finished, node.Generate(request));
    learning::v1::SubmitFeedbackRequest feedback;
    feedback.set_response_id(finished.response_id());
    feedback.set_edited_text(lesson.completion);
    RETURN_IF_ERROR(node.Teach(feedback).status());
  }
  return absl::OkStatus();
}

}  // namespace ruvd::bench
