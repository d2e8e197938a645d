// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/served_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/constrain/constrained_text.h"
#include "inference/retrieval/prompt_embedding.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::serving {
namespace {

// Returns the number that trajectory rows use: ruvd.inference.v1.DecodingMode.
uint32_t NumberOf(inference::DecodingMode mode) {
  switch (mode) {
    case inference::DecodingMode::kDiffusion:
      return inference::v1::DECODING_MODE_DIFFUSION;
    case inference::DecodingMode::kBlock:
      return inference::v1::DECODING_MODE_BLOCK;
    case inference::DecodingMode::kAutoregressive:
      break;
  }
  return inference::v1::DECODING_MODE_AUTOREGRESSIVE;
}

std::optional<storage::PatternId> PatternIdOf(const AdapterUse& use) {
  const std::optional<std::string> bytes = FromHex(use.pattern_id);
  storage::PatternId id{};
  if (!bytes || bytes->size() != id.size()) {
    return std::nullopt;
  }
  std::memcpy(id.data(), bytes->data(), id.size());
  return id;
}

double Seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

int TokensToGenerate(const GenerationJob& job) {
  if (job.parts.empty()) {
    return job.options.max_tokens > 0 ? job.options.max_tokens
                                      : inference::SamplingOptions().max_tokens;
  }
  int tokens = 0;
  for (const TextPart& part : job.parts) {
    tokens += part.gap;
  }
  return tokens;
}

ServedRequest::ServedRequest(const GenerationServices& services, std::string response_id,
                             GenerationJob job)
    : services_(services),
      response_id_(std::move(response_id)),
      job_(std::move(job)),
      admitted_(services_.clock->Now()),
      trace_(services_.recorder, *services_.clock,
             {.request_id = response_id_,
              .session_id = job_.session_id,
              .user_id = job_.user_id,
              .model = services_.model_name,
              .embedded_by = std::string(AsText(services_.package_id))}),
      uses_adapters_(job_.use_adapters) {}

double ServedRequest::seconds() const {
  return Seconds(services_.clock->Now() - begun_);
}

std::optional<double> ServedRequest::seconds_left() const {
  if (!job_.deadline.has_value()) {
    return std::nullopt;
  }
  return std::max(0.0, Seconds(*job_.deadline - services_.clock->Now()));
}

float ServedRequest::kv_share() const {
  if (services_.prefixes == nullptr) {
    return 0;
  }
  const inference::KvPool& pool = *services_.prefixes->pool();
  return static_cast<float>(pool.usage().pages) / static_cast<float>(pool.budget_pages());
}

std::vector<AdapterUse> ServedRequest::AllUsedAdapters() const {
  std::vector<AdapterUse> uses = adapters_.uses;
  for (const AdapterUse& former : former_) {
    // An adapter that was dropped may have come back.
    if (std::ranges::none_of(adapters_.uses, [&former](const AdapterUse& use) {
          return use.name == former.name && use.version == former.version;
        })) {
      uses.push_back(former);
    }
  }
  return uses;
}

void ServedRequest::SetAdapters(ChosenAdapters next) {
  const bool served = generation_ != nullptr && generation_->steps() > 0;
  for (const AdapterUse& use : served ? adapters_.uses : std::vector<AdapterUse>()) {
    const auto same = [&use](const AdapterUse& other) {
      return other.name == use.name && other.version == use.version;
    };
    if (std::none_of(next.uses.begin(), next.uses.end(), same) &&
        std::none_of(former_.begin(), former_.end(), same)) {
      former_.push_back(use);
    }
  }
  adapters_ = std::move(next);
  trace_.RecordReselection(AllUsedAdapters());
}

absl::StatusOr<inference::SamplingOptions> ServedRequest::Options(
    const inference::Model& model) const {
  inference::SamplingOptions options = job_.options;
  if (job_.grammar != nullptr) {
    options.constraint = std::make_shared<inference::TextConstraint>(
        inference::TextConstraint{.grammar = job_.grammar, .tokens = services_.token_trie});
  }
  const int open = TokensToGenerate(job_);
  if (services_.max_tokens_limit > 0 && open > services_.max_tokens_limit) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} new tokens are more than this node's inference.max_tokens_limit of {}; ask "
                 "for fewer",
                 open, services_.max_tokens_limit);
  }
  const inference::DecodingMode mode =
      options.mode.value_or(inference::DefaultDecodingMode(model.config(), !job_.parts.empty()));
  if (mode != inference::DecodingMode::kAutoregressive && !options.sampler.has_value() &&
      options.confidence_threshold == 0 && options.constraint == nullptr) {
    options.sampler = services_.sampler;
  }
  return options;
}

