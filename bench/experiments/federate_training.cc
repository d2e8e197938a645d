// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/adapter_changes.h"

namespace ruvd::bench {
namespace {

using inference::train::ChangeSet;
using inference::train::Site;
using inference::train::TrainingSequence;

inference::BankSchedule ScheduleOf(const AdapterShape& shape) {
  return {.boundaries = shape.boundaries};
}

}  // namespace

size_t BinOfShare(double t) {
  return static_cast<size_t>(std::clamp(std::ceil(t * federation::kScheduleBins - 1e-9) - 1.0, 0.0,
                                        static_cast<double>(federation::kScheduleBins - 1)));
}

TrainableAdapter::TrainableAdapter(const ArmParts& parts, const AdapterShape& shape)
    : parts_(parts), shape_(shape), changes_(parts.weights->shape(), ScheduleOf(shape)) {}

absl::StatusOr<std::unique_ptr<TrainableAdapter>> TrainableAdapter::Create(
    const ArmParts& parts, const AdapterShape& shape, uint64_t seed) {
  std::unique_ptr<TrainableAdapter> adapter(new TrainableAdapter(parts, shape));
  const std::vector<Site> sites = inference::train::SitesFrom(parts.model->config(), 0, false);
  const size_t banks = shape.boundaries.size() + 1;
  std::map<std::string, std::vector<size_t>> entries;  // by target, one for each bank
  for (size_t bank = 0; bank < banks; ++bank) {
    RETURN_IF_ERROR(inference::train::AddCores(*parts.model, *parts.frame, sites, shape.rank,
                                               &adapter->changes_, {.bank = bank}));
    for (size_t i = 0; i < sites.size(); ++i) {
      entries[inference::train::TensorOf(sites[i])].push_back(bank * sites.size() + i);
    }
  }
  if (shape.overlay_rank > 0) {
    RETURN_IF_ERROR(inference::train::AddLoras(*parts.model, sites, shape.overlay_rank, false, seed,
                                               &adapter->changes_));
  }
  adapter->by_bank_.resize(banks);
  for (const auto& [target, places] : entries) {
    const auto rank =
        static_cast<uint32_t>(adapter->changes_.entries()[places[0]].change.spec().rank);
    adapter->modules_.push_back({.target = target, .rows = rank, .columns = rank});
    for (size_t bank = 0; bank < banks; ++bank) {
      adapter->by_bank_[bank].push_back(places[bank]);
    }
  }
  return adapter;
}

size_t TrainableAdapter::values_per_bank() const {
  size_t values = 0;
  for (const federation::ModuleShape& module : modules_) {
    values += module.values();
  }
  return values;
}

size_t TrainableAdapter::core_parameters() const {
  return banks() * values_per_bank();
}

federation::BankedValues TrainableAdapter::Cores() const {
  federation::BankedValues values;
  for (const std::vector<size_t>& entries : by_bank_) {
    std::vector<float>& bank = values.emplace_back();
    for (const size_t entry : entries) {
      const auto own = changes_.ParametersOf(changes_.entries()[entry]);
      bank.insert(bank.end(), own.begin(), own.end());
    }
  }
  return values;
}

void TrainableAdapter::SetCores(const federation::BankedValues& values) {
  for (size_t bank = 0; bank < by_bank_.size(); ++bank) {
    auto from = values[bank].begin();
    for (const size_t entry : by_bank_[bank]) {
      const auto& core = changes_.entries()[entry];
      const auto count = static_cast<std::ptrdiff_t>(core.change.parameters());
      std::copy(from, from + count,
                changes_.parameters().begin() + static_cast<std::ptrdiff_t>(core.offset));
      from += count;
    }
  }
}

std::shared_ptr<const inference::Talora> TrainableAdapter::CoresAdapter() const {
  ChangeSet<float> cores(parts_.weights->shape(), ScheduleOf(shape_));
  const std::vector<Site> sites = inference::train::SitesFrom(parts_.model->config(), 0, false);
  for (size_t bank = 0; bank < banks(); ++bank) {
    RUVD_CHECK(inference::train::AddCores(*parts_.model, *parts_.frame, sites, shape_.rank, &cores,
                                          {.bank = bank})
                   .ok());
  }
  std::copy_n(changes_.parameters().begin(), cores.parameters().size(), cores.parameters().begin());
  return inference::train::TaloraOf(
      *parts_.model, cores,
      {.name = "federated", .kind = inference::AdapterKind::kCore, .frame_id = parts_.frame->id},
      {.residual_rate = 1.0F});
}

std::shared_ptr<const inference::Talora> TrainableAdapter::OverlayAdapter() const {
  ChangeSet<float> lora(parts_.weights->shape());
  RUVD_CHECK(inference::train::AddLoras(
                 *parts_.model, inference::train::SitesFrom(parts_.model->config(), 0, false),
                 shape_.overlay_rank, false, 0, &lora)
                 .ok());
  std::copy(changes_.parameters().begin() + static_cast<std::ptrdiff_t>(core_parameters()),
            changes_.parameters().end(), lora.parameters().begin());
  return inference::train::TaloraOf(*parts_.model, lora, {.name = "overlay"}, {});
}

federation::BankedValues Minus(const federation::BankedValues& a,
                               const federation::BankedValues& b) {
  federation::BankedValues difference = a;
  for (size_t bank = 0; bank < a.size(); ++bank) {
    for (size_t i = 0; i < a[bank].size(); ++i) {
      difference[bank][i] -= b[bank][i];
    }
  }
  return difference;
}

std::vector<float> Flattened(const federation::BankedValues& values) {
  std::vector<float> flat;
  for (const std::vector<float>& bank : values) {
    flat.insert(flat.end(), bank.begin(), bank.end());
  }
  return flat;
}

federation::BankedValues InBanks(std::span<const float> values, size_t banks) {
  federation::BankedValues banked;
  const size_t each = values.size() / banks;
  for (size_t bank = 0; bank < banks; ++bank) {
    const auto own = values.subspan(bank * each, each);
    banked.emplace_back(own.begin(), own.end());
  }
  return banked;
}

LocalTraining::LocalTraining(inference::train::NetworkPass<float>& pass,
                             const inference::train::Objective& objective, size_t parameters,
                             const LocalPlan& plan)
    : pass_(pass),
      objective_(objective),
      parameters_(parameters),
      plan_(plan),
      optimizer_(parameters, {}) {}

absl::Status LocalTraining::Run(uint64_t from, uint64_t to, ChangeSet<float>* changes) {
  constexpr double kMaxGradient = 1.0;
  std::vector<float> gradient(parameters_);
  for (uint64_t step = from; step < to; ++step) {
    const std::vector<TrainingSequence> batch = objective_.Draw(step);
    std::ranges::fill(gradient, 0.0F);
    const std::vector<float*> places(batch.size(), gradient.data());
    pass_.Run(batch, {.changes = changes, .gradients = places});
    std::fill_n(gradient.begin(), plan_.frozen, 0.0F);
    if (!std::isfinite(inference::train::ClipNorm(gradient, kMaxGradient))) {
      return Error(absl::StatusCode::kInternal, reasons::kInternal,
                   "the gradient of step {} is not finite; lower --learning-rate", step);
    }
    const double rate = plan_.learning_rate * inference::train::LearningRateShare(
                                                  {}, step, std::max(plan_.total_steps, step + 1));
    optimizer_.Step(gradient, rate, changes->parameters());
    for (const TrainingSequence& sequence : batch) {
      ++maskings_[BinOfShare(sequence.t)];
    }
  }
  return absl::OkStatus();
}

void LocalTraining::ForgetState() {
  optimizer_ = inference::train::Optimizer(parameters_, {});
}

absl::StatusOr<std::unique_ptr<inference::train::Objective>> ObjectiveOf(
    const inference::Model& model, const DomainText& text, int batch, uint64_t seed) {
  return inference::train::MakeObjective(model, text.train, {.batch = batch, .seed = seed});
}

absl::StatusOr<std::unique_ptr<inference::train::Objective>> PooledObjective(
    const inference::Model& model, std::span<const DomainText> texts, int batch, uint64_t seed) {
  std::vector<inference::train::ObjectivePart> parts;
  for (size_t node = 0; node < texts.size(); ++node) {
    inference::train::ObjectivePart& part = parts.emplace_back();
    ASSIGN_OR_RETURN(part.objective,
                     ObjectiveOf(model, texts[node], batch, SeedOfNode(seed, node)));
    part.weight = 1.0 / static_cast<double>(texts.size());
  }
  return inference::train::MixObjectives(std::move(parts));
}

uint64_t SeedOfNode(uint64_t seed, size_t node) {
  return seed * 64 + node;
}

double CoreRate(int rank) {
  return rank <= 14 ? 3e-3 : rank <= 28 ? 2e-3 : 1.5e-3;
}

}  // namespace ruvd::bench
