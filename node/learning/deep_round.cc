// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_round.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/evaluate/paired.h"
#include "inference/limits.h"
#include "node/learning/deep_lessons.h"
#include "node/learning/deep_limits.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/paired_losses.h"
#include "node/learning/text_lessons.h"
#include "node/log/log.h"

namespace ruvd::learning {
namespace {

constexpr std::array<std::string_view, 6> kOutcomeNames = {"published",      "too_few_lessons",
                                                           "no_improvement", "worse_general_text",
                                                           "erased",         "base_changed"};
// Makes the masks of the held-out score differ from those of training.
constexpr uint64_t kHeldOutStream = 0x646565702d6f7574ULL;
constexpr int kDraws = 4;  // maskings of a held-out lesson

// Returns a number above all versions that exist or existed, because a rating names its version.
absl::StatusOr<uint32_t> NextVersion(const DeepServices& services) {
  uint32_t highest = 0;
  for (const serving::CatalogEntry& entry : services.catalog->List()) {
    if (entry.info.name == serving::kDeepAdapter) {
      highest = std::max(highest, entry.info.version);
    }
  }
  if (services.learning.changes != nullptr) {
    ASSIGN_OR_RETURN(const auto changes, services.learning.changes->List(limits::kMaxChanges));
    for (const storage::LearningChange& change : changes) {
      if (change.kind == storage::ChangeKind::kAdapterPublished) {
        highest = std::max(highest, change.version);
      }
    }
  }
  return highest + 1;
}

}  // namespace

std::string_view DeepOutcomeName(DeepOutcome outcome) {
  return kOutcomeNames.at(static_cast<size_t>(outcome));
}

absl::StatusOr<std::unique_ptr<DeepRound>> DeepRound::Begin(const DeepServices& services,
                                                            const DeepOptions& options,
                                                            Random& random) {
  std::unique_ptr<DeepRound> round(new DeepRound(services, options));
  SweepDeepMemories(services);
  ASSIGN_OR_RETURN(const bool resumed, round->Resume());
  if (!resumed) {
    RETURN_IF_ERROR(round->ChooseLessons(random));
    if (round->plan_.taught.size() + round->plan_.held_back.size() >= options.least_lessons) {
      RETURN_IF_ERROR(round->BeginTraining());
      RETURN_IF_ERROR(round->Save());
    }
  }
  return round;
}

absl::Status DeepRound::ChooseLessons(Random& random) {
  plan_ = DeepCheckpoint{.seed = random.Next()};
  ASSIGN_OR_RETURN(DeepLessons lessons,
                   ChooseDeepLessons(services_.learning, options_.min_rating, plan_.seed));
  plan_.taught = std::move(lessons.taught);
  plan_.held_back = std::move(lessons.held_back);
  ASSIGN_OR_RETURN(plan_.version, NextVersion(services_));
  plan_.base = serving::ServedDeepVersion(*services_.catalog);
  ASSIGN_OR_RETURN(const bool there, LoadLessons());
  if (!there) {
    return Error(absl::StatusCode::kAborted, reasons::kCancelled,
                 "a lesson of the deep round left the store while the round began; run it again");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> DeepRound::LoadLessons() {
  taught_.clear();
  selection_.clear();
  held_back_.clear();
  revocable_.clear();
  base_ = nullptr;
  memory_ = std::nullopt;
  RETURN_IF_ERROR(FindBeneath());
  if (plan_.base != 0) {
    const auto base = services_.catalog->Find(serving::kDeepAdapter, plan_.base);
    if (!base.ok()) {
      return false;  // undone or unloaded
    }
    base_ = base->adapter;
    if (UsesEwc(options_.guard) && services_.memories != nullptr) {
      memory_ = services_.memories->Find(plan_.base);
    }
    if (memory_ && memory_->adapter != inference::AdapterId(*base_)) {
      memory_ = std::nullopt;  // it belongs to another version that had this number
    }
  }
  ASSIGN_OR_RETURN(const bool taught,
                   ReadExamples(services_.learning, plan_.taught, options_.min_rating,
                                {.examples = &taught_, .revocable = &revocable_}));
  const std::span<const std::string> judges = plan_.held_back;
  const size_t selection = SelectionCount(judges.size());
  ASSIGN_OR_RETURN(const bool selected,
                   ReadExamples(services_.learning, judges.first(selection), options_.min_rating,
                                {.examples = &selection_, .revocable = &revocable_}));
  ASSIGN_OR_RETURN(const bool held_back,
                   ReadExamples(services_.learning, judges.subspan(selection), options_.min_rating,
                                {.examples = &held_back_, .revocable = &revocable_}));
  return taught && selected && held_back;
}

absl::Status DeepRound::FindBeneath() {
  ASSIGN_OR_RETURN(beneath_, serving::AdaptersBeside(serving::kDeepAdapter, services_.catalog));
  return absl::OkStatus();
}

// The words of a base version from which this version continues count on.
inference::LessonWords DeepRound::Words() const {
  inference::LessonWordCounter counter;
  for (const inference::TrainingExample& example : taught_) {
    std::vector<inference::TokenId> tokens = example.prompt;
    tokens.insert(tokens.end(), example.completion.begin(), example.completion.end());
    counter.Add(tokens);
  }
  inference::LessonWords words = counter.Finish();
  if (training_->continues() && base_->words &&
      base_->words->lessons <= limits::kMaxWordLessons - words.lessons) {
    AddWords(*base_->words, &words);
  }
  return words;
}

absl::Status DeepRound::BeginTraining() {
  const LearningServices& learning = services_.learning;
  GeneralPassages built_in;
  if (services_.general == nullptr) {
    built_in = BuiltInPassages(learning.transformer->model());
  }
  ASSIGN_OR_RETURN(
      training_,
      DeepTraining::Create({.transformer = learning.transformer,
                            .taught = taught_,
                            .selection = selection_,
                            .general = services_.general == nullptr ? &built_in : services_.general,
                            .beneath = serving::MixForAllT(beneath_),
                            .base = base_,
                            .remembered = memory_ ? &memory_->ewc : nullptr,
                            .seed = plan_.seed,
                            .name = serving::kDeepAdapter,
                            .version = plan_.version,
                            .cancelled = learning.cancelled},
                           options_));
  return absl::OkStatus();
}

absl::StatusOr<bool> DeepRound::Resume() {
  auto checkpoint = ReadDeepCheckpoint(*services_.state);
  if (!checkpoint.ok()) {
    LogWarning("the checkpoint of a deep round is not used: {}", MessageOf(checkpoint.status()));
    return false;
  }
  if (!checkpoint->has_value()) {
    return false;
  }
  plan_ = **std::move(checkpoint);
  const std::string run = std::exchange(plan_.run, "");
  ASSIGN_OR_RETURN(const uint32_t next, NextVersion(services_));
  // The process may have been killed between publishing and removing the checkpoint, or the base
  // version may have been taken back.
  const bool stands =
      plan_.version >= next && plan_.base == serving::ServedDeepVersion(*services_.catalog);
  ASSIGN_OR_RETURN(const bool there, stands ? LoadLessons() : false);
  if (there && !taught_.empty()) {
    RETURN_IF_ERROR(BeginTraining());
    if (training_->run().Restore(AsBytes(run)).ok()) {
      resumed_at_ = saved_at_ = step();
      LogInfo("a deep round resumes at step {} of {}", resumed_at_, steps());
      return true;
    }
  }
  training_ = nullptr;
  LogInfo(
      "an interrupted deep round starts afresh: its lessons, its options or the served adapters "
      "changed");
  return false;
}

absl::Status DeepRound::Save() {
  plan_.run = training_->run().Checkpoint();
  const absl::Status written = WriteDeepCheckpoint(*services_.state, plan_);
  plan_.run.clear();
  saved_at_ = step();
  return written;
}

absl::StatusOr<bool> DeepRound::Work(Duration budget) {
  if (training_ == nullptr) {
    return true;
  }
  inference::train::TrainingRun& run = training_->run();
  const Clock& clock = *services_.learning.clock;
  const TimePoint end = clock.Now() + budget;
  const auto every = static_cast<uint64_t>(options_.checkpoint_every);
  while (!run.done() && clock.Now() < end) {
    const TimePoint slice = clock.Now() + services_.learning.slice;
    absl::Status status =
        run.Advance([&] { return clock.Now() >= slice || run.step() >= saved_at_ + every; });
    if (absl::IsInternal(status)) {  // training diverged
      RETURN_IF_ERROR(RemoveDeepCheckpoint(*services_.state));
    }
    if (status.ok() && run.step() >= saved_at_ + every) {
      RETURN_IF_ERROR(Save());
    }
    if (status.ok() && !run.done()) {
      status = Yield();
    }
    // Without this, pauses that come more often than checkpoints would keep a round from ever
    // ending.
    if (absl::IsCancelled(status) && run.step() > saved_at_) {
      RETURN_IF_ERROR(Save());
    }
    RETURN_IF_ERROR(status);
  }
  return run.done();
}

absl::Status DeepRound::Yield() const {
  return YieldBetweenPieces(services_.learning,
                            training_ == nullptr ? 0 : training_->run().bytes());
}

absl::StatusOr<DeepResult> DeepRound::Finish() {
  DeepResult result{.lessons = static_cast<uint32_t>(taught_.size()),
                    .held_back = static_cast<uint32_t>(held_back_.size())};
  if (training_ != nullptr) {
    RUVD_CHECK(training_->run().done());
    ASSIGN_OR_RETURN(result, EvaluateCandidate());
  }
  result.least_lessons = static_cast<uint32_t>(options_.least_lessons);
  // The round has its result. A checkpoint that stays is not resumed once a version is published.
  if (const absl::Status removed = RemoveDeepCheckpoint(*services_.state); !removed.ok()) {
    LogWarning("the checkpoint of deep@{} stays: {}", plan_.version, MessageOf(removed));
  }
  return result;
}

absl::StatusOr<DeepResult> DeepRound::EvaluateCandidate() {
  DeepResult result{.outcome = DeepOutcome::kNoImprovement,
                    .version = plan_.version,
                    .lessons = static_cast<uint32_t>(taught_.size()),
                    .held_back = static_cast<uint32_t>(held_back_.size()),
                    .steps = step(),
                    .resumed_at = resumed_at_};
  auto trained = std::make_shared<inference::Talora>(*training_->Result());
  trained->words = Words();
  const serving::RangedPart adapter{.adapter = trained,
                                    .evidence = services_.catalog->EvidenceOf(*trained)};
  // Rounds of the cluster may have changed the global adapter while this one trained.
  RETURN_IF_ERROR(FindBeneath());
  ASSIGN_OR_RETURN(const HeldBackScores scores, ScoreHeldBack(adapter));
  const PairedGain gain = GainOf(scores.before, scores.after);
  result.held_out_before = MeanLoss(scores.before);
  result.held_out_after = MeanLoss(scores.after);
  result.standard_error = gain.standard_error;
  if (!(gain.mean > gain.standard_error)) {
    return result;
  }
  ASSIGN_OR_RETURN(const GeneralTextGate::Verdict verdict, CheckGeneralText(adapter));
  result.general_before = verdict.before;
  result.general_after = verdict.after;
  if (!verdict.pass) {
    result.outcome = DeepOutcome::kWorseGeneralText;
    return result;
  }
  RETURN_IF_ERROR(Publish(adapter.adapter, &result));
  return result;
}

absl::StatusOr<DeepRound::HeldBackScores> DeepRound::ScoreHeldBack(
    const serving::RangedPart& adapter) {
  std::vector<inference::ScoredDocument> documents;
  documents.reserve(held_back_.size());
  for (const inference::TrainingExample& example : held_back_) {
    documents.push_back({.prompt = example.prompt, .completion = example.completion});
  }
  absl::Status yielded;
  const inference::NelboOptions options{
      .draws = kDraws, .seed = plan_.seed ^ kHeldOutStream, .cancelled = [&] {
        yielded = Yield();
        return !yielded.ok();
      }};
  const auto score = [&](const serving::RangedPart& arm) -> absl::StatusOr<std::vector<double>> {
    std::vector<serving::RangedPart> parts = beneath_;
    if (arm.adapter != nullptr) {
      parts.push_back(arm);
    }
    auto table = inference::EvaluateNelbo(*services_.learning.transformer, documents,
                                          serving::MixesOf(std::move(parts)), options);
    RETURN_IF_ERROR(yielded);
    RETURN_IF_ERROR(table.status());
    return std::move(table->nats);
  };
  serving::RangedPart served{.adapter = base_};
  if (base_ != nullptr) {
    served.evidence = services_.catalog->EvidenceOf(*base_);
  }
  HeldBackScores scores;
  ASSIGN_OR_RETURN(scores.before, score(served));
  ASSIGN_OR_RETURN(scores.after, score(adapter));
  return scores;
}

absl::StatusOr<GeneralTextGate::Verdict> DeepRound::CheckGeneralText(
    const serving::RangedPart& adapter) {
  absl::Status yielded;
  const auto stop = [&] {
    yielded = Yield();
    return !yielded.ok();
  };
  auto verdict = services_.gate->Check(*services_.learning.transformer, adapter, stop, beneath_);
  RETURN_IF_ERROR(yielded);
  return verdict;
}

// What was learned from a person's words must not outlive them. Completions without a user are not
// checked: they only leave when newer ones displace them.
absl::StatusOr<bool> DeepRound::AnyLessonErased() const {
  for (const std::string& name : revocable_) {
    ASSIGN_OR_RETURN(const bool gone, IsGone(services_.learning, name));
    if (gone) {
      return true;
    }
  }
  return false;
}

// The lessons that decided when to stop count, too: the version would be another one without them.
absl::StatusOr<std::vector<std::string>> DeepRound::LessonsInside() const {
  const std::span<const std::string> judges = plan_.held_back;
  std::set<std::string> inside(plan_.taught.begin(), plan_.taught.end());
  const auto selection = judges.first(SelectionCount(judges.size()));
  inside.insert(selection.begin(), selection.end());
  if (training_->continues()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> before,
                     services_.catalog->LessonsOf(serving::kDeepAdapter, plan_.base));
    if (before.empty()) {
      return std::vector<std::string>();  // not known, so not known of this version either
    }
    inside.insert(before.begin(), before.end());
  }
  return std::vector<std::string>(inside.begin(), inside.end());
}

absl::Status DeepRound::Publish(const std::shared_ptr<const inference::Talora>& adapter,
                                DeepResult* result) {
  ASSIGN_OR_RETURN(const bool erased, AnyLessonErased());
  if (erased || serving::ServedDeepVersion(*services_.catalog) != plan_.base) {
    result->outcome = erased ? DeepOutcome::kErased : DeepOutcome::kBaseChanged;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> sources, LessonsInside());
  storage::LearningChange change{.loop = storage::LearningLoop::kDeep,
                                 .kind = storage::ChangeKind::kAdapterPublished,
                                 .responses = plan_.taught,
                                 .adapter_name = serving::kDeepAdapter,
                                 .version_before = plan_.base,
                                 .version = plan_.version,
                                 .lessons = result->lessons};
  ASSIGN_OR_RETURN(change, ListChange(services_.learning, std::move(change), {}));
  const auto published = services_.catalog->Publish(adapter, 1.0F, sources);
  if (!published.ok()) {
    UnlistChange(services_.learning, change);
    return published.status();
  }
  Remember(*adapter);
  result->outcome = DeepOutcome::kPublished;
  result->change = std::move(change);
  return absl::OkStatus();
}

// Keeps the memory for the round that continues from this version. If this version is taken back,
// the one before has its own. Without a memory, the next round only lacks the penalty.
void DeepRound::Remember(const inference::Talora& adapter) const {
  if (services_.memories == nullptr) {
    return;
  }
  absl::StatusOr<std::optional<inference::train::EwcMemory>> ewc = training_->Memory();
  absl::Status kept = ewc.status();
  if (ewc.ok() && ewc->has_value()) {
    DeepMemory memory{.version = plan_.version,
                      .adapter = inference::AdapterId(adapter),
                      .responses = {},
                      .ewc = **std::move(ewc)};
    // The running Fisher started from the memory of the round before, so that round's responses are
    // in it.
    std::set<std::string> names(revocable_.begin(), revocable_.end());
    if (memory_) {
      names.insert(memory_->responses.begin(), memory_->responses.end());
    }
    memory.responses.assign(names.begin(), names.end());
    // A memory must name all lessons that a person may take back.
    kept = memory.responses.size() > limits::kMaxMemoryResponses
               ? Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                       "its {} lessons are more than {}", memory.responses.size(),
                       limits::kMaxMemoryResponses)
               : services_.memories->Store(memory);
  }
  if (!kept.ok()) {
    LogWarning("the round after deep@{} runs without the EWC++ penalty: {}", plan_.version,
               MessageOf(kept));
  }
  services_.memories->Sweep(
      [this](uint32_t version) { return version == plan_.base || version == plan_.version; },
      services_.learning);
}

void SweepDeepMemories(const DeepServices& services) {
  if (services.memories == nullptr) {
    return;
  }
  std::set<uint32_t> known;
  for (const serving::CatalogEntry& entry : services.catalog->List()) {
    if (entry.info.name == serving::kDeepAdapter) {
      known.insert(entry.info.version);
    }
  }
  services.memories->Sweep([&known](uint32_t version) { return known.contains(version); },
                           services.learning);
}

}  // namespace ruvd::learning
