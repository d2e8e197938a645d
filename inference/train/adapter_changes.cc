// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/adapter_changes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/orthonormal.h"
#include "inference/limits.h"

namespace ruvd::train {
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

}  // namespace

absl::Status AddLoras(const Model& model, std::span<const Site> sites, int rank, bool fixed_a,
                      uint64_t seed, ChangeSet<float>* changes) {
  const NetworkShape shape = NetworkShape::Of(model.config());
  Random seeds(seed);
  for (const Site& site : sites) {
    if (!shape.Has(site) || changes->At(site) != nullptr) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "{} of layer {} cannot be changed: the model does not have it or it is changed "
                   "already",
                   LinearName(site.linear), site.layer);
    }
    const auto in = static_cast<int>(shape.In(site.linear));
    const auto out = static_cast<int>(shape.Out(site.linear));
    const int largest = std::min({in, out, limits::kMaxAdapterRank});
    if (rank < 1 || rank > largest) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "the rank for {} must be 1 to {}, not {}", TensorOf(site), largest, rank);
    }
    Random random = seeds.Fork();
    const std::vector<double> rows = OrthonormalRows(rank, in, random);
    const std::vector<float> a(rows.begin(), rows.end());
    if (fixed_a) {
      changes->AddFfa(site, static_cast<size_t>(rank), 1.0F, a);
    } else {
      changes->AddLora(site, static_cast<size_t>(rank), 1.0F, a);
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<const Adapter> AdapterOf(const Model& model, const ChangeSet<float>& changes,
                                         std::string name, uint32_t version) {
  auto adapter = std::make_shared<Adapter>();
  adapter->name = std::move(name);
  adapter->version = version;
  adapter->model_hash = model.hash();
  for (const auto& entry : changes.entries()) {
    adapter->targets[TensorOf(entry.site)] = LowRankOf(changes, entry);
  }
  return adapter;
}

}  // namespace ruvd::train
