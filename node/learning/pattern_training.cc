// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/pattern_training.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/core_grid.h"
#include "inference/adapter/limits.h"
#include "inference/train/network.h"
#include "node/learning/lesson_loss.h"
#include "node/serving/served_adapters.h"
#include "storage/consent/consent_book.h"

namespace ruvd::learning {
namespace {

// Keeps the masks of the measurement apart from those of the training of the same seed.
constexpr uint64_t kServedStream = 0x6173207365727665ULL;

// The lessons of one training.
struct Texts {
  std::vector<inference::TrainingExample> taught;
  std::vector<inference::TrainingExample> held_back;
  // Returns those that the result is measured on.
  const std::vector<inference::TrainingExample>& measured() const {
    return held_back.empty() ? taught : held_back;
  }
};

// Returns every linear matrix of the last `layers` layers, or of all layers if the model has fewer.
std::vector<inference::train::Site> SitesOf(const inference::Model& model, int layers) {
  const int first = std::max(0, model.config().layers - layers);
  return inference::train::SitesFrom(model.config(), static_cast<size_t>(first), false);
}

double NormOf(const inference::CoreSet& cores) {
  double squares = 0;
  for (const auto& [target, core] : cores.cores) {
    for (const float value : core.values) {
      squares += double{value} * value;
    }
  }
  return std::sqrt(squares);
}

// Brings cores into the form in which they are stored and exchanged: eight bits, with a norm that
// peers accept. Rounding changes the losses far less than they are known. Returns whether the cores
// were halved, which keeps what was learned but changes the losses; a training that runs on one
// lesson for long can exceed the norm.
bool FitToGrid(inference::CoreSet* cores) {
  const auto round = [cores](float factor) {
    for (auto& [target, core] : cores->cores) {
      for (float& value : core.values) {
        value *= factor;
      }
      core.values = FromGrid(inference::ToGrid(core.values));
    }
  };
  round(1);
  const bool halved = NormOf(*cores) > limits::kMaxCoreNorm;
  while (NormOf(*cores) > limits::kMaxCoreNorm) {
    round(0.5F);
  }
  return halved;
}

// Measures a result on top of what this node serves.
absl::Status MeasureAsServed(const LearningServices& services, const Texts& texts,
                             const inference::AdapterMix& served, uint64_t seed,
                             inference::TrainingResult* result) {
  const auto loss = [&](std::shared_ptr<const inference::Adapter> adapter) {
    return LossOfLessons(services, served, texts.measured(), std::move(adapter),
                         seed ^ kServedStream);
  };
  ASSIGN_OR_RETURN(result->held_out_before, loss(nullptr));
  ASSIGN_OR_RETURN(result->held_out_after, loss(result->adapter));
  return absl::OkStatus();
}

inference::TrainingOptions TrainingOptionsOf(const LearningServices& services,
                                             const PatternTrainingOptions& options, int rank,
                                             uint64_t seed) {
  inference::TrainingOptions training;
  training.rank = rank;
  if (options.steps > 0) {
    training.steps = options.steps;
  }
  training.seed = seed;
  training.cancelled = services.cancelled;
  training.drive = [&services](inference::train::TrainingRun& run) {
    return AdvanceInSlices(services, run);
  };
  return training;
}

const inference::AdapterMix* BaseOf(const inference::AdapterMix& beneath) {
  return beneath.empty() ? nullptr : &beneath;
}

absl::StatusOr<inference::TrainingResult> TrainToStay(const LearningServices& services,
                                                      const PatternTrainingOptions& options,
                                                      const Texts& texts,
                                                      const inference::AdapterMix& served,
                                                      uint64_t seed) {
  return TrainLora(*services.transformer, SitesOf(services.transformer->model(), options.layers),
                   texts.taught, texts.held_back, BaseOf(served),
                   TrainingOptionsOf(services, options, options.lora_rank, seed));
}

// Trains cores on top of `everywhere`; the losses of the result are those on top of `served`.
absl::StatusOr<inference::TrainingResult> TrainToShare(
    const LearningServices& services, const PatternTrainingOptions& options, const Texts& texts,
    const inference::AdapterMix& everywhere, const inference::AdapterMix& served, uint64_t seed) {
  const inference::TrainingOptions training =
      TrainingOptionsOf(services, options, options.core_rank, seed);
  ASSIGN_OR_RETURN(inference::TrainingResult result,
                   TrainCores(*services.transformer, *services.frame,
                              SitesOf(services.transformer->model(), options.layers), texts.taught,
                              texts.held_back, BaseOf(everywhere), training));
  const bool halved = FitToGrid(&*result.cores);
  ASSIGN_OR_RETURN(result.adapter, AdapterFromCores(*services.frame, *result.cores, training.name,
                                                    training.version, 1.0F));
  if (halved || !SameMix(everywhere, served)) {
    RETURN_IF_ERROR(MeasureAsServed(services, texts, served, seed, &result));
  }
  return result;
}

// Returns the contributors of the lessons, each once; nullopt if one of them did not agree to
// sharing.
std::optional<std::vector<privacy::Contributor>> AgreedContributors(
    const LearningServices& services, const LessonSplit& lessons) {
  std::set<privacy::Contributor> agreed;
  if (services.consents != nullptr) {
    const int64_t now_ms = services.clock->WallMillis();
    for (const auto* part : {&lessons.taught, &lessons.held_back}) {
      for (const Lesson* lesson : *part) {
        privacy::Contributor contributor = services.consents->ContributorOf(lesson->trajectory);
        if (!services.consents->MayPrepare(contributor, now_ms)) {
          return std::nullopt;
        }
        agreed.insert(std::move(contributor));
      }
    }
  }
  return std::vector<privacy::Contributor>(agreed.begin(), agreed.end());
}

}  // namespace

bool Improves(const inference::TrainingResult& result, const PatternTrainingOptions& options) {
  return result.held_out_before - result.held_out_after > options.min_improvement;
}

absl::StatusOr<PatternTraining> TrainPattern(const LearningServices& services,
                                             const PatternTrainingOptions& options,
                                             const LessonSplit& lessons, uint64_t seed) {
  const inference::Model& model = services.transformer->model();
  const Texts texts{.taught = MakeExamples(model, lessons.taught),
                    .held_back = MakeExamples(model, lessons.held_back)};
  ASSIGN_OR_RETURN(const serving::ServedAdapters served,
                   serving::AdaptersBeneathPatterns(services.catalog));
  PatternTraining training{.deep_version = served.deep_version};
  if (SharesPatterns(services)) {
    if (auto agreed = AgreedContributors(services, lessons)) {
      ASSIGN_OR_RETURN(const inference::AdapterMix everywhere,
                       serving::AdaptersOfAllNodes(services.catalog));
      ASSIGN_OR_RETURN(training.result,
                       TrainToShare(services, options, texts, everywhere, served.mix, seed));
      if (Improves(training.result, options)) {
        training.shareable = true;
        training.contributors = *std::move(agreed);
        return training;
      }
    }
    training.stays_here = true;
  }
  ASSIGN_OR_RETURN(training.result, TrainToStay(services, options, texts, served.mix, seed));
  return training;
}

}  // namespace ruvd::learning
