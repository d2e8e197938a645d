// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/messages.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/error_details.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/adapter/bank.h"
#include "inference/model/model.h"
#include "inference/tokenizer/utf8_assembler.h"
#include "node/api/bad_request.h"
#include "node/api/message_times.h"
#include "node/api/sampling_request.h"
#include "node/limits.h"
#include "node/openai/reasons.h"
#include "node/serving/adapter_catalog.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::api {
namespace {

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

}  // namespace

absl::Status CheckModel(std::string_view field, const std::string& name,
                        const inference::Model& model) {
  constexpr size_t kMostShown = 100;
  return name.empty() || name == model.config().name
             ? absl::OkStatus()
             : WithField(Error(absl::StatusCode::kNotFound, reasons::kModelUnknown,
                               "this node does not serve the model '{}'; use '{}', or no name",
                               SanitizeForDisplay(ValidUtf8(CutUtf8(name, kMostShown))),
                               model.config().name),
                         field);
}

absl::Status CheckPackage(const std::string& package, const Digest& own) {
  const std::string served = ToHex(own);
  return package.empty() || package == served
             ? absl::OkStatus()
             : WithField(Error(absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
                               "the embedding belongs to model package {}, but the node serves {}; "
                               "embeddings of different models cannot be compared",
                               SanitizeForDisplay(CutUtf8(package, served.size())), served),
                         "model_package");
}

absl::StatusOr<std::vector<serving::AdapterChoice>> ReadAdapters(
    const inference::v1::AdapterSelection& message) {
  if (message.disabled() && message.chosen_size() > 0) {
    return BadField("chosen", "adapters are both chosen and disabled; leave out one of the two");
  }
  if (static_cast<size_t>(message.chosen_size()) > limits::kMaxChosenAdapters) {
    return BadField("chosen", "the request chooses {} adapters; choose at most {}",
                    message.chosen_size(), limits::kMaxChosenAdapters);
  }
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
    const size_t most = limits::kMaxUserIdBytes - (own.size() - id.size());
    return WithLimit(BadField("user_id", "user_id has {} bytes; use at most {}", id.size(), most),
                     {.limit = most, .value = id.size()});
  }
  return own;
}

absl::StatusOr<serving::ScoreJob> ReadScore(const inference::v1::ScoreRequest& message,
                                            const Caller& caller) {
  RETURN_IF_ERROR(CheckRequestBytes(message));
  RETURN_IF_ERROR(CheckNotZero("samples", message.has_samples(), message.samples()));
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
  auto adapters = ReadAdapters(message.adapters());
  RETURN_IF_ERROR(InField(adapters.status(), "adapters"));
  job.adapters = *std::move(adapters);
  return job;
}

