// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/pattern_training.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/core_grid.h"
#include "inference/adapter/limits.h"
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
  return TrainLora(*services.transformer,
                   PatternSites(services.transformer->model().config(), options.layers),
                   texts.taught, texts.held_back, BaseOf(served),
                   TrainingOptionsOf(services, options, options.lora_rank, seed));
}

// Trains cores on top of `everywhere`; the losses of the result are those on top of `served`.
// Rounding the cores to eight bits changes the losses far less than they are known; halving them,
// which keeps what was learned, is measured. A training that runs on one lesson for long can exceed
// the norm that peers accept.
absl::StatusOr<inference::TrainingResult> TrainToShare(
    const LearningServices& services, const PatternTrainingOptions& options, const Texts& texts,
    const std::vector<inference::train::Site>& sites, const inference::AdapterMix& everywhere,
    const inference::AdapterMix& served, uint64_t seed) {
  const inference::TrainingOptions training =
      TrainingOptionsOf(services, options, options.core_rank, seed);
  ASSIGN_OR_RETURN(inference::TrainingResult result,
                   TrainCores(*services.transformer, *services.frame, sites, texts.taught,
                              texts.held_back, BaseOf(everywhere), training));
  const bool halved = RoundToGrid(&*result.cores, limits::kMaxCoreNorm);
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

std::vector<inference::train::Site> PatternSites(const inference::ModelConfig& config, int layers) {
  const int first = std::max(0, config.layers - layers);
  return inference::train::SitesFrom(config, static_cast<size_t>(first), false);
}

std::vector<inference::train::Site> PatternSitesIn(const inference::FrameSet& frame,
                                                   const inference::ModelConfig& config,
                                                   int layers) {
  std::vector<inference::train::Site> sites = PatternSites(config, layers);
  std::erase_if(sites, [&](const inference::train::Site& site) {
    return !frame.modules.contains(TensorOf(site));
  });
  return sites;
}

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
    const std::vector<inference::train::Site> sites =
        PatternSitesIn(*services.frame, model.config(), options.layers);
    auto agreed = AgreedContributors(services, lessons);
    if (agreed && !sites.empty()) {
      ASSIGN_OR_RETURN(const inference::AdapterMix everywhere,
                       serving::AdaptersOfAllNodes(services.catalog));
      ASSIGN_OR_RETURN(training.result,
                       TrainToShare(services, options, texts, sites, everywhere, served.mix, seed));
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
