// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/generation_task.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/router/first_forward.h"
#include "node/log/log.h"
#include "node/serving/route_options.h"
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

// A model cannot continue an empty text.
std::vector<inference::TokenId> OrEndOfText(const inference::Model& model,
                                            std::vector<inference::TokenId> tokens) {
  if (tokens.empty() && model.tokenizer().eos_id().has_value()) {
    tokens.push_back(*model.tokenizer().eos_id());
  }
  return tokens;
}

}  // namespace

std::vector<inference::TokenId> PromptTokens(const inference::Model& model,
                                             std::string_view prompt) {
  return OrEndOfText(model, model.tokenizer().EncodePrompt(prompt));
}

std::vector<inference::TokenId> CanvasTokens(const inference::Model& model,
                                             const std::vector<TextPart>& parts) {
  std::vector<inference::TokenId> canvas;
  for (const TextPart& part : parts) {
    const std::vector<inference::TokenId> tokens =
        canvas.empty() ? model.tokenizer().EncodePrompt(part.text)
                       : model.tokenizer().EncodeContinuation(part.text);
    canvas.insert(canvas.end(), tokens.begin(), tokens.end());
    if (canvas.empty() && part.gap > 0 && model.tokenizer().eos_id().has_value()) {
      canvas.push_back(*model.tokenizer().eos_id());  // as before an empty prompt
    }
    canvas.resize(canvas.size() + static_cast<size_t>(part.gap), inference::kNoToken);
  }
  return canvas;
}

absl::StatusOr<ChatPrompt> WriteConversation(const inference::Model& model,
                                             const Conversation& conversation) {
  const inference::Tokenizer& tokenizer = model.tokenizer();
  std::optional<inference::ChatFormat> format = conversation.format;
  if (!format.has_value()) {
    if (tokenizer.chat_template().empty()) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelUnsupported,
                   "the model {} has no chat template (tokenizer.chat_template), so it is unknown "
                   "how messages must be written for it; send a prompt, or name the chat_format "
                   "that it was trained on, one of {}",
                   model.config().name, inference::ChatFormatNames());
    }
    ASSIGN_OR_RETURN(format, inference::ChatFormatOf(tokenizer));
  }
  ASSIGN_OR_RETURN(const std::vector<inference::TextSegment> segments,
                   ApplyChatTemplate(*format, conversation.messages,
                                     /*add_generation_prompt=*/true, tokenizer));
  ChatPrompt prompt;
  for (const inference::TextSegment& segment : segments) {
    prompt.text += segment.text;
  }
  prompt.tokens = OrEndOfText(model, tokenizer.EncodePrompt(segments));
  return prompt;
}

GenerationTask::GenerationTask(GenerationServices services, std::string response_id,
                               GenerationJob job)
    : services_(std::move(services)),
      response_id_(std::move(response_id)),
      job_(std::move(job)),
      admitted_(services_.clock->Now()),
      trace_(services_.recorder, *services_.clock,
             {.request_id = response_id_,
              .session_id = job_.session_id,
              .user_id = job_.user_id,
              .model = services_.model_name,
              .embedded_by = std::string(AsText(services_.package_id))}) {
  if (services_.expect_user && !job_.user_id.empty()) {
    services_.expect_user(job_.user_id);
  }
}

bool GenerationTask::RunSlice(inference::Transformer& transformer) {
  const absl::Status status = Begin(transformer);
  if (!status.ok()) {
    Fail(status);
  }
  return !status.ok();
}

bool GenerationTask::EndIfUnwanted() {
  const absl::Status status = CheckWanted();
  if (!status.ok()) {
    Fail(status);
  }
  return !status.ok();
}

bool GenerationTask::TakeRound(inference::RoundResult round) {
  absl::Status status = Advance(std::move(round));
  if (status.ok() && !generation_->done()) {
    return false;
  }
  if (status.ok()) {
    status = Finish();
  }
  if (!status.ok()) {
    Fail(status);
  }
  return true;
}

void GenerationTask::Fail(const absl::Status& status) {
  LeaveBehind([] {}, [&] { trace_.Failed(status); });
  job_.listener->OnEnd(status);
}

absl::Status GenerationTask::CheckWanted() const {
  if (job_.listener->cancelled()) {
    return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                 "the caller cancelled the generation");
  }
  if (job_.deadline.has_value() && services_.clock->Now() >= *job_.deadline) {
    return Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                 "the deadline passed after {} steps; allow more time or ask for fewer tokens",
                 generation_ == nullptr ? 0 : generation_->steps());
  }
  return absl::OkStatus();
}