absl::Status ServedRequest::Replace(const inference::Model& model,
                                    const inference::SamplingOptions& options) {
  return CreateWith(model, options).status();
}

void ServedRequest::DropAdapters() {
  uses_adapters_ = false;
  adapters_ = ChosenAdapters();
  trace_.RecordReselection(adapters_.uses);
}

void ServedRequest::SetInstantMemory(std::shared_ptr<const inference::InstantMemory> memory) {
  memory_ = std::move(memory);
  remembers_ = true;
}

void ServedRequest::SetTokenMemory(std::unique_ptr<inference::MemoryReader> reader) {
  reader_ = std::move(reader);
}

bool ServedRequest::NeedsFiles() const {
  return job_.use_adapters && services_.adapters->NeedsFiles(job_.adapters);
}

void ServedRequest::ReadFiles() {
  held_ = services_.adapters->ReadFiles(job_.adapters);
}

void ServedRequest::Begin(const inference::Model& model) {
  begun_ = services_.clock->Now();
  trace_.RecordBegin(model.config(), job_.options);
}

absl::StatusOr<std::vector<inference::TokenId>> ServedRequest::Create(
    const inference::Model& model) {
  ASSIGN_OR_RETURN(const inference::SamplingOptions options, Options(model));
  mode_ =
      options.mode.value_or(inference::DefaultDecodingMode(model.config(), !job_.parts.empty()));
  if (!job_.conversation.messages.empty()) {
    ASSIGN_OR_RETURN(chat_, WriteConversation(model, job_.conversation));
  }
  ASSIGN_OR_RETURN(std::vector<inference::TokenId> given, CreateWith(model, options));
  prompt_tokens_ = static_cast<int>(given.size());
  return given;
}

absl::StatusOr<std::vector<inference::TokenId>> ServedRequest::CreateWith(
    const inference::Model& model, const inference::SamplingOptions& options) {
  const auto policy = [this](float t) { return adapters_.At(t); };
  if (job_.parts.empty()) {
    std::vector<inference::TokenId> prompt =
        chat_.tokens.empty() ? PromptTokens(model, job_.prompt) : chat_.tokens;
    auto created =
        inference::Generation::Create(model, prompt, options, policy, services_.prefixes);
    RETURN_IF_ERROR(InField(created.status(), "sampling"));
    generation_ = *std::move(created);
    return prompt;
  }
  std::vector<inference::TokenId> canvas = CanvasTokens(model, job_.parts);
  auto created =
      inference::Generation::CreateInfill(model, canvas, options, policy, services_.prefixes);
  RETURN_IF_ERROR(InField(created.status(), "sampling"));
  generation_ = *std::move(created);
  std::erase(canvas, inference::kNoToken);
  return canvas;
}

absl::Status ServedRequest::Embed(inference::Transformer& transformer,
                                  std::span<const inference::TokenId> given) {
  // Only decoding token by token begins with the forward that embeds the prompt.
  const bool shared = mode_ == inference::DecodingMode::kAutoregressive;
  ASSIGN_OR_RETURN(embedding_, inference::EmbedPrompt(transformer, given, services_.whitening,
                                                      shared ? services_.prefixes.get() : nullptr));
  return absl::OkStatus();
}

absl::Status ServedRequest::ChooseAdapters(inference::Transformer& transformer,
                                           std::span<const inference::TokenId> given, bool wanted) {
  const bool searches = job_.use_adapters && services_.adapters->ReadsEmbedding();
  // A trajectory stores no more than the text before the first gap, so that the text with gaps
  // could not be embedded later.
  if (wanted || searches || !job_.parts.empty()) {
    RETURN_IF_ERROR(Embed(transformer, given));
  }
  trace_.RecordEmbedding(embedding_, given.size());
  if (job_.use_adapters) {
    RETURN_IF_ERROR(held_.status());
    ASSIGN_OR_RETURN(adapters_, services_.adapters->Choose(embedding_, job_.adapters, factor_));
    if (embedding_.empty() && adapters_.ReadsQuery()) {
      RETURN_IF_ERROR(Embed(transformer, given));
      adapters_.query = embedding_;
      trace_.RecordEmbedding(embedding_, given.size());
    }
  }
  held_ = std::vector<RangedPart>();
  trace_.RecordAdapters(adapters_.uses);
  return absl::OkStatus();
}

