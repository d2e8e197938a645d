// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/model/model.h"
#include "node/serving/inference.h"

namespace ruvd::serving {

// A conversation as the model sees it: the text for people, and the tokens. Markers become control
// tokens; message contents never do.
struct ChatPrompt {
  std::string text;
  std::vector<inference::TokenId> tokens;
};
// Writes a conversation up to where the assistant's answer begins. Returns MODEL_UNSUPPORTED if no
// format is given and the model has no chat template or an unknown one, and the errors of
// ApplyChatTemplate.
absl::StatusOr<ChatPrompt> WriteConversation(const inference::Model& model,
                                             const Conversation& conversation);

// Returns the tokens of a text with gaps, with kNoToken for each token to fill in. The canvas
// begins like a prompt.
std::vector<inference::TokenId> CanvasTokens(const inference::Model& model,
                                             const std::vector<TextPart>& parts);

// Returns the tokens of a prompt as the model expects them: after the beginning-of-text token if
// the model's file asks for it. Otherwise an empty prompt becomes the end-of-text token, which
// separates documents in training.
std::vector<inference::TokenId> PromptTokens(const inference::Model& model,
                                             std::string_view prompt);

}  // namespace ruvd::serving
