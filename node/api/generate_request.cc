// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/generate_request.h"

#include <string>
#include <utility>
#include <vector>

#include "base/error_details.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/tokenizer/limits.h"
#include "node/api/bad_request.h"
#include "node/api/constraint_request.h"
#include "node/api/messages.h"
#include "node/api/sampling_request.h"
#include "node/limits.h"

namespace ruvd::api {
namespace {

using inference::v1::GenerateRequest;

// The node's own measures against repetition would keep a grammar from what it repeats, such as the
// quotation marks of JSON. A request may still ask for a penalty.
void LiftDefaultPenalties(const inference::v1::SamplingOptions& asked,
                          inference::SamplingOptions* options) {
  if (!asked.has_repetition_penalty()) {
    options->repetition_penalty = 1;
  }
  if (!asked.has_no_repeat_ngram()) {
    options->no_repeat_ngram = 0;
  }
}

absl::StatusOr<std::vector<serving::TextPart>> ReadParts(const inference::v1::Infill& infill) {
  if (infill.parts().empty()) {
    return BadField("infill.parts", "the text with gaps has no part; send texts and gaps");
  }
  if (static_cast<size_t>(infill.parts_size()) > limits::kMaxTextParts) {
    return WithLimit(
        BadField("infill.parts", "the request has {} parts; use at most {}", infill.parts_size(),
                 limits::kMaxTextParts),
        {.limit = limits::kMaxTextParts, .value = static_cast<uint64_t>(infill.parts_size())});
  }
  std::vector<serving::TextPart> parts;
  uint64_t gaps = 0;
  for (const inference::v1::TextPart& part : infill.parts()) {
    gaps += part.gap();
    if (gaps > limits::kMaxGapTokens) {
      return BadField("infill.parts", "the gaps have more than {} tokens; shorten them",
                      limits::kMaxGapTokens);
    }
    parts.push_back({.text = part.text(), .gap = static_cast<int>(part.gap())});
  }
  return parts;
}

absl::StatusOr<std::string> ReadRole(inference::v1::ChatRole role) {
  switch (role) {
    case inference::v1::CHAT_ROLE_SYSTEM:
      return "system";
    case inference::v1::CHAT_ROLE_USER:
      return "user";
    case inference::v1::CHAT_ROLE_ASSISTANT:
      return "assistant";
    default:
      return BadField("chat.messages.role",
                      "role {} is unknown; use CHAT_ROLE_SYSTEM, CHAT_ROLE_USER or "
                      "CHAT_ROLE_ASSISTANT",
                      static_cast<int>(role));
  }
}

absl::StatusOr<serving::Conversation> ReadConversation(const inference::v1::Chat& chat) {
  serving::Conversation conversation;
  if (chat.messages().empty()) {
    return BadField("chat.messages", "the conversation has no message; send at least one");
  }
  if (static_cast<size_t>(chat.messages_size()) > limits::kMaxChatMessages) {
    return WithLimit(
        BadField("chat.messages", "the request has {} messages; use at most {}",
                 chat.messages_size(), limits::kMaxChatMessages),
        {.limit = limits::kMaxChatMessages, .value = static_cast<uint64_t>(chat.messages_size())});
  }
  if (!chat.format().empty()) {
    conversation.format = inference::ChatFormatByName(chat.format());
    if (!conversation.format.has_value()) {
      return BadField("chat.format", "the chat format '{}' is unknown; use one of {}",
                      SanitizeForDisplay(chat.format()), inference::ChatFormatNames());
    }
  }
  for (const inference::v1::ChatMessage& message : chat.messages()) {
    ASSIGN_OR_RETURN(std::string role, ReadRole(message.role()));
    conversation.messages.push_back({.role = std::move(role), .content = message.content()});
  }
  if (chat.messages().rbegin()->role() != inference::v1::CHAT_ROLE_USER) {
    return BadField(
        "chat.messages",
        "the last of the {} messages is not the user's, so there is nothing to answer; end the "
        "conversation with a message of the role user",
        conversation.messages.size());
  }
  return conversation;
}

// Reads the one form in which the text comes; without any it is an empty prompt.
absl::Status ReadInput(const GenerateRequest& request, serving::GenerationJob* job) {
  switch (request.input_case()) {
    case GenerateRequest::kInfill: {
      if (request.sampling().has_max_tokens()) {
        return BadField("sampling.max_tokens",
                        "max_tokens is given for a text with gaps, whose gaps say how many tokens "
                        "to fill; leave it out");
      }
      ASSIGN_OR_RETURN(job->parts, ReadParts(request.infill()));
      job->prompt = job->parts.front().text;
      return absl::OkStatus();
    }
    case GenerateRequest::kChat: {
      ASSIGN_OR_RETURN(job->conversation, ReadConversation(request.chat()));
      return absl::OkStatus();
    }
    default:
      job->prompt = request.prompt();
      return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<serving::GenerationJob> ReadGenerate(const GenerateRequest& request,
                                                    const Caller& caller) {
  serving::GenerationJob job;
  RETURN_IF_ERROR(CheckRequestBytes(request));
  absl::StatusOr<inference::SamplingOptions> options = ReadSampling(request.sampling());
  RETURN_IF_ERROR(InField(options.status(), "sampling"));
  job.options = *std::move(options);
  job.draws_seed = !request.sampling().has_seed();
  if (request.session_id().size() > limits::kMaxSessionIdBytes) {
    return WithLimit(BadField("session_id", "session_id has {} bytes; use at most {}",
                              request.session_id().size(), limits::kMaxSessionIdBytes),
                     {.limit = limits::kMaxSessionIdBytes, .value = request.session_id().size()});
  }
  ASSIGN_OR_RETURN(job.user_id, ReadUserId(request.user_id(), caller));
  RETURN_IF_ERROR(ReadInput(request, &job));
  ASSIGN_OR_RETURN(job.grammar, ReadConstraint(request));
  if (job.grammar != nullptr) {
    LiftDefaultPenalties(request.sampling(), &job.options);
  }
  if (job.grammar != nullptr && !job.parts.empty()) {
    return BadField(
        "constraint",
        "a text with gaps cannot be held to a schema, expression, grammar or list of choices; "
        "leave one of them out");
  }
  job.use_adapters = !request.adapters().disabled();
  auto adapters = ReadAdapters(request.adapters());
  RETURN_IF_ERROR(InField(adapters.status(), "adapters"));
  job.adapters = *std::move(adapters);
  job.session_id = OwnId(caller, request.session_id());
  job.caller = caller.name;
  job.owner = caller.owner;
  if (request.has_session_memory()) {
    job.session_memory = request.session_memory();
  }
  return job;
}

}  // namespace ruvd::api
