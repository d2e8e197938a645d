// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/completion_request.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/constrain/limits.h"
#include "inference/tokenizer/limits.h"
#include "node/limits.h"
#include "node/openai/api_error.h"
#include "node/openai/field_reader.h"
#include "node/openai/json_reader.h"
#include "node/openai/limits.h"
#include "node/openai/reasons.h"

namespace ruvd::openai {
namespace {

using inference::v1::GenerateRequest;
using inference::v1::SamplingOptions;
using nlohmann::json;

// The name in metadata that groups the requests of one conversation.
constexpr std::string_view kSessionId = "session_id";

void ReadLength(FieldReader& fields, bool is_chat, SamplingOptions* sampling) {
  const auto tokens = fields.Whole("max_tokens", 1, limits::kMaxJsonCount);
  const auto newer =
      is_chat ? fields.Whole("max_completion_tokens", 1, limits::kMaxJsonCount) : std::nullopt;
  if (tokens && newer && *tokens != *newer) {
    fields.Refuse("max_tokens", fmt::format("is {}, and max_completion_tokens is {}; send one of "
                                            "the two",
                                            *tokens, *newer));
  }
  if (const auto most = newer ? newer : tokens) {
    sampling->set_max_tokens(static_cast<uint32_t>(*most));
  }
}

void ReadSampling(FieldReader& fields, SamplingOptions* sampling) {
  if (const auto temperature = fields.Number("temperature")) {
    sampling->set_temperature(static_cast<float>(*temperature));
  }
  if (const auto top_p = fields.Number("top_p")) {
    const auto nucleus = static_cast<float>(*top_p);
    if (!(nucleus > 0 && *top_p <= 1)) {  // what a float cannot tell from 0 would mean "off"
      fields.Refuse("top_p", fmt::format("is {}; it must be above 0 and at most 1", *top_p));
    }
    // The most likely token is the same whatever top_p is, and 1 leaves no token out.
    if (sampling->temperature() != 0 && nucleus < 1) {
      sampling->set_top_p(nucleus);
    }
  }
  if (const auto penalty = fields.Number("presence_penalty")) {
    sampling->set_presence_penalty(static_cast<float>(*penalty));
  }
  if (const auto penalty = fields.Number("frequency_penalty")) {
    sampling->set_frequency_penalty(static_cast<float>(*penalty));
  }
  if (const auto penalty = fields.Number("repetition_penalty")) {
    sampling->set_repetition_penalty(static_cast<float>(*penalty));
  }
  if (const auto length = fields.Whole("no_repeat_ngram", 0, limits::kMaxJsonCount)) {
    sampling->set_no_repeat_ngram(static_cast<uint32_t>(*length));
  }
  if (const auto seed = fields.Whole("seed", 0, UINT64_MAX)) {
    sampling->set_seed(*seed);
  }
  if (const auto stop = fields.Texts("stop")) {
    sampling->mutable_stop()->Assign(stop->begin(), stop->end());
  }
  fields.Only("n", 1);
}

void ReadDiffusion(FieldReader& request, CompletionRequest* out) {
  const json* const object = request.Any("diffusion");
  if (object == nullptr) {
    return;
  }
  FieldReader fields(*object, "diffusion");
  SamplingOptions* const sampling = out->generate.mutable_sampling();
  if (const auto steps = fields.Whole("steps", 1, limits::kMaxJsonCount)) {
    sampling->set_steps(static_cast<uint32_t>(*steps));
  }
  if (const auto length = fields.Whole("block_length", 1, limits::kMaxJsonCount)) {
    sampling->set_block_length(static_cast<uint32_t>(*length));
  }
  if (const auto sampler = fields.Text("sampler")) {
    sampling->set_sampler(*sampler);
  }
  if (const auto threshold = fields.Number("threshold")) {
    if (!(*threshold > 0 && *threshold <= 1)) {
      fields.Refuse("threshold",
                    fmt::format("is {}; it must be above 0 and at most 1", *threshold));
    }
    sampling->set_confidence_threshold(static_cast<float>(*threshold));
  }
  if (const auto stream = fields.Text("stream")) {
    out->shows_frames = *stream == "steps";
    if (!out->shows_frames && *stream != "text") {
      fields.Refuse("stream", "is unknown; send \"steps\" or \"text\"");
    }
  }
  request.Note(fields.Finish());
}

void ReadMetadata(FieldReader& fields, CompletionRequest* out) {
  auto pairs = fields.Pairs("metadata");
  if (!pairs) {
    return;
  }
  if (pairs->size() > limits::kMaxMetadataPairs) {
    fields.Refuse("metadata", fmt::format("has {} names; send at most {}", pairs->size(),
                                          limits::kMaxMetadataPairs));
  }
  for (const auto& [name, value] : *pairs) {
    if (name.size() > limits::kMaxMetadataKeyBytes ||
        value.size() > limits::kMaxMetadataValueBytes) {
      fields.Refuse("metadata",
                    fmt::format("has a name of {} bytes with a text of {}; send at most {} and {}",
                                name.size(), value.size(), limits::kMaxMetadataKeyBytes,
                                limits::kMaxMetadataValueBytes));
    }
    if (name == kSessionId) {
      out->generate.set_session_id(value);
    }
  }
  out->metadata = *std::move(pairs);
}

void ReadStream(FieldReader& request, CompletionRequest* out) {
  out->streams = request.Flag("stream").value_or(false);
  if (const json* const options = request.Any("stream_options")) {
    FieldReader fields(*options, "stream_options");
    out->includes_usage = fields.Flag("include_usage").value_or(false);
    request.Note(fields.Finish());
    if (!out->streams) {
      request.Refuse("stream_options", "is given without \"stream\": true; leave it out");
    }
  }
  if (out->shows_frames && !out->streams) {
    request.Refuse("diffusion",
                   "asks for a stream of steps without \"stream\": true; send that, "
                   "too");
  }
  out->generate.set_stream_frames(out->shows_frames);
}

// Returns the text of the schema with its names in the order of the request, in which they are
// written. The request was read before, so it is well formed, and its schema is small. Everything
// else is passed over, because objects that keep an order are slow where they are large.
std::string SchemaOf(std::string_view body) {
  constexpr std::array<std::string_view, 3> kPath = {"response_format", "json_schema", "schema"};
  const auto on_path = [&](int depth, nlohmann::ordered_json::parse_event_t event,
                           const nlohmann::ordered_json& parsed) {
    const auto level = static_cast<size_t>(depth - 1);
    return event != nlohmann::ordered_json::parse_event_t::key || level >= kPath.size() ||
           parsed == kPath[level];
  };
  const auto request = nlohmann::ordered_json::parse(body, on_path, /*allow_exceptions=*/false);
  return request.at(kPath[0]).at(kPath[1]).at(kPath[2]).dump();
}

void ReadJsonSchema(FieldReader& format, std::string_view body, GenerateRequest* out) {
  const json* const object = format.Any("json_schema");
  if (object == nullptr) {
    format.Refuse("json_schema", "is missing; send an object with a name and a schema");
    return;
  }
  FieldReader fields(*object, format.PathOf("json_schema"));
  fields.Text("name");         // names the schema for people
  fields.Text("description");  // likewise
  fields.Flag("strict");       // the schema always holds
  const json* const schema = fields.Any("schema");
  if (schema == nullptr || !schema->is_object()) {
    fields.Refuse("schema", "is no object; send a JSON schema");
  } else if (const size_t bytes = schema->dump().size(); bytes > limits::kMaxConstraintBytes) {
    fields.Refuse("schema",
                  fmt::format("has {} bytes; send at most {}", bytes, limits::kMaxConstraintBytes));
  } else {
    out->set_json_schema(SchemaOf(body));
  }
  format.Note(fields.Finish());
}

void ReadResponseFormat(FieldReader& request, std::string_view body, GenerateRequest* out) {
  const json* const object = request.Any("response_format");
  if (object == nullptr) {
    return;
  }
  FieldReader format(*object, "response_format");
  const std::string type = format.Text("type").value_or("");
  if (type == "json_object") {
    out->set_json_object(true);
  } else if (type == "json_schema") {
    ReadJsonSchema(format, body, out);
  } else if (format.ok() && type != "text") {
    format.RefuseUnsupported("type", fmt::format("is '{}'; send text, json_object or json_schema",
                                                 SanitizeForDisplay(type)));
  }
  request.Note(format.Finish());
}

// Reads what both kinds of requests have.
void ReadShared(FieldReader& fields, std::string_view body, std::string_view served,
                CompletionRequest* out) {
  if (absl::Status named = ReadModelName(fields.Text("model").value_or(""), served,
                                         out->generate.mutable_adapters());
      !named.ok()) {
    fields.Note(std::move(named));
  }
  ReadLength(fields, out->is_chat, out->generate.mutable_sampling());
  ReadSampling(fields, out->generate.mutable_sampling());
  ReadDiffusion(fields, out);
  ReadStream(fields, out);
  ReadMetadata(fields, out);
  ReadResponseFormat(fields, body, &out->generate);
  if (auto user = fields.Text("user")) {
    out->generate.set_user_id(*std::move(user));
  }
}

// Reads the content of a message: a text, or a list of parts that are texts.
std::optional<std::string> ReadContent(FieldReader& message) {
  const json* const content = message.Any("content");
  if (content == nullptr) {
    message.Refuse("content", "is missing; send the text of the message");
    return std::nullopt;
  }
  if (!content->is_array()) {
    return message.Text("content");
  }
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    FieldReader part((*content)[i], message.PathOf(fmt::format("content[{}]", i)));
    const std::string type = part.Text("type").value_or("");
    if (part.ok() && type != "text") {
      part.RefuseUnsupported("type",
                             "is not \"text\", and this node reads texts only; send parts "
                             "of the type \"text\"");
    }
    const auto piece = part.Text("text");
    if (part.ok() && !piece) {
      part.Refuse("text", "is missing; send the text of the part");
    }
    text += piece.value_or("");
    message.Note(part.Finish());
  }
  return text;
}

inference::v1::ChatRole RoleOf(std::string_view name) {
  return name == "system"      ? inference::v1::CHAT_ROLE_SYSTEM
         : name == "user"      ? inference::v1::CHAT_ROLE_USER
         : name == "assistant" ? inference::v1::CHAT_ROLE_ASSISTANT
                               : inference::v1::CHAT_ROLE_UNSPECIFIED;
}

void ReadMessages(FieldReader& fields, GenerateRequest* out) {
  const json* const messages = fields.Any("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty()) {
    fields.Refuse("messages", "has no message; send a list with at least one of the role user");
    return;
  }
  if (messages->size() > limits::kMaxChatMessages) {
    fields.Refuse("messages", fmt::format("has {} messages; send at most {}", messages->size(),
                                          limits::kMaxChatMessages));
    return;
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    FieldReader message((*messages)[i], fmt::format("messages[{}]", i));
    std::string role = message.Text("role").value_or("");
    role = role == "developer" ? "system" : role;  // OpenAI's later name for it
    if (message.ok() && role != "system" && role != "user" && role != "assistant") {
      message.RefuseUnsupported("role",
                                fmt::format("is '{}'; send system, developer, user or assistant",
                                            SanitizeForDisplay(role)));
    }
    auto* const added = out->mutable_chat()->add_messages();
    added->set_role(RoleOf(role));
    added->set_content(ReadContent(message).value_or(""));
    fields.Note(message.Finish());
  }
}

void ReadChatLogprobs(FieldReader& fields, CompletionRequest* out) {
  out->has_logprobs = fields.Flag("logprobs").value_or(false);
  const auto count = fields.Whole("top_logprobs", 0, limits::kMaxJsonCount);
  if (count && !out->has_logprobs) {
    fields.Refuse("top_logprobs", "is given without \"logprobs\": true; send that, too");
  }
  if (out->has_logprobs) {
    out->generate.mutable_sampling()->set_logprobs(static_cast<uint32_t>(count.value_or(0)));
  }
}

void ReadPrompt(FieldReader& fields, GenerateRequest* out) {
  const auto prompts = fields.Texts("prompt");
  if (prompts && prompts->size() != 1) {
    fields.RefuseUnsupported(
        "prompt", fmt::format("has {} texts; send one for each request", prompts->size()));
  } else if (prompts) {
    out->set_prompt(prompts->front());
  }
}

// Turns a prompt with a suffix into a text with a gap between them, of as many tokens as are asked
// for.
void ReadSuffix(FieldReader& fields, GenerateRequest* out) {
  auto suffix = fields.Text("suffix");
  if (!suffix || suffix->empty()) {
    return;
  }
  const uint32_t tokens = out->sampling().has_max_tokens() ? out->sampling().max_tokens()
                                                           : limits::kDefaultSuffixTokens;
  out->mutable_sampling()->clear_max_tokens();
  std::string prompt = out->prompt();
  inference::v1::Infill* const infill = out->mutable_infill();  // in place of the prompt
  infill->add_parts()->set_text(std::move(prompt));
  infill->add_parts()->set_gap(tokens);
  infill->add_parts()->set_text(*std::move(suffix));
}

}  // namespace

