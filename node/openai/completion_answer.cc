// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/completion_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/utf8.h"
#include "node/openai/api_error.h"

namespace ruvd::openai {
namespace {

using inference::v1::Finished;
using inference::v1::Started;
using nlohmann::json;

constexpr std::string_view kChatPrefix = "chatcmpl-";
constexpr std::string_view kTextPrefix = "cmpl-";
constexpr std::string_view kDone = "data: [DONE]\n\n";

std::string TextOf(const json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

std::string Event(const json& value) {
  return fmt::format("data: {}\n\n", TextOf(value));
}

const char* ReasonName(inference::v1::FinishReason reason) {
  return reason == inference::v1::FINISH_REASON_LENGTH ? "length" : "stop";
}

json Usage(const Finished& finished) {
  const inference::v1::Usage& usage = finished.usage();
  return {{"prompt_tokens", usage.prompt_tokens()},
          {"completion_tokens", usage.completion_tokens()},
          {"total_tokens", usage.prompt_tokens() + usage.completion_tokens()},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens()}}}};
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

// What only this node says, in one object, which clients of OpenAI leave alone.
json Own(const Started& started, const Finished& finished) {
  json adapters = json::array();
  for (const inference::v1::AdapterUse& use : finished.adapters_used()) {
    adapters.push_back(
        {{"name", use.name()}, {"version", use.version()}, {"weight", use.weight()}});
  }
  return {{"response_id", started.response_id()},
          {"seed", finished.seed()},
          {"steps", finished.steps()},
          {"forwards", finished.forwards()},
          {"seconds", Seconds(finished.duration())},
          {"queue_seconds", Seconds(finished.queue_time())},
          {"adapters", std::move(adapters)}};
}

json Stamped(const AnswerStamp& stamp, const Started& started, const char* object) {
  return {{"id", AnswerId(stamp, started.response_id())},
          {"object", object},
          {"created", stamp.created},
          {"model", stamp.model}};
}

// Returns a log-probability as OpenAI's clients know it: -9999 stands for "never".
double Logprob(float value) {
  return std::max(-9999.0, static_cast<double>(value));
}

// Returns the bytes of a token's text; null if the token is a part of a character.
json BytesOf(std::string_view text) {
  if (text.find(kReplacementUtf8) != std::string_view::npos) {
    return nullptr;
  }
  json bytes = json::array();
  for (const char byte : text) {
    bytes.push_back(static_cast<uint8_t>(byte));
  }
  return bytes;
}

// Returns the tokens of the text, without the one that ended it.
std::span<const inference::v1::Commit* const> TextTokens(const Finished& finished) {
  const std::span<const inference::v1::Commit* const> tokens(
      finished.tokens().data(), static_cast<size_t>(finished.tokens_size()));
  const bool has_end = finished.reason() == inference::v1::FINISH_REASON_END_OF_TEXT;
  return tokens.first(tokens.size() - (has_end && !tokens.empty() ? 1 : 0));
}

json ChatLogprobs(const Finished& finished) {
  json content = json::array();
  for (const inference::v1::Commit* const token : TextTokens(finished)) {
    json likeliest = json::array();
    for (const inference::v1::TokenLogprob& other : token->likeliest()) {
      likeliest.push_back({{"token", other.text()},
                           {"logprob", Logprob(other.logprob())},
                           {"bytes", BytesOf(other.text())}});
    }
    content.push_back({{"token", token->text()},
                       {"logprob", Logprob(token->logprob())},
                       {"bytes", BytesOf(token->text())},
                       {"top_logprobs", std::move(likeliest)}});
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

json TextLogprobs(const Finished& finished) {
  json texts = json::array();
  json logprobs = json::array();
  json likeliest = json::array();
  json offsets = json::array();
  int64_t offset = 0;  // in characters
  for (const inference::v1::Commit* const token : TextTokens(finished)) {
    texts.push_back(token->text());
    logprobs.push_back(Logprob(token->logprob()));
    json others = json::object();
    for (const inference::v1::TokenLogprob& other : token->likeliest()) {
      others[other.text()] = Logprob(other.logprob());
    }
    likeliest.push_back(std::move(others));
    offsets.push_back(offset);
    offset += std::ranges::count_if(
        token->text(), [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; });
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(likeliest)},
          {"text_offset", std::move(offsets)}};
}

json Logprobs(const AnswerStamp& stamp, const Finished& finished) {
  if (!stamp.has_logprobs) {
    return nullptr;
  }
  return stamp.is_chat ? ChatLogprobs(finished) : TextLogprobs(finished);
}

void AddMetadata(const AnswerStamp& stamp, json* answer) {
  for (const auto& [name, value] : stamp.metadata) {
    (*answer)["metadata"][name] = value;
  }
}

// One event of a stream. `reason` is null before the end.
json Chunk(const AnswerStamp& stamp, const Started& started, json delta, const char* reason) {
  json chunk = Stamped(stamp, started, stamp.is_chat ? "chat.completion.chunk" : "text_completion");
  json choice = {{"index", 0}, {"logprobs", nullptr}};
  choice["finish_reason"] = reason == nullptr ? json(nullptr) : json(reason);
  choice[stamp.is_chat ? "delta" : "text"] = std::move(delta);
  chunk["choices"] = json::array({std::move(choice)});
  if (stamp.includes_usage) {
    chunk["usage"] = nullptr;
  }
  return chunk;
}

json EmptyDelta(const AnswerStamp& stamp) {
  return stamp.is_chat ? json::object() : json("");
}

}  // namespace

std::string AnswerId(const AnswerStamp& stamp, std::string_view response_id) {
  return fmt::format("{}{}", stamp.is_chat ? kChatPrefix : kTextPrefix, response_id);
}

std::string ResponseIdOf(std::string_view answer_id) {
  for (const std::string_view prefix : {kChatPrefix, kTextPrefix}) {
    if (answer_id.starts_with(prefix)) {
      return std::string(answer_id.substr(prefix.size()));
    }
  }
  return std::string(answer_id);
}

std::string WholeAnswer(const AnswerStamp& stamp, const Started& started, const Finished& finished,
                        std::string_view text) {
  json answer = Stamped(stamp, started, stamp.is_chat ? "chat.completion" : "text_completion");
  json choice = {{"index", 0},
                 {"logprobs", Logprobs(stamp, finished)},
                 {"finish_reason", ReasonName(finished.reason())}};
  if (stamp.is_chat) {
    choice["message"] = {{"role", "assistant"}, {"content", text}, {"refusal", nullptr}};
  } else {
    choice["text"] = text;
  }
  answer["choices"] = json::array({std::move(choice)});
  answer["usage"] = Usage(finished);
  answer["ruvd"] = Own(started, finished);
  AddMetadata(stamp, &answer);
  return TextOf(answer);
}

std::string StreamBegin(const AnswerStamp& stamp, const Started& started) {
  const json delta =
      stamp.is_chat ? json::object({{"role", "assistant"}, {"content", ""}}) : EmptyDelta(stamp);
  return Event(Chunk(stamp, started, delta, nullptr));
}

std::string StreamText(const AnswerStamp& stamp, const Started& started, std::string_view text) {
  const json delta = stamp.is_chat ? json::object({{"content", text}}) : json(text);
  return Event(Chunk(stamp, started, delta, nullptr));
}

std::string StreamFrame(const AnswerStamp& stamp, const Started& started,
                        const inference::v1::DenoiseFrame& frame) {
  json commits = json::array();
  for (const inference::v1::Commit& commit : frame.commits()) {
    commits.push_back({commit.position(), commit.text(), commit.confidence()});
  }
  json chunk = Chunk(stamp, started, EmptyDelta(stamp), nullptr);
  chunk["diffusion"] = {{"step", frame.step()},
                        {"t", frame.t()},
                        {"block", frame.block()},
                        {"bank", frame.bank()},
                        {"window", started.window()},
                        {"masked", frame.masked()},
                        {"mean_entropy", frame.mean_entropy()},
                        {"commits", std::move(commits)},
                        {"remasked", frame.remasked()}};
  return Event(chunk);
}

std::string StreamEnd(const AnswerStamp& stamp, const Started& started, const Finished& finished) {
  json last = Chunk(stamp, started, EmptyDelta(stamp), ReasonName(finished.reason()));
  last["choices"][0]["logprobs"] = Logprobs(stamp, finished);
  last["ruvd"] = Own(started, finished);
  AddMetadata(stamp, &last);
  std::string events = Event(last);
  if (stamp.includes_usage) {
    json usage =
        Stamped(stamp, started, stamp.is_chat ? "chat.completion.chunk" : "text_completion");
    usage["choices"] = json::array();
    usage["usage"] = Usage(finished);
    events += Event(usage);
  }
  return events.append(kDone);
}

std::string StreamError(const absl::Status& status) {
  return fmt::format("data: {}\n\n", ErrorBody(ErrorOf(status)));
}

}  // namespace ruvd::openai
