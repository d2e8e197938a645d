// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/frame_estimate.h"

#include <algorithm>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/kernels/kernel_table.h"
#include "inference/limits.h"
#include "inference/numerics/dense.h"
#include "inference/train/model_weights.h"
#include "inference/train/network_pass.h"

namespace ruvd::inference {
namespace {

using train::Linear;
using train::Site;

// Rows of a sum that one task processes
constexpr size_t kSumRows = 64;

// Returns the first layer that reads the same rows of the same input. Queries do not share with
// keys and values, because in the last layer only wanted rows have queries.
Site InputOf(const Site& site) {
  switch (site.linear) {
    case Linear::kValue:
      return {.layer = site.layer, .linear = Linear::kKey};
    case Linear::kUp:
      return {.layer = site.layer, .linear = Linear::kGate};
    default:
      return site;
  }
}

void CopyRows(const DenseMatrix& from, std::vector<float>* to) {
  to->assign(from.values.begin(), from.values.end());
}

absl::StatusOr<std::vector<Site>> SitesOf(const Model& model,
                                          std::span<const std::string> targets) {
  std::vector<Site> sites;
  for (const std::string& target : targets) {
    ASSIGN_OR_RETURN(const Site site, train::SiteOf(model.config(), target));
    sites.push_back(site);
  }
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  return sites;
}

absl::Status CheckOptions(const FrameEstimateOptions& options, size_t targets, uint64_t steps) {
  const bool estimated =
      options.kind == FrameKind::kCovariance || options.kind == FrameKind::kGradient;
  if (!estimated || options.rank < 1 || options.rank > limits::kMaxAdapterRank || targets == 0 ||
      steps == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a frame of kind {}, rank {} and {} targets cannot be "
                 "estimated from {} batches; "
                 "kinds cov and grad can, with rank 1 to {}",
                 FrameKindName(options.kind), options.rank, targets, steps,
                 limits::kMaxAdapterRank);
  }
  return absl::OkStatus();
}

// Divides the layers into runs of neighbours whose sums fit into the memory together.
std::vector<std::span<const Site>> Groups(const train::NetworkShape& shape,
                                          std::span<const Site> sites,
                                          const FrameEstimateOptions& options) {
  std::vector<std::span<const Site>> groups;
  for (size_t begin = 0; begin < sites.size();) {
    size_t end = begin + 1;
    while (end < sites.size() &&
           FrameStatistics::Bytes(shape, sites.subspan(begin, end + 1 - begin), options.kind) <=
               options.memory_bytes) {
      ++end;
    }
    groups.push_back(sites.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

}  // namespace

std::vector<std::pair<FrameStatistics::Key, std::pair<size_t, size_t>>> FrameStatistics::SumsOf(
    const train::NetworkShape& shape, const Site& site, FrameKind kind) {
  const size_t in = shape.In(site.linear);
  const size_t out = shape.Out(site.linear);
  if (kind == FrameKind::kGradient) {
    return {{{site, Part::kBoth}, {out, in}}};
  }
  return {{{InputOf(site), Part::kInput}, {in, in}}, {{site, Part::kOutput}, {out, out}}};
}

FrameStatistics::FrameStatistics(const train::NetworkShape& shape, std::span<const Site> sites,
                                 FrameKind kind, ParallelRunner& runner)
    : shape_(shape), kind_(kind), runner_(runner) {
  for (const Site& site : sites) {
    bool adds_input = false;  // only the first layer that shares an input adds to its sum
    for (const auto& [key, size] : SumsOf(shape, site, kind)) {
      Sum& sum = sums_[key];
      adds_input = adds_input || (key.second == Part::kInput && sum.values.empty());
      sum.rows = size.first;
      sum.columns = size.second;
      sum.values.resize(size.first * size.second);
    }
    sites_[site] = adds_input;
  }
}

uint64_t FrameStatistics::Bytes(const train::NetworkShape& shape, std::span<const Site> sites,
                                FrameKind kind) {
  std::map<Key, uint64_t> sizes;
  for (const Site& site : sites) {
    for (const auto& [key, size] : SumsOf(shape, site, kind)) {
      sizes[key] = uint64_t{size.first} * size.second * sizeof(float);
    }
  }
  uint64_t bytes = 0;
  for (const auto& [key, size] : sizes) {
    bytes += size;
  }
  return bytes;
}

void FrameStatistics::Observe(const Site& site, size_t rows, std::span<const float> x,
                              std::span<const float> dy) {
  const auto known = sites_.find(site);
  if (known == sites_.end()) {
    return;
  }
  if (kind_ == FrameKind::kGradient) {
    Add(rows, dy, x, &sums_.at({site, Part::kBoth}));
    return;
  }
  if (known->second) {
    Add(rows, x, x, &sums_.at({InputOf(site), Part::kInput}));
  }
  Add(rows, dy, dy, &sums_.at({site, Part::kOutput}));
}

// Adds left^T right to the sum; both have `count` rows.
void FrameStatistics::Add(size_t count, std::span<const float> left, std::span<const float> right,
                          Sum* sum) {
  transposed_.resize(count * sum->rows);
  for (size_t row = 0; row < count; ++row) {
    for (size_t i = 0; i < sum->rows; ++i) {
      transposed_[i * count + row] = left[row * sum->rows + i];
    }
  }
  runner_.For(sum->rows, kSumRows, [&](size_t begin, size_t end) {
    Kernels().multiply_ab({.a = transposed_.data() + begin * count,
                           .a_stride = count,
                           .rows = end - begin,
                           .inner = count,
                           .b = right.data(),
                           .b_stride = sum->columns,
                           .columns = sum->columns,
                           .y = sum->values.data() + begin * sum->columns,
                           .y_stride = sum->columns,
                           .accumulate = true});
  });
}

ModuleFrame FrameStatistics::Frame(const Site& site, int rank) const {
  const auto count = static_cast<size_t>(rank);
  const size_t in = shape_.In(site.linear);
  const size_t out = shape_.Out(site.linear);
  ModuleFrame frame{.rank = rank,
                    .in = static_cast<int>(in),
                    .out = static_cast<int>(out),
                    .p = {},
                    .q = {},
                    .fisher = {}};
  if (kind_ == FrameKind::kGradient) {
    const SvdFactors top =
        TopSvd(DenseMatrix(out, in, sums_.at({site, Part::kBoth}).values), count);
    CopyRows(top.left, &frame.p);
    CopyRows(top.right, &frame.q);
    return frame;
  }
  CopyRows(TopEigen(sums_.at({site, Part::kOutput}).values, out, count).vectors, &frame.p);
  CopyRows(TopEigen(sums_.at({InputOf(site), Part::kInput}).values, in, count).vectors, &frame.q);
  return frame;
}

absl::StatusOr<FrameSet> EstimateFrameSet(const std::shared_ptr<const Model>& model,
                                          std::span<const std::string> targets,
                                          const FrameEstimateOptions& options,
                                          const FrameBatches& batches, uint64_t steps,
                                          ParallelRunner& runner, const FrameProgress& progress) {
  RETURN_IF_ERROR(CheckOptions(options, targets.size(), steps));
  ASSIGN_OR_RETURN(const std::vector<Site> sites, SitesOf(*model, targets));
  ASSIGN_OR_RETURN(auto weights, train::ModelWeights::Create(model, nullptr, runner));
  const train::NetworkShape& shape = weights->shape();
  const auto groups = Groups(shape, sites, options);
  FrameSet frame{.id = {}, .model_hash = model->hash(), .kind = options.kind, .modules = {}};
  uint64_t done = 0;
  for (const std::span<const Site> group : groups) {
    FrameStatistics statistics(shape, group, options.kind, runner);
    // This begins at the first layer of all groups, because it decides where a pass divides a
    // batch, and so how the sums are rounded.
    train::NetworkPass<float> pass(*weights, runner, {.observe_from = sites.front().layer});
    for (uint64_t step = 0; step < steps; ++step) {
      const std::vector<train::TrainingSequence> batch = batches(step);
      RETURN_IF_ERROR(train::CheckSequences(model->config(), batch));
      pass.Run(batch, {.observer = &statistics});
      if (progress && !progress(++done, steps * groups.size())) {
        return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                     "the frame was not finished; run the command again");
      }
    }
    std::vector<ModuleFrame> modules(group.size());
    runner.For(group.size(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t sides = std::min(shape.In(group[i].linear), shape.Out(group[i].linear));
        modules[i] = statistics.Frame(group[i], std::min(options.rank, static_cast<int>(sides)));
      }
    });
    for (size_t i = 0; i < group.size(); ++i) {
      frame.modules.emplace(train::TensorOf(group[i]), std::move(modules[i]));
    }
  }
  frame.id = ContentId(frame);
  return frame;
}

}  // namespace ruvd::inference