absl::Status ReadModelName(std::string_view name, std::string_view served,
                           inference::v1::AdapterSelection* adapters) {
  if (name.empty() || name == served) {
    return absl::OkStatus();
  }
  const bool is_ours = name.starts_with(served) && name.substr(served.size()).starts_with(':');
  if (!is_ours || adapters == nullptr) {
    return WithField(Error(absl::StatusCode::kNotFound, reasons::kModelUnknown,
                           "this node does not serve the model '{}'; use '{}'{}",
                           SanitizeForDisplay(CutUtf8(name, limits::kMaxMetadataValueBytes)),
                           served, adapters == nullptr ? "" : ", or one of GET /v1/models"),
                     "model");
  }
  const std::string_view choice = name.substr(served.size() + 1);
  const size_t at = choice.rfind('@');
  inference::v1::AdapterChoice* const chosen = adapters->add_chosen();
  chosen->set_name(std::string(choice.substr(0, at)));
  if (at == std::string_view::npos) {
    return absl::OkStatus();
  }
  const std::string_view digits = choice.substr(at + 1);
  uint32_t version = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (failed != std::errc() || end != digits.data() + digits.size()) {
    return WithField(Error(absl::StatusCode::kNotFound, reasons::kModelUnknown,
                           "'{}' is no version of an adapter; send a number behind '@'",
                           SanitizeForDisplay(CutUtf8(digits, limits::kMaxMetadataKeyBytes))),
                     "model");
  }
  chosen->set_version(version);
  return absl::OkStatus();
}

