// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/messages.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/tokenizer/utf8_assembler.h"
#include "node/limits.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::api {
namespace {

// The best values for ruvdllm-29m according to bench/RESULTS.md: without a penalty greedy decoding
// repeats itself, and larger penalties suppress function words.
constexpr float kDefaultRepetitionPenalty = 1.2F;
constexpr int kDefaultNoRepeatNgram = 3;

absl::Status OutOfRange(std::string_view name, double value, std::string_view range) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "{} is {}; it must be {}", name, value, range);
}

absl::Status CheckBetween(std::string_view name, double value, double low, double high) {
  if (!(value >= low && value <= high)) {  // also refuses NaN
    return OutOfRange(name, value, fmt::format("from {} to {}", low, high));
  }
  return absl::OkStatus();
}

// Returns a token's piece as text; incomplete characters become U+FFFD.
std::string PieceText(const inference::Tokenizer& tokenizer, inference::TokenId token) {
  inference::Utf8Assembler assembler;
  return assembler.Append(tokenizer.Piece(token)) + assembler.Finish();
}

void WriteCommit(const inference::Commit& commit, const inference::Tokenizer& tokenizer,
                 inference::v1::Commit* message) {
  message->set_position(static_cast<uint32_t>(commit.position));
  message->set_token(commit.token);
  message->set_text(PieceText(tokenizer, commit.token));
  message->set_confidence(commit.confidence);
  message->set_logprob(commit.logprob);
  for (const inference::TokenLogprob& likely : commit.likeliest) {
    auto* out = message->add_likeliest();
    out->set_token(likely.token);
    out->set_text(PieceText(tokenizer, likely.token));
    out->set_logprob(likely.logprob);
  }
}

// Reads the name of an enumerator; an empty name gives nullopt.
template <typename Kind>
absl::StatusOr<std::optional<Kind>> ReadName(std::string_view option, const std::string& name,
                                             std::optional<Kind> (*by_name)(std::string_view),
                                             const std::string& names) {
  const std::optional<Kind> kind = by_name(name);
  if (!name.empty() && !kind.has_value()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} '{}' is unknown; use one of {}", option, SanitizeForDisplay(name), names);
  }
  return kind;
}

