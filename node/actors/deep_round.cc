// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/deep_round.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/paired.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/limits.h"
#include "node/actors/general_text.h"
#include "node/actors/lesson_clusters.h"
#include "node/limits.h"

namespace ruvd {
namespace {

constexpr std::array<std::string_view, 5> kOutcomeNames = {
    "published", "too_few_lessons", "no_improvement", "worse_general_text", "erased"};
// Separates the masks of the held-out score from those of training.
constexpr uint64_t kHeldOutStream = 0x646565702d6f7574ULL;
constexpr int kDraws = 4;  // maskings of a held-out lesson

// Nullopt where it is gone or teaches nothing any more.
absl::StatusOr<std::optional<Lesson>> ReadLesson(const LearningServices& services,
                                                 const std::string& response, float min_rating) {
  absl::StatusOr<Trajectory> trajectory = services.trajectories->Get(response);
  if (absl::IsNotFound(trajectory.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(trajectory.status());
  Lesson lesson = LessonOf(*std::move(trajectory), min_rating);
  if (lesson.wanted.empty()) {
    return std::nullopt;
  }
  if (lesson.trajectory.embedded_by != AsText(services.package_id)) {
    lesson.trajectory.prompt_tokens.clear();  // of another tokenizer
  }
  return lesson;
}

// False where a lesson is gone.
absl::StatusOr<bool> ReadExamples(const LearningServices& services,
                                  const std::vector<std::string>& responses, float min_rating,
                                  std::vector<TrainingExample>* examples) {
  for (const std::string& response : responses) {
    ASSIGN_OR_RETURN(const auto lesson, ReadLesson(services, response, min_rating));
    if (!lesson) {
      return false;
    }
    const Lesson* const one = &*lesson;
    auto made = MakeExamples(services.transformer->model(), std::span(&one, 1));
    examples->push_back(std::move(made.front()));
  }
  return true;
}

// Whole passages behind their first token, which there must be one of.
std::vector<TrainingExample> GeneralExamples(const Model& model) {
  std::vector<TrainingExample> examples;
  for (const std::string_view text : GeneralText()) {
    std::vector<TokenId> tokens = model.tokenizer().EncodePrompt(text);
    tokens.resize(std::min(tokens.size(), static_cast<size_t>(model.config().context)));
    examples.push_back({.prompt = {tokens.begin(), tokens.begin() + 1},
                        .completion = {tokens.begin() + 1, tokens.end()}});
  }
  return examples;
}

absl::StatusOr<std::unique_ptr<train::Objective>> MixedObjective(
    const Model& model, const std::vector<TrainingExample>& taught, const DeepOptions& options,
    uint64_t seed) {
  std::vector<train::ObjectivePart> parts(2);
  ASSIGN_OR_RETURN(parts[0].objective,
                   train::MakeObjective(model, taught, {.batch = options.batch, .seed = seed}));
  ASSIGN_OR_RETURN(parts[1].objective,
                   train::MakeObjective(model, GeneralExamples(model),
                                        {.batch = options.batch, .seed = seed + 1}));
  parts[1].follow_frozen = options.follow_frozen;
  return train::MixObjectives(std::move(parts));
}

// Above all versions there are or were: a rating names the version that it is of.
absl::StatusOr<uint32_t> NextVersion(const DeepServices& services) {
  uint32_t highest = 0;
  for (const CatalogEntry& entry : services.catalog->List()) {
    if (entry.info.name == kDeepAdapter) {
      highest = std::max(highest, entry.info.version);
    }
  }
  if (services.learning.changes != nullptr) {
    ASSIGN_OR_RETURN(const auto changes, services.learning.changes->List(limits::kMaxChanges));
    for (const LearningChange& change : changes) {
      if (change.kind == ChangeKind::kAdapterPublished) {
        highest = std::max(highest, change.version);
      }
    }
  }
  return highest + 1;
}

// How much more the documents take with the second arm, and the standard error of that, each
// document counting alike.
struct Difference {
  double mean = 0;
  double standard_error = 0;
};

Difference Compare(const NelboTable& before, const NelboTable& after) {
  const auto n = static_cast<double>(before.nats.size());
  double sum = 0;
  for (size_t i = 0; i < before.nats.size(); ++i) {
    sum += after.nats[i] - before.nats[i];
  }
  Difference difference{.mean = sum / n};
  double squares = 0;
  for (size_t i = 0; i < before.nats.size(); ++i) {
    squares += std::pow(after.nats[i] - before.nats[i] - difference.mean, 2);
  }
  difference.standard_error = std::sqrt(squares / (n - 1) / n);
  return difference;
}

double MeanOf(const NelboTable& table) {
  double sum = 0;
  for (const double nats : table.nats) {
    sum += nats;
  }
  return sum / static_cast<double>(table.nats.size());
}

}  // namespace

std::string_view DeepOutcomeName(DeepOutcome outcome) {
  return kOutcomeNames.at(static_cast<size_t>(outcome));
}

absl::StatusOr<std::unique_ptr<DeepRound>> DeepRound::Begin(const DeepServices& services,
                                                            const DeepOptions& options,
                                                            Random& random) {
  std::unique_ptr<DeepRound> round(new DeepRound(services, options));
  ASSIGN_OR_RETURN(const bool resumed, round->Resume());
  if (!resumed) {
    RETURN_IF_ERROR(round->ChooseLessons(random));
    if (round->taught_.size() + round->held_back_.size() >= options.least_lessons) {
      RETURN_IF_ERROR(round->MakeRun());
      RETURN_IF_ERROR(round->Save());
    }
  }
  return round;
}

absl::Status DeepRound::ChooseLessons(Random& random) {
  std::vector<Lesson> lessons;
  RETURN_IF_ERROR(
      services_.learning.trajectories->ForEachSince(0, [&](const Trajectory& trajectory) {
        Lesson lesson = LessonOf(trajectory, options_.min_rating);
        if (!lesson.wanted.empty() && !IsForgotten(services_.learning, trajectory)) {
          if (lessons.size() == limits::kMaxDeepLessons) {
            lessons.erase(lessons.begin());
          }
          lessons.push_back(std::move(lesson));
        }
        return CheckCancelled(services_.learning).ok();
      }));
  RETURN_IF_ERROR(CheckCancelled(services_.learning));
  std::vector<const Lesson*> pointers;
  for (const Lesson& lesson : lessons) {
    pointers.push_back(&lesson);
  }
  plan_ = DeepCheckpoint{.seed = random.Next()};
  const LessonSplit split = HoldBackLessons(pointers);
  for (const Lesson* lesson : split.taught) {
    plan_.taught.push_back(lesson->trajectory.response_id);
  }
  for (const Lesson* lesson : split.held_back) {
    plan_.held_back.push_back(lesson->trajectory.response_id);
  }
  ASSIGN_OR_RETURN(plan_.version, NextVersion(services_));
  if (const auto served = services_.catalog->Find(kDeepAdapter, std::nullopt); served.ok()) {
    plan_.base = served->info.version;
  }
  ASSIGN_OR_RETURN(const bool there, LoadLessons());
  if (!there) {
    return Error(absl::StatusCode::kAborted, reasons::kCancelled,
                 "a lesson of the deep round left while it began; run it again");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> DeepRound::LoadLessons() {
  taught_.clear();
  held_back_.clear();
  base_ = nullptr;
  if (plan_.base != 0) {
    const auto base = services_.catalog->Find(kDeepAdapter, plan_.base);
    if (!base.ok()) {
      return false;  // undone or unloaded
    }
    base_ = base->adapter;
  }
  ASSIGN_OR_RETURN(const bool taught,
                   ReadExamples(services_.learning, plan_.taught, options_.min_rating, &taught_));
  ASSIGN_OR_RETURN(const bool held_back, ReadExamples(services_.learning, plan_.held_back,
                                                      options_.min_rating, &held_back_));
  return taught && held_back;
}

// All that decides the run's numbers beside its options.
Digest DeepRound::Task() const {
  ByteWriter out;
  out.WriteBytes(services_.learning.transformer->model().hash()).Write(plan_.version);
  out.Write(options_.batch).Write<uint8_t>(options_.follow_frozen ? 1 : 0);
  out.WriteBytes(base_ == nullptr ? Digest{} : AdapterId(*base_));
  for (const TrainingExample& example : taught_) {
    out.Write<uint64_t>(example.prompt.size()).Write<uint64_t>(example.completion.size());
    for (const auto* tokens : {&example.prompt, &example.completion}) {
      for (const TokenId token : *tokens) {
        out.Write(token);
      }
    }
    out.Write(example.weight);
  }
  return Sha256(out.str());
}

absl::Status DeepRound::MakeRun() {
  const LearningServices& learning = services_.learning;
  const Model& model = learning.transformer->model();
  changes_ = std::make_unique<train::ChangeSet<float>>(train::NetworkShape::Of(model.config()));
  const std::vector<train::Site> sites = train::SitesFrom(model.config(), 0, false);
  RETURN_IF_ERROR(train::AddLoras(model, sites, options_.rank, false, plan_.seed, changes_.get()));
  if (base_ != nullptr && base_->trunk != nullptr &&
      !train::BeginFrom(*base_->trunk, changes_.get()).ok()) {
    spdlog::info("deep@{} has another rank, so that the next one begins anew", plan_.base);
  }
  ASSIGN_OR_RETURN(objective_, MixedObjective(model, taught_, options_, plan_.seed));
  ASSIGN_OR_RETURN(weights_, train::ModelWeights::Create(learning.transformer->shared_model(),
                                                         nullptr, learning.transformer->runner()));
  const train::RunOptions run_options{.steps = options_.steps,
                                      .learning_rate = options_.learning_rate,
                                      .seed = plan_.seed,
                                      .task = Task(),
                                      .pass = {.memory_bytes = limits::kBackgroundTrainingBytes},
                                      .cancelled = learning.cancelled};
  RETURN_IF_ERROR(train::CheckRunOptions(run_options));
  run_ = std::make_unique<train::TrainingRun>(
      train::RunParts{.weights = weights_.get(),
                      .changes = changes_.get(),
                      .objective = objective_.get(),
                      .runner = &learning.transformer->runner()},
      run_options);
  return absl::OkStatus();
}

absl::StatusOr<bool> DeepRound::Resume() {
  auto checkpoint = ReadDeepCheckpoint(services_.checkpoint_path, *services_.checkpoint_key);
  if (!checkpoint.ok()) {
    spdlog::warn("the checkpoint of a deep round is not used: {}", MessageOf(checkpoint.status()));
    return false;
  }
  if (!checkpoint->has_value()) {
    return false;
  }
  plan_ = **std::move(checkpoint);
  const std::string run = std::exchange(plan_.run, "");
  ASSIGN_OR_RETURN(const bool there, LoadLessons());
  if (there && !taught_.empty()) {
    RETURN_IF_ERROR(MakeRun());
    if (run_->Restore(AsBytes(run)).ok()) {
      resumed_at_ = saved_at_ = run_->step();
      spdlog::info("a deep round goes on at step {} of {}", resumed_at_, options_.steps);
      return true;
    }
  }
  run_ = nullptr;
  spdlog::info("an interrupted deep round begins anew: its lessons or its options changed");
  return false;
}

absl::Status DeepRound::Save() {
  plan_.run = run_->Checkpoint();
  const absl::Status written =
      WriteDeepCheckpoint(services_.checkpoint_path, *services_.checkpoint_key, plan_);
  plan_.run.clear();
  saved_at_ = run_->step();
  return written;
}

absl::StatusOr<bool> DeepRound::Work(Duration budget) {
  if (run_ == nullptr) {
    return true;
  }
  const Clock& clock = *services_.learning.clock;
  const TimePoint end = clock.Now() + budget;
  const auto every = static_cast<uint64_t>(options_.checkpoint_every);
  while (!run_->done() && clock.Now() < end) {
    const TimePoint slice = clock.Now() + services_.learning.slice;
    RETURN_IF_ERROR(
        run_->Advance([&] { return clock.Now() >= slice || run_->step() >= saved_at_ + every; }));
    if (run_->step() >= saved_at_ + every) {
      RETURN_IF_ERROR(Save());
    }
    if (!run_->done()) {
      RETURN_IF_ERROR(YieldBetweenPieces(services_.learning, run_->bytes()));
    }
  }
  return run_->done();
}

absl::StatusOr<DeepResult> DeepRound::Finish() {
  DeepResult result{.lessons = static_cast<uint32_t>(taught_.size()),
                    .held_back = static_cast<uint32_t>(held_back_.size())};
  if (run_ != nullptr) {
    RUVD_CHECK(run_->done());
    ASSIGN_OR_RETURN(result, Judge());
  }
  RETURN_IF_ERROR(RemoveDeepCheckpoint(services_.checkpoint_path));
  return result;
}

absl::StatusOr<DeepResult> DeepRound::Judge() {
  const LearningServices& learning = services_.learning;
  DeepResult result{.outcome = DeepOutcome::kNoImprovement,
                    .version = plan_.version,
                    .lessons = static_cast<uint32_t>(taught_.size()),
                    .held_back = static_cast<uint32_t>(held_back_.size()),
                    .steps = run_->step(),
                    .resumed_at = resumed_at_};
  const std::shared_ptr<const Adapter> adapter =
      train::AdapterOf(learning.transformer->model(), *changes_, kDeepAdapter, plan_.version);
  std::vector<ScoredDocument> documents;
  for (const TrainingExample& example : held_back_) {
    documents.push_back({.prompt = example.prompt, .completion = example.completion});
  }
  absl::Status yielded;
  const auto stop = [&] {
    yielded = YieldBetweenPieces(learning);
    return !yielded.ok();
  };
  const auto score = [&](const AdapterMix* mix) -> absl::StatusOr<NelboTable> {
    auto table =
        EvaluateNelbo(*learning.transformer, documents, [mix](double) { return mix; },
                      {.draws = kDraws, .seed = plan_.seed ^ kHeldOutStream, .cancelled = stop});
    return yielded.ok() ? std::move(table) : absl::StatusOr<NelboTable>(yielded);
  };
  AdapterMix served;
  if (base_ != nullptr) {
    AppendMix(*base_, 1.0F, {}, 1.0F, &served);
  }
  AdapterMix next;
  next.parts.push_back({.adapter = adapter, .weight = 1.0F});
  ASSIGN_OR_RETURN(const NelboTable before, score(base_ == nullptr ? nullptr : &served));
  ASSIGN_OR_RETURN(const NelboTable after, score(&next));
  const Difference difference = Compare(before, after);
  result.held_out_before = MeanOf(before);
  result.held_out_after = MeanOf(after);
  result.standard_error = difference.standard_error;
  if (!(-difference.mean > difference.standard_error)) {
    return result;
  }
  auto verdict = services_.gate->Check(*learning.transformer, adapter, stop);
  RETURN_IF_ERROR(yielded);
  RETURN_IF_ERROR(verdict.status());
  result.general_before = verdict->before;
  result.general_after = verdict->after;
  if (!verdict->pass) {
    result.outcome = DeepOutcome::kWorseGeneralText;
    return result;
  }
  RETURN_IF_ERROR(Publish(adapter, &result));
  return result;
}

absl::Status DeepRound::Publish(std::shared_ptr<const Adapter> adapter, DeepResult* result) {
  for (const auto* responses : {&plan_.taught, &plan_.held_back}) {
    for (const std::string& response : *responses) {
      const auto trajectory = services_.learning.trajectories->Get(response);
      if (absl::IsNotFound(trajectory.status())) {
        result->outcome = DeepOutcome::kErased;
        return absl::OkStatus();
      }
    }
  }
  LearningChange change{.loop = LearningLoop::kDeep,
                        .kind = ChangeKind::kAdapterPublished,
                        .responses = plan_.taught,
                        .adapter_name = kDeepAdapter,
                        .version_before = plan_.base,
                        .version = plan_.version,
                        .lessons = result->lessons};
  ASSIGN_OR_RETURN(change, ListChange(services_.learning, std::move(change), {}));
  const auto published = services_.catalog->Publish(StaticTalora(std::move(adapter)), 1.0F);
  if (!published.ok()) {
    UnlistChange(services_.learning, change);
    return published.status();
  }
  result->outcome = DeepOutcome::kPublished;
  result->change = std::move(change);
  return absl::OkStatus();
}

}  // namespace ruvd