void ServedRequest::Start(inference::Generation::StepWatcher watcher) {
  if (remembers_) {
    generation_->SetInstantMemory(std::move(memory_), /*record=*/true);
  }
  if (reader_ != nullptr) {
    generation_->SetTokenMemory(std::move(reader_));
  }
  if (watched_ && uses_adapters_) {
    generation_->Watch(std::move(watcher));
  }
}

GenerationStarted ServedRequest::Started(const inference::Model& model,
                                         size_t prompt_tokens) const {
  GenerationStarted started;
  started.response_id = response_id_;
  started.prompt_tokens = static_cast<int>(prompt_tokens);
  started.window = generation_->window();
  started.model = model.config().name;
  started.package = ToHex(services_.package_id);
  started.adapters = adapters_.uses;
  const std::vector<inference::TokenId>& tokens = generation_->tokens();
  const auto begin = static_cast<size_t>(generation_->prompt_length());
  const auto known =
      static_cast<int>(tokens.size() - begin);  // none yet in the autoregressive mode
  for (int i = 0; i < std::min(started.window, known); ++i) {
    const inference::TokenId token = tokens[begin + static_cast<size_t>(i)];
    if (token != model.tokenizer().mask_id()) {
      started.given.push_back({.position = i, .token = token, .confidence = 1});
    }
  }
  return started;
}

void ServedRequest::RecordStep(const inference::StepResult& step) {
  step_t_.push_back(step.t);
  step_entropy_.push_back(step.mean_entropy);
  RecordCommits(step);
}

void ServedRequest::RecordCommits(const inference::StepResult& step) {
  if (job_.options.logprobs < 0) {
    return;
  }
  const auto by_position = [](const inference::Commit& a, const inference::Commit& b) {
    return a.position < b.position;
  };
  for (const inference::Commit& commit : step.commits) {  // a remasked position is committed again
    const auto place = std::lower_bound(tokens_.begin(), tokens_.end(), commit, by_position);
    if (place != tokens_.end() && place->position == commit.position) {
      *place = commit;
    } else {
      tokens_.insert(place, commit);
    }
  }
}

RequestEnd ServedRequest::End() {
  RequestEnd end{.trajectory = MakeTrajectory(), .finished = {}, .leave = {}};
  GenerationFinished& finished = end.finished;
  finished.response_id = response_id_;
  finished.reason = generation_->finish_reason();
  finished.prompt_tokens = prompt_tokens_;
  finished.cached_tokens = std::min(generation_->cached_tokens(), prompt_tokens_);
  finished.completion_tokens = generation_->completion_tokens();
  finished.steps = generation_->steps();
  finished.forwards = generation_->forwards();
  finished.seconds = seconds();
  finished.queue_seconds = Seconds(begun_ - admitted_);
  finished.adapters = AllUsedAdapters();
  finished.memory = generation_->memory_use();
  std::erase_if(tokens_,
                [&](const inference::Commit& commit) {  // committed after the end of the text
                  return commit.position >= finished.completion_tokens;
                });
  finished.tokens = std::move(tokens_);
  finished.seed = job_.options.seed;
  finished.mode = mode_;
  finished.sampler = generation_->sampler();
  return end;
}

storage::Trajectory ServedRequest::MakeTrajectory() const {
  storage::Trajectory trajectory;
  trajectory.response_id = response_id_;
  trajectory.session_id = job_.session_id;
  trajectory.user_id = job_.user_id;
  trajectory.owner = job_.owner;
  trajectory.prompt = chat_.tokens.empty() ? job_.prompt : chat_.text;
  trajectory.prompt_tokens = chat_.tokens;
  trajectory.completion = generation_->text();
  trajectory.embedding = embedding_;
  trajectory.embedded_by = std::string(AsText(services_.package_id));
  trajectory.mode = NumberOf(mode_);
  trajectory.step_t = step_t_;
  trajectory.step_entropy = step_entropy_;
  for (const AdapterUse& use : AllUsedAdapters()) {
    trajectory.adapters.push_back(fmt::format("{}@{}", use.name, use.version));
    if (const auto pattern = PatternIdOf(use)) {
      trajectory.patterns.push_back(*pattern);
    }
  }
  trajectory.created_ms = services_.clock->WallMillis();
  return trajectory;
}

}  // namespace ruvd::serving