absl::Status GenerationTask::Begin(inference::Transformer& transformer) {
  begun_ = services_.clock->Now();
  const inference::Model& model = transformer.model();
  trace_.Begun(model.config(), job_.options);
  // Create checks the length before the embedding spends a forward pass on the prompt.
  ASSIGN_OR_RETURN(const std::vector<inference::TokenId> given, Create(model));
  ASSIGN_OR_RETURN(embedding_, inference::EmbedText(transformer, given, services_.whitening));
  trace_.Embedded(embedding_, given.size());
  const InstantSession session = Remembered();
  const bool remembered = !session.session_id.empty();
  if (job_.use_adapters) {
    RETURN_IF_ERROR(held_.status());
    ASSIGN_OR_RETURN(selection_,
                     services_.adapters->Choose(embedding_, job_.adapters, SessionFactor()));
  }
  held_ = std::vector<RangedPart>();
  trace_.Chose(selection_.uses);
  if (services_.router != nullptr) {
    TakeRoute(transformer);
  }
  if (remembered) {
    generation_->Remember(services_.instant->MemoryOf(session), /*record=*/true);
  }
  if (services_.dgr.has_value() && UsesAdapters()) {
    generation_->Watch(
        [this](const inference::StepSignals& signals) { WatchUncertainty(signals); });
  }
  GenerationStarted started;
  started.response_id = response_id_;
  started.prompt_tokens = static_cast<int>(given.size());
  started.window = generation_->window();
  started.adapters = selection_.uses;
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
  job_.listener->OnStarted(started);
  begun_generation_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<inference::TokenId>> GenerationTask::Create(
    const inference::Model& model) {
  ASSIGN_OR_RETURN(const inference::SamplingOptions options, Options(model));
  mode_ =
      options.mode.value_or(inference::DefaultDecodingMode(model.config(), !job_.parts.empty()));
  if (!job_.conversation.messages.empty()) {
    ASSIGN_OR_RETURN(chat_, WriteConversation(model, job_.conversation));
  }
  return CreateWith(model, options);
}

absl::StatusOr<std::vector<inference::TokenId>> GenerationTask::CreateWith(
    const inference::Model& model, const inference::SamplingOptions& options) {
  const auto policy = [this](float t) { return selection_.At(t); };
  if (job_.parts.empty()) {
    std::vector<inference::TokenId> prompt =
        chat_.tokens.empty() ? PromptTokens(model, job_.prompt) : chat_.tokens;
    ASSIGN_OR_RETURN(generation_, inference::Generation::Create(model, prompt, options, policy,
                                                                services_.prefixes));
    return prompt;
  }
  std::vector<inference::TokenId> canvas = CanvasTokens(model, job_.parts);
  ASSIGN_OR_RETURN(generation_, inference::Generation::CreateInfill(model, canvas, options, policy,
                                                                    services_.prefixes));
  std::erase(canvas, inference::kNoToken);
  return canvas;
}

void GenerationTask::TakeRoute(inference::Transformer& transformer) {
  const inference::Model& model = transformer.model();
  const bool adapters_act = !selection_.uses.empty() || services_.dgr.has_value();
  const inference::RouteSet open = OpenRoutes(job_, mode_, adapters_act);
  absl::StatusOr<inference::SamplingOptions> options = Options(model);  // the same as in Create
  if (open.count() == 1 || !options.ok()) {
    return;
  }
  const RoutedRequest routed = services_.router->Choose(Facts(transformer), open);
  const inference::Route& route = NodeRoutes().at(routed.decision.route);
  if (route.tokens_per_step > 0 || !route.cache.empty()) {
    // This may need more memory than the node has.
    if (!CreateWith(model, WithRoute(route, *std::move(options), mode_, TokensToGenerate(job_),
                                     model.config().block_length))
             .ok()) {
      return;
    }
  }
  routed_ = routed;
  trace_.Routed(route.name, routed.decision.probability);
  if (!UsesAdapters()) {
    selection_ = ChosenAdapters();
    trace_.ChoseAgain(selection_.uses);
  }
}

inference::RequestFacts GenerationTask::Facts(inference::Transformer& transformer) const {
  inference::RequestFacts facts{.prompt_tokens = generation_->prompt_length(),
                                .max_tokens = TokensToGenerate(job_),
                                .diffusion = mode_ == inference::DecodingMode::kDiffusion,
                                .block = mode_ == inference::DecodingMode::kBlock,
                                .autoregressive = mode_ == inference::DecodingMode::kAutoregressive,
                                .infill = !job_.parts.empty(),
                                .chat = !job_.conversation.messages.empty(),
                                .temperature = job_.options.temperature};
  for (const AdapterUse& use : selection_.uses) {
    facts.pattern_similarity = std::max(facts.pattern_similarity, use.similarity);
  }
  facts.queue_share = services_.queue_share ? services_.queue_share() : 0;
  if (services_.prefixes != nullptr) {
    const inference::KvPool& pool = *services_.prefixes->pool();
    facts.kv_share =
        static_cast<float>(pool.usage().pages) / static_cast<float>(pool.budget_pages());
  }
  if (job_.deadline.has_value()) {
    facts.deadline_s =
        static_cast<float>(std::max(0.0, Seconds(*job_.deadline - services_.clock->Now())));
  }
  if (services_.router->options().kind == inference::ScorerKind::kCascade) {
    const auto prompt =
        std::span(generation_->tokens()).first(static_cast<size_t>(generation_->prompt_length()));
    if (const auto first =
            inference::ReadFirstForward(transformer, prompt, mode_, facts.max_tokens);
        first.ok()) {
      facts.first_entropy = first->entropy;
      facts.first_confidence = first->confidence;
    }
  }
  return facts;
}

bool GenerationTask::UsesAdapters() const {
  return job_.use_adapters &&
         !(routed_ && NodeRoutes().at(routed_->decision.route).adapters == false);
}

std::optional<storage::TrajectoryRoute> GenerationTask::RouteTaken() const {
  if (!routed_) {
    return std::nullopt;
  }
  const inference::RoutingDecision& decision = routed_->decision;
  storage::TrajectoryRoute taken{
      .name = NodeRoutes().at(decision.route).name,
      .features = {routed_->features.begin(), routed_->features.end()},
      .propensity = static_cast<float>(decision.propensity),
      .probability = static_cast<float>(decision.probability),
      .explored = decision.explored,
      .seconds = static_cast<float>(std::max(0.0, Seconds(services_.clock->Now() - begun_))),
      .tokens = static_cast<uint32_t>(TokensToGenerate(job_))};
  for (size_t i = 0; i < kNodeRoutes; ++i) {
    if (routed_->open[i] && i != decision.route) {
      taken.others.push_back(NodeRoutes().at(i).name);
    }
  }
  return taken;
}

void GenerationTask::WatchUncertainty(const inference::StepSignals& signals) {
  const inference::StepUncertainty now = inference::UncertaintyOf(signals.positions, signals.t);
  inference::TimestepStatistics& statistics = (*services_.usual_entropy)[mode_];
  const float usual = statistics.ZScore(signals.t, now.entropy);
  statistics.Add(signals.t, now.entropy);
  const inference::DgrDecision decision =
      DecideRetrieval(*services_.dgr, dgr_history_, now, signals.step, usual);
  if (!decision.query) {
    return;
  }
  dgr_history_ = {.retrievals = dgr_history_.retrievals + 1, .last_step = signals.step};
  const std::vector<float> query =
      AugmentedQuery(embedding_, signals.hidden, signals.positions, services_.whitening,
                     services_.dgr->uncertain_share);
  absl::StatusOr<ChosenAdapters> chosen = services_.adapters->ChooseAgain(
      selection_, query, inference::BankOf(signals.t), decision.kind, SessionFactor());
  if (!chosen.ok()) {  // the completion continues with the adapters it has
    LogWarning("response {} keeps its adapters: {}", response_id_, MessageOf(chosen.status()));
    return;
  }
  for (const AdapterUse& use : selection_.uses) {
    const auto same = [&use](const AdapterUse& other) {
      return other.name == use.name && other.version == use.version;
    };
    if (std::none_of(chosen->uses.begin(), chosen->uses.end(), same) &&
        std::none_of(former_.begin(), former_.end(), same)) {
      former_.push_back(use);
    }
  }
  selection_ = *std::move(chosen);
  trace_.ChoseAgain(AllUses());
}

AdapterSource::PatternFactor GenerationTask::SessionFactor() const {
  const InstantSession session = Remembered();
  const bool remembers = !session.session_id.empty();
  const bool related =
      services_.graph != nullptr && services_.graph->on() && !job_.session_id.empty();
  if (!remembers && !related) {
    return nullptr;
  }
  return [this, session, remembers, related](const std::string& pattern_id) {
    const float memory = remembers ? services_.instant->PatternFactor(session, pattern_id) : 1.0F;
    return related ? memory * services_.graph->Factor({job_.user_id, job_.session_id}, pattern_id)
                   : memory;
  };
}

InstantSession GenerationTask::Remembered() const {
  const bool wanted = services_.instant != nullptr &&
                      job_.session_memory.value_or(services_.instant->on_by_default());
  return wanted ? InstantSession{job_.user_id, job_.session_id} : InstantSession{};
}

absl::Status GenerationTask::Advance(inference::RoundResult round) {
  ASSIGN_OR_RETURN(const std::optional<inference::StepResult> step, std::move(round));
  if (step.has_value()) {
    step_t_.push_back(step->t);
    step_entropy_.push_back(step->mean_entropy);
    NoteCommits(*step);
    job_.listener->OnStep(*step);
  }
  return absl::OkStatus();
}

absl::StatusOr<inference::SamplingOptions> GenerationTask::Options(
    const inference::Model& model) const {
  inference::SamplingOptions options = job_.options;
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
      options.confidence_threshold == 0) {
    options.sampler = services_.sampler;
  }
  return options;
}

