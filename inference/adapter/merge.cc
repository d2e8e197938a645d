// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/merge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/limits.h"
#include "inference/adapter/merge_entries.h"
#include "inference/adapter/refactor.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

constexpr std::array<std::string_view, 4> kMethodNames = {"sum", "ties", "dare", "slerp"};

template <typename... Args>
absl::Status Invalid(const char* reason, fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reason, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

// The changes of one target, with their weights.
using Changes = std::vector<WeightedChange>;

absl::Status CheckParts(std::span<const MergePart> parts, const MergeOptions& options) {
  if (parts.empty() || parts.size() > limits::kMaxMergedAdapters) {
    return Invalid(reasons::kInvalidArgument, "{} adapters cannot be merged; give 1 to {}",
                   parts.size(), limits::kMaxMergedAdapters);
  }
  if (options.method == MergeMethod::kSlerp && parts.size() != 2) {
    return Invalid(reasons::kInvalidArgument, "slerp merges exactly 2 adapters, not {}",
                   parts.size());
  }
  if (options.rank < 0 || options.rank > limits::kMaxAdapterRank) {
    return Invalid(reasons::kInvalidArgument, "the rank of a merge must be 0 to {}, not {}",
                   limits::kMaxAdapterRank, options.rank);
  }
  if (!(options.density > 0 && options.density <= 1) ||
      !(options.position >= 0 && options.position <= 1)) {
    return Invalid(
        reasons::kInvalidArgument,
        "density must be above 0 and at most 1, and position between 0 and 1; they are {} "
        "and {}",
        options.density, options.position);
  }
  for (const MergePart& part : parts) {
    if (part.adapter->model_hash != parts[0].adapter->model_hash) {
      return Invalid(reasons::kAdapterForOtherModel,
                     "adapters {} and {} belong to different models; merge adapters of one model",
                     AdapterLabel(*parts[0].adapter), AdapterLabel(*part.adapter));
    }
    if (!std::isfinite(part.weight) || (options.method == MergeMethod::kTies && part.weight <= 0)) {
      return Invalid(reasons::kInvalidArgument,
                     "the weight {} of adapter {} must be finite, and positive for ties",
                     part.weight, AdapterLabel(*part.adapter));
    }
  }
  return absl::OkStatus();
}

// Returns the changes by target, in the order of the parts.
absl::StatusOr<std::map<std::string, Changes>> ByTarget(std::span<const MergePart> parts) {
  std::map<std::string, Changes> targets;
  for (const MergePart& part : parts) {
    for (const auto& [target, change] : part.adapter->targets) {
      Changes& changes = targets[target];
      if (!changes.empty() &&
          (changes[0].change->in != change.in || changes[0].change->out != change.out)) {
        return Invalid(reasons::kAdapterInvalid, "the adapters disagree about the shape of {}",
                       SanitizeForDisplay(target));
      }
      changes.push_back({.change = &change, .weight = static_cast<double>(part.weight)});
    }
  }
  return targets;
}

// Returns whether all parts lie in one frame with the same A on each target, so that the trained
// factors can be merged entry by entry.
bool ShareFrame(std::span<const MergePart> parts, const std::map<std::string, Changes>& targets) {
  const Adapter& first = *parts[0].adapter;
  const bool same_kind = std::all_of(parts.begin(), parts.end(), [&](const MergePart& part) {
    return UsesFrame(part.adapter->kind) && part.adapter->kind == first.kind &&
           part.adapter->frame_id == first.frame_id;
  });
  return same_kind && std::all_of(targets.begin(), targets.end(), [](const auto& entry) {
           return std::all_of(entry.second.begin(), entry.second.end(), [&](const auto& other) {
             return other.change->a == entry.second[0].change->a;
           });
         });
}

// Returns the weights of slerp for changes with these inner products. If the angle is too small to
// divide by its sine, or one change is zero, these are the weights of linear interpolation.
std::pair<double, double> SlerpWeights(double aa, double bb, double ab, double position) {
  const double norms = std::sqrt(aa * bb);
  const double angle = norms > 0 ? std::acos(std::clamp(ab / norms, -1.0, 1.0)) : 0.0;
  if (std::sin(angle) < 1e-6) {
    return {1 - position, position};
  }
  return {std::sin((1 - position) * angle) / std::sin(angle),
          std::sin(position * angle) / std::sin(angle)};
}

// Sets the weights of the changes of one target.
void WeighSlerp(const MergePart& first, float position, Changes* changes) {
  if (changes->size() == 1) {  // the other adapter does not change the target
    const bool is_first =
        std::any_of(first.adapter->targets.begin(), first.adapter->targets.end(),
                    [&](const auto& target) { return &target.second == changes->front().change; });
    changes->front().weight =
        is_first ? 1 - static_cast<double>(position) : static_cast<double>(position);
    return;
  }
  const LowRank& a = *(*changes)[0].change;
  const LowRank& b = *(*changes)[1].change;
  const auto [x, y] = SlerpWeights(ChangeDot(a, a), ChangeDot(b, b), ChangeDot(a, b),
                                   static_cast<double>(position));
  (*changes)[0].weight = x;
  (*changes)[1].weight = y;
}

bool IsEntrywise(MergeMethod method) {
  return method == MergeMethod::kTies || method == MergeMethod::kDare;
}

EntryRule RuleOf(const MergeOptions& options, Random* random) {
  return {.ties = options.method == MergeMethod::kTies,
          .density = static_cast<double>(options.density),
          .random = random};
}

// Returns the merged change of one target in the common frame: A stays, B is merged.
LowRank MergeInFrame(const Changes& changes, const MergeOptions& options, Random* random) {
  const LowRank& first = *changes[0].change;
  std::vector<WeightedEntries> entries;
  for (const auto& [change, weight] : changes) {
    WeightedEntries part{.values = {}, .weight = weight};
    for (const float value : change->b) {
      part.values.push_back(static_cast<double>(change->scale) * static_cast<double>(value));
    }
    entries.push_back(std::move(part));
  }
  const std::vector<double> merged = IsEntrywise(options.method)
                                         ? MergeEntries(&entries, RuleOf(options, random))
                                         : SumEntries(entries);
  LowRank result{.rank = first.rank, .in = first.in, .out = first.out, .a = first.a};
  result.b.assign(merged.begin(), merged.end());
  return result;
}

absl::StatusOr<LowRank> MergeMatrices(const Changes& changes, const MergeOptions& options,
                                      std::string_view target, Random* random) {
  const LowRank& first = *changes[0].change;
  const auto values = static_cast<uint64_t>(first.in) * static_cast<uint64_t>(first.out);
  if (values > limits::kMaxMergedValues) {
    return Invalid(reasons::kInvalidArgument,
                   "the full matrix of {} has {} values, more than the {} that {} can merge; use "
                   "sum or slerp",
                   SanitizeForDisplay(target), values, limits::kMaxMergedValues,
                   MergeMethodName(options.method));
  }
  int rank = options.rank;
  std::vector<WeightedEntries> entries;
  for (const auto& [change, weight] : changes) {
    entries.push_back({.values = ToDenseMatrix(*change).values, .weight = weight});
    rank = options.rank > 0 ? rank : std::max(rank, change->rank);
  }
  DenseMatrix merged(static_cast<size_t>(first.out), static_cast<size_t>(first.in));
  merged.values = MergeEntries(&entries, RuleOf(options, random));
  return TruncateDenseRank(merged, rank);
}

absl::StatusOr<LowRank> MergeTarget(const Changes& changes, const MergeOptions& options,
                                    std::string_view target, Random* random) {
  if (IsEntrywise(options.method)) {
    return MergeMatrices(changes, options, target, random);
  }
  LowRank sum = StackChanges(changes);
  const int exact = std::min({sum.rank, sum.in, sum.out});
  if (options.rank == 0 && exact > limits::kMaxAdapterRank) {
    return Invalid(reasons::kInvalidArgument,
                   "the exact result has rank {} on {}, above the limit of {}; give a lower rank",
                   exact, SanitizeForDisplay(target), limits::kMaxAdapterRank);
  }
  const int rank = options.rank > 0 ? std::min(exact, options.rank) : exact;
  return rank < sum.rank ? TruncateRank(sum, rank) : sum;
}

}  // namespace