// Checks the options that would overflow when converted to int; the engine checks all others.
absl::Status CheckCounts(const inference::v1::SamplingOptions& message) {
  constexpr double kMaxCount = 1 << 20;
  RETURN_IF_ERROR(CheckBetween("max_tokens", message.max_tokens(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("steps", message.steps(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("block_length", message.block_length(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("top_k", message.top_k(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("penalty_window", message.penalty_window(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("no_repeat_ngram", message.no_repeat_ngram(), 0, kMaxCount));
  RETURN_IF_ERROR(CheckBetween("stability_steps", message.stability_steps(), 0, kMaxCount));
  RETURN_IF_ERROR(
      CheckBetween("approximate_cache_steps", message.approximate_cache_steps(), 0, kMaxCount));
  return CheckBetween("logprobs", message.logprobs(), 0, kMaxCount);
}

void ReadTokenChoice(const inference::v1::SamplingOptions& message,
                     inference::SamplingOptions* options) {
  options->temperature = message.temperature();
  options->top_k = static_cast<int>(message.top_k());
  options->top_p = message.top_p();
  options->min_p = message.min_p();
  options->repetition_penalty =
      message.has_repetition_penalty() ? message.repetition_penalty() : kDefaultRepetitionPenalty;
  options->presence_penalty = message.presence_penalty();
  options->frequency_penalty = message.frequency_penalty();
  options->penalty_window = static_cast<int>(message.penalty_window());
  options->no_repeat_ngram = message.has_no_repeat_ngram()
                                 ? static_cast<int>(message.no_repeat_ngram())
                                 : kDefaultNoRepeatNgram;
  options->logprobs = message.has_logprobs() ? static_cast<int>(message.logprobs()) : -1;
}

absl::Status ReadPositionChoice(const inference::v1::SamplingOptions& message,
                                inference::SamplingOptions* options) {
  ASSIGN_OR_RETURN(
      options->sampler,
      ReadName("sampler", message.sampler(), &inference::SamplerByName, inference::SamplerNames()));
  ASSIGN_OR_RETURN(options->remask, ReadName("remask", message.remask(), &inference::RemaskByName,
                                             inference::RemaskNames()));
  options->steps = static_cast<int>(message.steps());
  options->block_length = static_cast<int>(message.block_length());
  options->confidence_threshold = message.confidence_threshold();
  options->position_temperature = message.position_temperature();
  options->factor = message.factor();
  options->entropy_bound = message.entropy_bound();
  options->stability_kl = message.stability_kl();
  options->stability_steps = static_cast<int>(message.stability_steps());
  options->approximate_cache_steps = static_cast<int>(message.approximate_cache_steps());
  options->remask_strength = message.remask_strength();
  options->guidance_scale = message.guidance_scale();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<inference::DecodingMode>> ReadMode(inference::v1::DecodingMode mode) {
  switch (mode) {
    case inference::v1::DECODING_MODE_UNSPECIFIED:
      return std::nullopt;
    case inference::v1::DECODING_MODE_DIFFUSION:
      return inference::DecodingMode::kDiffusion;
    case inference::v1::DECODING_MODE_BLOCK:
      return inference::DecodingMode::kBlock;
    case inference::v1::DECODING_MODE_AUTOREGRESSIVE:
      return inference::DecodingMode::kAutoregressive;
    default:
      return Error(
          absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
          "decoding mode {} is unknown to this version; use diffusion, block or autoregressive",
          static_cast<int>(mode));
  }
}

absl::StatusOr<inference::SamplingOptions> ReadSampling(
    const inference::v1::SamplingOptions& message) {
  RETURN_IF_ERROR(CheckCounts(message));
  inference::SamplingOptions options;
  ASSIGN_OR_RETURN(options.mode, ReadMode(message.mode()));
  if (message.max_tokens() > 0) {
    options.max_tokens = static_cast<int>(message.max_tokens());
  }
  options.ignore_end_of_text = message.ignore_end_of_text();
  options.stop.assign(message.stop().begin(), message.stop().end());
  options.seed = message.seed();
  ReadTokenChoice(message, &options);
  RETURN_IF_ERROR(ReadPositionChoice(message, &options));
  RETURN_IF_ERROR(inference::CheckSamplingRanges(options));
  return options;
}

absl::StatusOr<std::vector<serving::AdapterChoice>> ReadAdapters(
    const inference::v1::AdapterSelection& message) {
  if (message.disabled() && message.chosen_size() > 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "adapters are both chosen and disabled; leave out one of the two");
  }
  RETURN_IF_ERROR(
      CheckBetween("the number of adapters", message.chosen_size(), 0, limits::kMaxChosenAdapters));
  std::vector<serving::AdapterChoice> choices;
  for (const auto& chosen : message.chosen()) {
    choices.push_back(
        {.name = chosen.name(),
         .version = chosen.has_version() ? std::optional(chosen.version()) : std::nullopt,
         .weight = chosen.has_weight() ? chosen.weight() : 1,
         .t_min = chosen.t_min(),
         .t_max = chosen.has_t_max() ? chosen.t_max() : 1});
    RETURN_IF_ERROR(serving::CheckAdapterChoice(choices.back()));
  }
  return choices;
}

absl::StatusOr<std::string> ReadUserId(const std::string& id, const Caller& caller) {
  std::string own = OwnId(caller, id);
  if (own.size() > limits::kMaxUserIdBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "user_id has {} bytes; use at most {}", id.size(),
                 limits::kMaxUserIdBytes - (own.size() - id.size()));
  }
  return own;
}

absl::StatusOr<serving::ScoreJob> ReadScore(const inference::v1::ScoreRequest& message,
                                            const Caller& caller) {
  RETURN_IF_ERROR(CheckRequestBytes(message));
  RETURN_IF_ERROR(
      CheckBetween("samples", message.samples(), 0, limits::kMaxScoreSamplesPerRequest));
  serving::ScoreJob job;
  ASSIGN_OR_RETURN(job.mode, ReadMode(message.mode()));
  ASSIGN_OR_RETURN(job.user_id, ReadUserId(message.user_id(), caller));
  job.caller = caller.name;
  job.use_memory = !message.without_memory();
  job.prompt = message.prompt();
  job.completion = message.completion();
  if (message.samples() > 0) {
    job.options.samples = static_cast<int>(message.samples());
  }
  job.options.seed = message.seed();
  job.use_adapters = !message.adapters().disabled();
  ASSIGN_OR_RETURN(job.adapters, ReadAdapters(message.adapters()));
  return job;
}

namespace {

// Accepts a signal only if it is true, because a missing action of the user has no meaning.
absl::StatusOr<learning::Feedback> OfTrueOnly(std::string_view signal, bool value,
                                              learning::Feedback feedback) {
  if (!value) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} is false; send it only if it is true", signal);
  }
  return feedback;
}

}  // namespace

absl::StatusOr<learning::Feedback> ReadFeedback(const learning::v1::SubmitFeedbackRequest& message,
                                                const Caller& caller) {
  RETURN_IF_ERROR(CheckRequestBytes(message));
  learning::Feedback feedback{.owner = caller.owner};
  feedback.response_id = message.response_id();
  feedback.idempotency_key = message.idempotency_key();
  feedback.metadata.insert(message.metadata().begin(), message.metadata().end());
  if (feedback.idempotency_key.size() > limits::kMaxIdempotencyKeyBytes) {
    return OutOfRange("the length of idempotency_key",
                      static_cast<double>(feedback.idempotency_key.size()),
                      fmt::format("at most {} bytes", limits::kMaxIdempotencyKeyBytes));
  }
  switch (message.signal_case()) {
    case learning::v1::SubmitFeedbackRequest::kRating:
      RETURN_IF_ERROR(CheckBetween("rating", message.rating(), 0, 1));
      feedback.rating = message.rating();
      return feedback;
    case learning::v1::SubmitFeedbackRequest::kEditedText:
      if (message.edited_text().empty()) {
        return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                     "edited_text is empty; send the corrected text, or a rating of 0");
      }
      feedback.edited_text = message.edited_text();
      return feedback;
    case learning::v1::SubmitFeedbackRequest::kAccepted:
      feedback.accepted = message.accepted();
      return feedback;
    case learning::v1::SubmitFeedbackRequest::kCopied:
      feedback.copied = true;
      return OfTrueOnly("copied", message.copied(), std::move(feedback));
    case learning::v1::SubmitFeedbackRequest::kRegenerated:
      feedback.regenerated = true;
      return OfTrueOnly("regenerated", message.regenerated(), std::move(feedback));
    default:
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "the feedback has no signal; set rating, edited_text, accepted, copied or "
                   "regenerated");
  }
}

absl::StatusOr<storage::PatternId> ReadPatternId(const std::string& text) {
  storage::PatternId id{};
  const std::optional<std::string> bytes = FromHex(text);
  if (!bytes || bytes->size() != id.size()) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "'{}' is not a pattern id; an id has {} hexadecimal digits, as ruvd pattern ls prints them",
        SanitizeForDisplay(text), id.size() * 2);
  }
  std::memcpy(id.data(), bytes->data(), id.size());
  return id;
}

absl::StatusOr<Digest> ReadOrigin(const std::string& text) {
  Digest origin{};
  const std::optional<std::string> bytes = FromHex(text);
  if (!bytes || bytes->size() != origin.size()) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "'{}' is not a node id; an origin has {} hexadecimal digits, as ruvd status prints them",
        text.substr(0, 2 * origin.size()), origin.size() * 2);
  }
  std::memcpy(origin.data(), bytes->data(), origin.size());
  return origin;
}

absl::Status CheckRequestBytes(const google::protobuf::Message& request) {
  const size_t bytes = request.ByteSizeLong();
  return bytes <= limits::kMaxTextRequestBytes
             ? absl::OkStatus()
             : Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                     "the request has {} bytes, but at most {} are accepted; send less text", bytes,
                     limits::kMaxTextRequestBytes);
}

