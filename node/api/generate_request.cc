// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/generate_request.h"

#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/tokenizer/limits.h"
#include "node/api/constraint_request.h"
#include "node/api/messages.h"
#include "node/limits.h"

namespace ruvd::api {
namespace {

using inference::v1::GenerateRequest;

template <typename... Args>
absl::Status Refused(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

// Checks that the text comes in only one of three forms.
absl::Status CheckOneText(const GenerateRequest& request) {
  const bool prompt = !request.prompt().empty() || !request.suffix().empty();
  if (int{prompt} + int{request.parts_size() > 0} + int{request.messages_size() > 0} > 1) {
    return Refused(
        "the request has more than one of a prompt (or suffix), parts and messages; use only one "
        "of them");
  }
  if (!request.chat_format().empty() && request.messages_size() == 0) {
    return Refused("chat_format is given without messages; send messages or leave it out");
  }
  return absl::OkStatus();
}

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

std::vector<serving::TextPart> SuffixParts(const GenerateRequest& request) {
  if (request.suffix().empty()) {
    return {};
  }
  const uint32_t tokens = request.sampling().max_tokens();
  return {{.text = request.prompt()},
          {.gap = tokens > 0 ? static_cast<int>(tokens) : inference::SamplingOptions().max_tokens},
          {.text = request.suffix()}};
}

// Returns the parts to infill; empty if the request has only a prompt.
absl::StatusOr<std::vector<serving::TextPart>> ReadParts(const GenerateRequest& request) {
  if (request.parts_size() == 0) {
    return SuffixParts(request);
  }
  if (static_cast<size_t>(request.parts_size()) > limits::kMaxTextParts) {
    return Refused("the request has {} parts; use at most {}", request.parts_size(),
                   limits::kMaxTextParts);
  }
  std::vector<serving::TextPart> parts;
  uint64_t gaps = 0;
  for (const inference::v1::TextPart& part : request.parts()) {
    gaps += part.gap();
    if (gaps > limits::kMaxGapTokens) {
      return Refused("the gaps have more than {} tokens; shorten them", limits::kMaxGapTokens);
    }
    parts.push_back({.text = part.text(), .gap = static_cast<int>(part.gap())});
  }
  return parts;
}

absl::StatusOr<serving::Conversation> ReadConversation(const GenerateRequest& request) {
  serving::Conversation conversation;
  if (request.messages_size() == 0) {
    return conversation;
  }
  if (static_cast<size_t>(request.messages_size()) > limits::kMaxChatMessages) {
    return Refused("the request has {} messages; use at most {}", request.messages_size(),
                   limits::kMaxChatMessages);
  }
  if (!request.chat_format().empty()) {
    conversation.format = inference::ChatFormatByName(request.chat_format());
    if (!conversation.format.has_value()) {
      return Refused("chat_format '{}' is unknown; use one of {}",
                     SanitizeForDisplay(request.chat_format()), inference::ChatFormatNames());
    }
  }
  for (const inference::v1::ChatMessage& message : request.messages()) {
    conversation.messages.push_back({.role = message.role(), .content = message.content()});
  }
  if (conversation.messages.back().role != "user") {
    return Refused(
        "the last of the {} messages is not the user's, so there is nothing to answer; end the "
        "conversation with a message of the role user",
        conversation.messages.size());
  }
  return conversation;
}

}  // namespace

absl::StatusOr<serving::GenerationJob> ReadGenerate(const GenerateRequest& request,
                                                    const Caller& caller) {
  serving::GenerationJob job;
  RETURN_IF_ERROR(CheckRequestBytes(request));
  RETURN_IF_ERROR(CheckOneText(request));
  ASSIGN_OR_RETURN(job.options, ReadSampling(request.sampling()));
  job.draws_seed = !request.sampling().has_seed();
  if (request.session_id().size() > limits::kMaxSessionIdBytes) {
    return Refused("session_id has {} bytes; use at most {}", request.session_id().size(),
                   limits::kMaxSessionIdBytes);
  }
  ASSIGN_OR_RETURN(job.user_id, ReadUserId(request.user_id(), caller));
  ASSIGN_OR_RETURN(job.parts, ReadParts(request));
  ASSIGN_OR_RETURN(job.conversation, ReadConversation(request));
  job.prompt = request.parts_size() > 0 && request.parts(0).has_text() ? request.parts(0).text()
                                                                       : request.prompt();
  ASSIGN_OR_RETURN(job.grammar, ReadConstraint(request));
  if (job.grammar != nullptr) {
    LiftDefaultPenalties(request.sampling(), &job.options);
  }
  if (job.grammar != nullptr && !job.parts.empty()) {
    return Refused(
        "a text with gaps cannot be held to a schema, expression, grammar or list of choices; "
        "leave one of them out");
  }
  job.use_adapters = !request.adapters().disabled();
  ASSIGN_OR_RETURN(job.adapters, ReadAdapters(request.adapters()));
  job.session_id = OwnId(caller, request.session_id());
  job.caller = caller.name;
  job.owner = caller.owner;
  if (request.has_session_memory()) {
    job.session_memory = request.session_memory();
  }
  return job;
}

}  // namespace ruvd::api