std::string_view MergeMethodName(MergeMethod method) {
  return kMethodNames.at(static_cast<size_t>(method));
}

std::optional<MergeMethod> MergeMethodByName(std::string_view name) {
  const auto* found = std::find(kMethodNames.begin(), kMethodNames.end(), name);
  return found == kMethodNames.end()
             ? std::nullopt
             : std::optional(static_cast<MergeMethod>(found - kMethodNames.begin()));
}

absl::StatusOr<std::shared_ptr<const Adapter>> MergeAdapters(std::span<const MergePart> parts,
                                                             const MergeOptions& options,
                                                             std::string name, uint32_t version) {
  RETURN_IF_ERROR(CheckParts(parts, options));
  ASSIGN_OR_RETURN(auto targets, ByTarget(parts));
  const bool in_frame = ShareFrame(parts, targets);
  if (in_frame && options.rank != 0) {
    return Invalid(reasons::kInvalidArgument,
                   "adapters of one frame are merged at the rank of the frame; do not give a rank");
  }
  auto merged = std::make_shared<Adapter>();
  merged->name = std::move(name);
  merged->version = version;
  merged->model_hash = parts[0].adapter->model_hash;
  if (in_frame) {
    // Dropping or electing single entries of B = P R leaves the span of P.
    merged->kind = IsEntrywise(options.method) ? AdapterKind::kFfa : parts[0].adapter->kind;
    merged->frame_id = parts[0].adapter->frame_id;
  }
  Random random(options.seed);
  for (auto& [target, changes] : targets) {
    if (options.method == MergeMethod::kSlerp) {
      WeighSlerp(parts[0], options.position, &changes);
    }
    if (in_frame) {
      merged->targets.emplace(target, MergeInFrame(changes, options, &random));
    } else {
      ASSIGN_OR_RETURN(LowRank change, MergeTarget(changes, options, target, &random));
      merged->targets.emplace(target, std::move(change));
    }
  }
  return merged;
}

}  // namespace ruvd::inference