void WriteAdapterUse(const serving::AdapterUse& use, inference::v1::AdapterUse* message) {
  message->set_name(use.name);
  message->set_version(use.version);
  message->set_weight(use.weight);
  message->set_pattern_id(use.pattern_id);
  message->set_similarity(use.similarity);
}

void WriteStarted(const serving::GenerationStarted& started, const inference::Tokenizer& tokenizer,
                  inference::v1::Started* message) {
  message->set_response_id(started.response_id);
  message->set_prompt_tokens(static_cast<uint32_t>(started.prompt_tokens));
  message->set_window(static_cast<uint32_t>(started.window));
  for (const serving::AdapterUse& use : started.adapters) {
    WriteAdapterUse(use, message->add_adapters());
  }
  for (const inference::Commit& commit : started.given) {
    WriteCommit(commit, tokenizer, message->add_given());
  }
}

void WriteFinished(const serving::GenerationFinished& finished,
                   const inference::Tokenizer& tokenizer, inference::v1::Finished* message) {
  message->set_response_id(finished.response_id);
  switch (finished.reason) {
    case inference::FinishReason::kLength:
      message->set_reason(inference::v1::FINISH_REASON_LENGTH);
      break;
    case inference::FinishReason::kEndOfText:
      message->set_reason(inference::v1::FINISH_REASON_END_OF_TEXT);
      break;
    case inference::FinishReason::kStop:
      message->set_reason(inference::v1::FINISH_REASON_STOP);
      break;
  }
  message->set_completion_tokens(static_cast<uint32_t>(finished.completion_tokens));
  message->set_steps(static_cast<uint32_t>(finished.steps));
  message->set_forwards(static_cast<uint32_t>(finished.forwards));
  message->set_seconds(finished.seconds);
  message->set_queue_seconds(finished.queue_seconds);
  message->set_seed(finished.seed);
  for (const serving::AdapterUse& use : finished.adapters) {
    WriteAdapterUse(use, message->add_adapters_used());
  }
  if (finished.memory.entries > 0) {
    message->mutable_memory()->set_tokens(finished.memory.entries);
    message->mutable_memory()->set_share(finished.memory.share);
  }
  if (finished.route) {
    message->mutable_route()->set_name(finished.route->name);
    message->mutable_route()->set_probability(finished.route->probability);
    message->mutable_route()->set_explored(finished.route->explored);
  }
  for (const inference::Commit& commit : finished.tokens) {
    WriteCommit(commit, tokenizer, message->add_tokens());
  }
}