namespace {

// Accepts a signal only if it is true, because a missing action of the user has no meaning.
absl::StatusOr<learning::Feedback> OfTrueOnly(std::string_view signal, bool value,
                                              learning::Feedback feedback) {
  if (!value) {
    return BadField(signal, "{} is false; send it only if it is true", signal);
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
    return BadField("idempotency_key", "idempotency_key has {} bytes; use at most {}",
                    feedback.idempotency_key.size(), limits::kMaxIdempotencyKeyBytes);
  }
  switch (message.signal_case()) {
    case learning::v1::SubmitFeedbackRequest::kRating:
      RETURN_IF_ERROR(CheckBetween("rating", message.rating(), 0, 1));
      feedback.rating = message.rating();
      return feedback;
    case learning::v1::SubmitFeedbackRequest::kEditedText:
      if (message.edited_text().empty()) {
        return BadField("edited_text",
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
      return BadField("signal",
                      "the feedback has no signal; set rating, edited_text, accepted, copied or "
                      "regenerated");
  }
}

absl::StatusOr<storage::PatternId> ReadPatternId(const std::string& text) {
  storage::PatternId id{};
  const std::optional<std::string> bytes = FromHex(text);
  if (!bytes || bytes->size() != id.size()) {
    return BadField("id",
                    "'{}' is not a pattern id; an id has {} hexadecimal digits, as ruvd pattern ls "
                    "prints them",
                    SanitizeForDisplay(text), id.size() * 2);
  }
  std::memcpy(id.data(), bytes->data(), id.size());
  return id;
}

absl::StatusOr<Digest> ReadNodeId(std::string_view field, const std::string& text) {
  Digest origin{};
  const std::optional<std::string> bytes = FromHex(text);
  if (!bytes || bytes->size() != origin.size()) {
    return BadField(
        field, "'{}' is not a node id, which has {} hexadecimal digits, as ruvd status prints them",
        text.substr(0, 2 * origin.size()), origin.size() * 2);
  }
  std::memcpy(origin.data(), bytes->data(), origin.size());
  return origin;
}

absl::Status CheckRequestBytes(const google::protobuf::Message& request) {
  const size_t bytes = request.ByteSizeLong();
  return bytes <= limits::kMaxTextRequestBytes
             ? absl::OkStatus()
             : WithLimit(Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                               "the request has {} bytes, but at most {} are accepted; send less "
                               "text",
                               bytes, limits::kMaxTextRequestBytes),
                         {.limit = limits::kMaxTextRequestBytes, .value = bytes});
}

namespace {

inference::v1::RouteKind WireRoute(std::string_view name) {
  static constexpr std::pair<std::string_view, inference::v1::RouteKind> kRoutes[] = {
      {"as_asked", inference::v1::ROUTE_KIND_AS_ASKED},
      {"half_steps", inference::v1::ROUTE_KIND_HALF_STEPS},
      {"approximate_cache", inference::v1::ROUTE_KIND_APPROXIMATE_CACHE},
      {"no_adapters", inference::v1::ROUTE_KIND_NO_ADAPTERS}};
  const auto* const found = std::ranges::find(
      kRoutes, name, &std::pair<std::string_view, inference::v1::RouteKind>::first);
  return found == std::end(kRoutes) ? inference::v1::ROUTE_KIND_UNSPECIFIED : found->second;
}

}  // namespace

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
  message->set_model(started.model);
  message->set_model_package(started.package);
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
  inference::v1::Usage* const usage = message->mutable_usage();
  usage->set_prompt_tokens(static_cast<uint32_t>(finished.prompt_tokens));
  usage->set_cached_tokens(static_cast<uint32_t>(finished.cached_tokens));
  usage->set_completion_tokens(static_cast<uint32_t>(finished.completion_tokens));
  message->set_steps(static_cast<uint32_t>(finished.steps));
  message->set_forwards(static_cast<uint32_t>(finished.forwards));
  *message->mutable_duration() = SecondsToDuration(finished.seconds);
  *message->mutable_queue_time() = SecondsToDuration(finished.queue_seconds);
  message->set_seed(finished.seed);
  message->set_mode(WireMode(finished.mode));
  message->set_sampler(finished.sampler);
  for (const serving::AdapterUse& use : finished.adapters) {
    WriteAdapterUse(use, message->add_adapters_used());
  }
  if (finished.memory.entries > 0) {
    message->mutable_memory()->set_tokens(finished.memory.entries);
    message->mutable_memory()->set_share(finished.memory.share);
  }
  if (finished.route) {
    message->mutable_route()->set_kind(WireRoute(finished.route->name));
    message->mutable_route()->set_probability(finished.route->probability);
    message->mutable_route()->set_explored(finished.route->explored);
  }
  for (const inference::Commit& commit : finished.tokens) {
    WriteCommit(commit, tokenizer, message->add_tokens());
  }
}

void WriteFrame(const inference::StepResult& step, const inference::Tokenizer& tokenizer,
                inference::v1::DenoiseFrame* message) {
  message->set_block(static_cast<uint32_t>(step.block));
  message->set_bank(static_cast<uint32_t>(inference::BankOf(step.t)));
  message->set_retrieved(step.retrieved);
  for (const inference::AdapterMix::Part& part : step.adapters.parts) {
    inference::v1::AdapterUse* const use = message->add_adapters();
    use->set_name(part.adapter->name);
    use->set_version(part.adapter->version);
    use->set_weight(part.weight);
  }
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

}  // namespace ruvd::api
