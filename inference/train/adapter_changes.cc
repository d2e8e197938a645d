// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/adapter_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/limits.h"
#include "inference/numerics/orthonormal.h"

namespace ruvd::inference::train {
namespace {

LowRank LowRankOf(const ChangeSet<float>& changes, const ChangeSet<float>::Entry& entry) {
  const ChangeSpec<float>& spec = entry.change.spec();
  const std::span<const float> parameters = changes.ParametersOf(entry);
  LowRank target{.rank = static_cast<int>(spec.rank),
                 .in = static_cast<int>(spec.in),
                 .out = static_cast<int>(spec.out),
                 .a = {spec.down.begin(), spec.down.end()},
                 .b = {},
                 .scale = spec.scale};
  if (spec.kind == ChangeKind::kLora) {
    target.a.assign(parameters.begin(),
                    parameters.begin() + static_cast<ptrdiff_t>(spec.rank * spec.in));
  }
  if (spec.kind != ChangeKind::kCore) {
    const auto b = parameters.last(spec.out * spec.rank);
    target.b.assign(b.begin(), b.end());
    return target;
  }
  target.b.resize(spec.out * spec.rank);  // P R
  for (size_t o = 0; o < spec.out; ++o) {
    for (size_t j = 0; j < spec.rank; ++j) {
      double sum = 0;
      for (size_t k = 0; k < spec.rank; ++k) {
        sum += static_cast<double>(spec.up[o * spec.rank + k]) *
               static_cast<double>(parameters[k * spec.rank + j]);
      }
      target.b[o * spec.rank + j] = static_cast<float>(sum);
    }
  }
  return target;
}

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

// Checks whether such a change may be added at the site.
absl::Status CheckPlace(const NetworkShape& shape, const Site& site, int rank, int largest,
                        const ChangeSet<float>& changes, const ChangePlacement& placement) {
  if (!shape.Has(site) || changes.Has(site, placement.bank)) {
    return Invalid(
        "{} of layer {} cannot be changed: the model does not have it, or it already has a change",
        LinearName(site.linear), site.layer);
  }
  if (rank < 1 || rank > largest) {
    return Invalid("the rank for {} must be 1 to {}, not {}", TensorOf(site), largest, rank);
  }
  if ((placement.bank && *placement.bank >= changes.schedule().banks()) || !(placement.rate > 0) ||
      !(placement.decay >= 0) || !(placement.decay < 1)) {
    return Invalid(
        "a change belongs to one of {} banks, its rate is above 0 and its decay at least 0 and "
        "below 1",
        changes.schedule().banks());
  }
  return absl::OkStatus();
}

// Copies an adapter's factors into the LoRAs of one bank, or into those for all t.
absl::Status CopyPart(const Adapter& adapter, std::optional<size_t> bank,
                      const ChangeSet<float>& changes, std::vector<float>* parameters) {
  size_t used = 0;
  for (const auto& entry : changes.entries()) {
    if (entry.placement.bank != bank) {
      continue;
    }
    const ChangeSpec<float>& spec = entry.change.spec();
    const auto found = adapter.targets.find(TensorOf(entry.site));
    if (found == adapter.targets.end() || spec.kind != ChangeKind::kLora ||
        found->second.a.size() != spec.rank * spec.in ||
        found->second.b.size() != spec.out * spec.rank) {
      return Invalid(
          "training cannot go on from adapter {}: its change of {} has another kind "
          "or rank, or is missing; start a new training",
          AdapterLabel(adapter), TensorOf(entry.site));
    }
    const LowRank& change = found->second;
    auto to = parameters->begin() + static_cast<ptrdiff_t>(entry.offset);
    to = std::ranges::copy(change.a, to).out;
    std::ranges::transform(change.b, to, [&](float b) { return b * change.scale / spec.scale; });
    ++used;
  }
  return used == adapter.targets.size()
             ? absl::OkStatus()
             : Invalid("training cannot go on from adapter {}: it has changes that are not trained",
                       AdapterLabel(adapter));
}

bool SameBanks(const BankSchedule& a, const BankSchedule& b) {
  return a.boundaries == b.boundaries && a.strategy == b.strategy;
}

// Returns the adapter of the changes of one bank, or of those for all t.
std::shared_ptr<Adapter> PartOf(const Model& model, const ChangeSet<float>& changes,
                                const AdapterLabels& labels, std::optional<size_t> bank) {
  auto adapter = std::make_shared<Adapter>();
  adapter->name = labels.name;
  adapter->version = labels.version;
  adapter->kind = labels.kind;
  adapter->frame_id = labels.frame_id;
  adapter->model_hash = model.hash();
  for (const auto& entry : changes.entries()) {
    if (entry.placement.bank == bank) {
      adapter->targets[TensorOf(entry.site)] = LowRankOf(changes, entry);
    }
  }
  return adapter;
}

}  // namespace

absl::Status AddLoras(const Model& model, std::span<const Site> sites, int rank, bool fixed_a,
                      uint64_t seed, ChangeSet<float>* changes, const ChangePlacement& placement) {
  const NetworkShape shape = NetworkShape::Of(model.config());
  Random seeds(seed);
  for (const Site& site : sites) {
    const auto in = static_cast<int>(shape.In(site.linear));
    const auto out = static_cast<int>(shape.Out(site.linear));
    const int largest = std::min({in, out, limits::kMaxAdapterRank});
    RETURN_IF_ERROR(CheckPlace(shape, site, rank, largest, *changes, placement));
    Random random = seeds.Fork();
    const std::vector<double> rows = OrthonormalRows(rank, in, random);
    const std::vector<float> a(rows.begin(), rows.end());
    if (fixed_a) {
      changes->AddFfa(site, static_cast<size_t>(rank), 1.0F, a, placement);
    } else {
      changes->AddLora(site, static_cast<size_t>(rank), 1.0F, a, placement);
    }
  }
  return absl::OkStatus();
}

absl::Status AddCores(const Model& model, const FrameSet& frame, std::span<const Site> sites,
                      int rank, ChangeSet<float>* changes, const ChangePlacement& placement) {
  RETURN_IF_ERROR(CheckFrameSet(frame, model));
  const NetworkShape shape = NetworkShape::Of(model.config());
  for (const Site& site : sites) {
    const auto found = frame.modules.find(TensorOf(site));
    if (found == frame.modules.end()) {
      return Invalid("the frame has no {}; make a frame with it, or leave this target out",
                     TensorOf(site));
    }
    const ModuleFrame& module = found->second;
    RETURN_IF_ERROR(CheckPlace(shape, site, rank, limits::kMaxAdapterRank, *changes, placement));
    const auto own = static_cast<size_t>(std::min(rank, module.rank));
    const size_t in = shape.In(site.linear);
    const size_t out = shape.Out(site.linear);
    std::vector<float> p(out * own);  // the frame stores its columns as rows
    for (size_t o = 0; o < out; ++o) {
      for (size_t j = 0; j < own; ++j) {
        p[o * own + j] = module.p[j * out + o];
      }
    }
    changes->AddCore(site, own, 1.0F, p, std::span(module.q).first(own * in), placement);
  }
  return absl::OkStatus();
}

absl::Status AddTalora(const Model& model, std::span<const Site> sites, const TaloraPlan& plan,
                       const FrameSet* frame, uint64_t seed, ChangeSet<float>* changes) {
  const std::vector<int>& residuals = plan.residual_ranks;
  const size_t banks = changes->schedule().banks();
  if ((!residuals.empty() && residuals.size() != banks) ||
      (plan.trunk_rank == 0 && std::ranges::all_of(residuals, [](int r) { return r == 0; }))) {
    return Invalid("a TALoRA has a trunk, residuals for {} banks, or both, not {} residuals", banks,
                   residuals.size());
  }
  Random seeds(seed);
  const auto add = [&](int rank, const ChangePlacement& placement) {
    const uint64_t own = seeds.Next();
    return rank == 0          ? absl::OkStatus()
           : frame == nullptr ? AddLoras(model, sites, rank, false, own, changes, placement)
                              : AddCores(model, *frame, sites, rank, changes, placement);
  };
  RETURN_IF_ERROR(add(plan.trunk_rank, {}));
  for (size_t bank = 0; bank < residuals.size(); ++bank) {
    RETURN_IF_ERROR(
        add(residuals[bank], {.bank = bank,
                              .rate = static_cast<double>(plan.training.residual_rate),
                              .decay = static_cast<double>(plan.training.residual_decay)}));
  }
  return absl::OkStatus();
}

std::shared_ptr<const Adapter> AdapterOf(const Model& model, const ChangeSet<float>& changes,
                                         const AdapterLabels& labels) {
  RUVD_CHECK(!changes.banked());
  return PartOf(model, changes, labels, std::nullopt);
}

std::shared_ptr<const Adapter> AdapterOf(const Model& model, const ChangeSet<float>& changes,
                                         std::string name, uint32_t version) {
  return AdapterOf(model, changes, {.name = std::move(name), .version = version});
}

std::shared_ptr<const Talora> TaloraOf(const Model& model, const ChangeSet<float>& changes,
                                       const AdapterLabels& labels,
                                       const TaloraTraining& training) {
  auto talora = std::make_shared<Talora>();
  talora->name = labels.name;
  talora->version = labels.version;
  talora->model_hash = model.hash();
  talora->schedule = changes.schedule();
  talora->training = training;
  if (const auto trunk = PartOf(model, changes, labels, std::nullopt); !trunk->targets.empty()) {
    talora->trunk = trunk;
  }
  for (size_t bank = 0; changes.banked() && bank < changes.schedule().banks(); ++bank) {
    const std::shared_ptr<Adapter> part = PartOf(model, changes, labels, bank);
    if (part->targets.empty()) {
      const auto& entry = changes.entries().front();
      LowRank zero = LowRankOf(changes, entry);
      std::ranges::fill(zero.b, 0.0F);
      part->targets[TensorOf(entry.site)] = std::move(zero);
    }
    talora->residuals.push_back(part);
  }
  RUVD_CHECK(CheckTalora(*talora).ok());
  return talora;
}

absl::Status InitialiseFrom(const Adapter& adapter, ChangeSet<float>* changes) {
  std::vector<float> parameters = changes->parameters();
  RETURN_IF_ERROR(CopyPart(adapter, std::nullopt, *changes, &parameters));
  changes->parameters() = std::move(parameters);
  return absl::OkStatus();
}

absl::Status InitialiseFrom(const Talora& adapter, ChangeSet<float>* changes) {
  const bool banks = !adapter.residuals.empty();
  if (adapter.trunk == nullptr || (banks && !SameBanks(adapter.schedule, changes->schedule()))) {
    return Invalid("training cannot go on from adapter {}: it has no trunk, or it has other banks",
                   AdapterLabel(adapter));
  }
  std::vector<float> parameters = changes->parameters();
  RETURN_IF_ERROR(CopyPart(*adapter.trunk, std::nullopt, *changes, &parameters));
  for (size_t bank = 0; bank < adapter.residuals.size(); ++bank) {
    RETURN_IF_ERROR(CopyPart(*adapter.residuals[bank], bank, *changes, &parameters));
  }
  changes->parameters() = std::move(parameters);
  return absl::OkStatus();
}

}  // namespace ruvd::inference::train