absl::StatusOr<CompletionRequest> ReadChatRequest(std::string_view body, std::string_view model) {
  ASSIGN_OR_RETURN(const json request, ReadJson(body));
  CompletionRequest out;
  out.is_chat = true;
  FieldReader fields(request);
  ReadMessages(fields, &out.generate);
  if (auto format = fields.Text("chat_format")) {
    out.generate.mutable_chat()->set_format(*std::move(format));
  }
  ReadShared(fields, body, model, &out);
  ReadChatLogprobs(fields, &out);
  RETURN_IF_ERROR(fields.Finish());
  return out;
}

absl::StatusOr<CompletionRequest> ReadTextRequest(std::string_view body, std::string_view model) {
  ASSIGN_OR_RETURN(const json request, ReadJson(body));
  CompletionRequest out;
  FieldReader fields(request);
  ReadPrompt(fields, &out.generate);
  ReadShared(fields, body, model, &out);
  ReadSuffix(fields, &out.generate);
  if (const auto count = fields.Whole("logprobs", 0, limits::kMaxJsonCount)) {
    out.has_logprobs = true;
    out.generate.mutable_sampling()->set_logprobs(static_cast<uint32_t>(*count));
  }
  fields.Only("echo", false);
  fields.Only("best_of", 1);
  RETURN_IF_ERROR(fields.Finish());
  return out;
}

}  // namespace ruvd::openai