void WriteFrame(const inference::StepResult& step, const inference::Tokenizer& tokenizer,
                inference::v1::DenoiseFrame* message) {
  message->set_step(static_cast<uint32_t>(step.step));
  message->set_t(step.t);
  message->set_masked(static_cast<uint32_t>(step.masked));
  message->set_mean_entropy(step.mean_entropy);
  for (const inference::Commit& commit : step.commits) {
    WriteCommit(commit, tokenizer, message->add_commits());
  }
  for (const int position : step.remasked) {
    message->add_remasked(static_cast<uint32_t>(position));
  }
}

void WritePattern(const storage::Pattern& pattern, pattern::v1::Pattern* message) {
  message->set_id(ToHex(pattern.id));
  message->set_bank(pattern.bank);
  message->set_task(pattern.task);
  message->set_tier(static_cast<pattern::v1::SharingTier>(pattern.tier));
  message->set_quality(pattern.quality);
  message->set_uses(pattern.uses);
  message->set_examples(pattern.examples);
  message->set_origin(ToHex(pattern.origin));
  message->set_created_ms(pattern.created_ms);
  message->set_adapter_name(pattern.adapter_name);
  message->set_adapter_version(pattern.adapter_version);
  message->set_dimension(static_cast<uint32_t>(pattern.embedding.size()));
  message->set_updated_ms(pattern.updated_ms);
  message->set_expires_ms(pattern.expires_ms);
  message->set_last_used_ms(pattern.last_used_ms);
  message->set_standing(static_cast<pattern::v1::PatternStanding>(pattern.standing));
}

}  // namespace ruvd::api
