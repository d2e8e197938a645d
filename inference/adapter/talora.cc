// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/talora.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/merge.h"
#include "inference/model/limits.h"

namespace ruvd::inference {
namespace {

template <typename... Args>
absl::Status Broken(const Talora& talora, fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
               "adapter {} is not usable: {}; train or export it again", AdapterLabel(talora),
               fmt::format(what, std::forward<Args>(args)...));
}

// Returns the trunk and the residuals.
std::vector<const Adapter*> PartsOf(const Talora& talora) {
  std::vector<const Adapter*> parts;
  if (talora.trunk != nullptr) {
    parts.push_back(talora.trunk.get());
  }
  for (const auto& residual : talora.residuals) {
    parts.push_back(residual.get());
  }
  return parts;
}

absl::Status CheckRouter(const Talora& talora) {
  const bool wanted = talora.schedule.strategy == BankStrategy::kAttention;
  if (wanted != talora.router.has_value()) {
    return Broken(talora, "strategy {} {} a router", BankStrategyName(talora.schedule.strategy),
                  wanted ? "needs" : "does not use");
  }
  if (wanted && talora.router->banks() != talora.schedule.banks()) {
    return Broken(talora, "its router has {} banks, not {}", talora.router->banks(),
                  talora.schedule.banks());
  }
  return absl::OkStatus();
}

int RankOn(const Adapter& adapter, const std::string& target) {
  const auto found = adapter.targets.find(target);
  return found == adapter.targets.end() ? 0 : found->second.rank;
}

// Returns the largest total rank on a target of residuals that may be active at the same t.
int WorstRank(const Talora& talora, const std::string& target) {
  std::vector<int> ranks;
  for (const auto& residual : talora.residuals) {
    ranks.push_back(RankOn(*residual, target));
  }
  // The number of neighbouring banks that may be active at once.
  size_t together = ranks.size();
  if (talora.schedule.strategy == BankStrategy::kDiscrete) {
    together = 1;
  } else if (talora.schedule.strategy == BankStrategy::kLinear) {
    together = 2;
  }
  int worst = 0;
  for (size_t begin = 0; begin < ranks.size(); ++begin) {
    const auto acting = std::span(ranks).subspan(begin, std::min(together, ranks.size() - begin));
    worst = std::max(worst, std::accumulate(acting.begin(), acting.end(), 0));
  }
  return worst;
}

// A mix with a higher rank would be refused in every request.
absl::Status CheckStackedRanks(const Talora& talora) {
  for (const Adapter* part : PartsOf(talora)) {
    for (const auto& [target, change] : part->targets) {
      const int trunk = talora.trunk != nullptr ? RankOn(*talora.trunk, target) : 0;
      if (const int rank = trunk + WorstRank(talora, target); rank > limits::kMaxStackedRank) {
        return Broken(talora, "its trunk and banks change {} with a total rank of {}, above {}",
                      SanitizeForDisplay(target), rank, limits::kMaxStackedRank);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::shared_ptr<const Talora> StaticTalora(std::shared_ptr<const Adapter> adapter) {
  auto talora = std::make_shared<Talora>();
  talora->name = adapter->name;
  talora->version = adapter->version;
  talora->model_hash = adapter->model_hash;
  talora->trunk = std::move(adapter);
  return talora;
}

absl::Status CheckTalora(const Talora& talora) {
  RETURN_IF_ERROR(CheckSchedule(talora.schedule));
  RETURN_IF_ERROR(CheckRouter(talora));
  if (!talora.residuals.empty() && talora.residuals.size() != talora.schedule.banks()) {
    return Broken(talora, "{} residuals for {} banks", talora.residuals.size(),
                  talora.schedule.banks());
  }
  const std::vector<const Adapter*> parts = PartsOf(talora);
  if (parts.empty()) {
    return Broken(talora, "it has neither trunk nor residuals");
  }
  for (const Adapter* part : parts) {
    if (part == nullptr) {
      return Broken(talora, "a residual is missing");
    }
    if (part->kind != parts[0]->kind || part->frame_id != parts[0]->frame_id ||
        part->model_hash != talora.model_hash) {
      return Broken(talora, "its parts are of different kinds, frames or models");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTalora(const Talora& talora, const Model& model) {
  for (const Adapter* part : PartsOf(talora)) {
    RETURN_IF_ERROR(CheckAdapter(*part, model));
  }
  if (talora.router && talora.router->embedding() != static_cast<size_t>(model.config().width)) {
    return Broken(talora, "its router reads embeddings of {} values, but the model's have {}",
                  talora.router->embedding(), model.config().width);
  }
  if (talora.words) {
    RETURN_IF_ERROR(CheckWords(*talora.words, static_cast<size_t>(model.config().vocabulary)));
  }
  return CheckStackedRanks(talora);
}

void AppendMix(const Talora& talora, float t, std::span<const float> query, float weight,
               AdapterMix* mix) {
  if (talora.trunk != nullptr) {
    mix->parts.push_back({.adapter = talora.trunk, .weight = weight});
  }
  if (talora.residuals.empty()) {
    return;
  }
  const BankWeights banks =
      WeightsAt(talora.schedule, talora.router ? &*talora.router : nullptr, t, query);
  for (size_t k = 0; k < talora.residuals.size(); ++k) {
    if (banks[k] >= limits::kMinBankWeight) {
      mix->parts.push_back({.adapter = talora.residuals[k], .weight = weight * banks[k]});
    }
  }
}

bool IsStatic(const Talora& talora) {
  return talora.residuals.size() <= 1;
}

absl::StatusOr<std::shared_ptr<const Adapter>> PlainAdapter(const Talora& talora,
                                                            std::optional<size_t> bank) {
  std::vector<MergePart> parts;
  if (talora.trunk != nullptr) {
    parts.push_back({.adapter = talora.trunk});
  }
  if (bank ? *bank >= talora.residuals.size() : parts.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "adapter {} has {}a trunk and {} banks; choose one of them", AdapterLabel(talora),
                 parts.empty() ? "not " : "", talora.residuals.size());
  }
  if (bank) {
    parts.push_back({.adapter = talora.residuals[*bank]});
  }
  const std::string name = talora.name + (bank ? fmt::format("-bank{}", *bank) : "-trunk");
  if (parts.size() == 2) {
    return MergeAdapters(parts, {}, name, talora.version);
  }
  auto plain = std::make_shared<Adapter>(*parts[0].adapter);
  plain->name = name;
  plain->version = talora.version;
  return plain;
}

Digest AdapterId(const Talora& talora) {
  if (talora.residuals.empty() && talora.trunk != nullptr) {
    return AdapterId(*talora.trunk);
  }
  ByteWriter out;
  out.WriteText("ruvd-talora-1");
  out.Write(static_cast<uint8_t>(talora.schedule.strategy)).Write(talora.schedule.temperature);
  out.Write(static_cast<uint32_t>(talora.schedule.boundaries.size()));
  for (const float boundary : talora.schedule.boundaries) {
    out.Write(boundary);
  }
  out.Write(static_cast<uint8_t>(talora.trunk != nullptr));
  for (const Adapter* part : PartsOf(talora)) {
    out.WriteBytes(AdapterId(*part));
  }
  if (talora.router) {
    for (const double value : talora.router->parameters()) {
      out.Write(value);
    }
  }
  return Sha256(out.str());
}

size_t FactorBytes(const Talora& talora) {
  size_t bytes = talora.router ? talora.router->parameters().size_bytes() : 0;
  for (const Adapter* part : PartsOf(talora)) {
    bytes += FactorBytes(*part);
  }
  return bytes;
}

std::string AdapterLabel(const Talora& talora) {
  return fmt::format("{}@{}", SanitizeForDisplay(talora.name), talora.version);
}

}  // namespace ruvd::inference