void GenerationTask::NoteCommits(const inference::StepResult& step) {
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

void GenerationTask::LeaveBehind(const std::function<void()>& leave,
                                 const std::function<void()>& record) {
  const auto all = [&] {
    leave();
    record();
  };
  if (services_.fence == nullptr) {
    all();
  } else if (!services_.fence->Store(job_.user_id, admitted_, all)) {
    trace_.ForgetUser();
    record();
  }
}

void GenerationTask::Keep() {
  // The trajectory is stored before the caller hears of the end, so that feedback finds it even
  // after a crash. A full disk costs the feedback, not the completion.
  if (absl::Status stored = services_.trajectories->Put(MakeTrajectory()); !stored.ok()) {
    LogWarning("response {} cannot be learned from: {} [{}]", response_id_, MessageOf(stored),
               ReasonOf(stored));
  }
  if (const InstantSession session = Remembered(); !session.session_id.empty()) {
    InstantTrail trail{.session = session, .commits = generation_->trail(), .admitted = admitted_};
    if (generation_->finish_reason() == inference::FinishReason::kEndOfText) {
      trail.end_position = generation_->completion_tokens() - 1;
    }
    for (const AdapterUse& use : AllUses()) {
      if (!use.pattern_id.empty()) {
        trail.patterns.push_back(use.pattern_id);
      }
    }
    services_.instant->Keep(response_id_, std::move(trail));
  }
}

absl::Status GenerationTask::Finish() {
  LeaveBehind([this] { Keep(); }, [this] { trace_.Finished(generation_->completion_tokens()); });
  GenerationFinished finished;
  finished.response_id = response_id_;
  finished.reason = generation_->finish_reason();
  finished.completion_tokens = generation_->completion_tokens();
  finished.steps = generation_->steps();
  finished.forwards = generation_->forwards();
  finished.seconds = Seconds(services_.clock->Now() - begun_);
  finished.queue_seconds = Seconds(begun_ - admitted_);
  finished.adapters = AllUses();
  if (routed_) {
    const inference::RoutingDecision& decision = routed_->decision;
    finished.route = RouteUse{.name = NodeRoutes().at(decision.route).name,
                              .probability = decision.probability,
                              .explored = decision.explored};
  }
  std::erase_if(tokens_,
                [&](const inference::Commit& commit) {  // committed after the end of the text
                  return commit.position >= finished.completion_tokens;
                });
  finished.tokens = std::move(tokens_);
  job_.listener->OnEnd(finished);
  return absl::OkStatus();
}

std::vector<AdapterUse> GenerationTask::AllUses() const {
  std::vector<AdapterUse> uses = selection_.uses;
  uses.insert(uses.end(), former_.begin(), former_.end());
  return uses;
}

storage::Trajectory GenerationTask::MakeTrajectory() const {
  storage::Trajectory trajectory;
  trajectory.response_id = response_id_;
  trajectory.session_id = job_.session_id;
  trajectory.user_id = job_.user_id;
  trajectory.prompt = chat_.tokens.empty() ? job_.prompt : chat_.text;
  trajectory.prompt_tokens = chat_.tokens;
  trajectory.completion = generation_->text();
  trajectory.embedding = embedding_;
  trajectory.embedded_by = std::string(AsText(services_.package_id));
  trajectory.mode = NumberOf(mode_);
  trajectory.step_t = step_t_;
  trajectory.step_entropy = step_entropy_;
  for (const AdapterUse& use : AllUses()) {
    trajectory.adapters.push_back(fmt::format("{}@{}", use.name, use.version));
    if (const auto pattern = PatternIdOf(use)) {
      trajectory.patterns.push_back(*pattern);
    }
  }
  trajectory.route = RouteTaken();
  trajectory.created_ms = services_.clock->WallMillis();
  return trajectory;
}

}  // namespace ruvd::serving
