// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/linear_pass.h"

#include <algorithm>

namespace ruvd::inference::train {

template <typename T>
std::span<const typename LinearPass<T>::Run> LinearPass<T>::RunsOf(const Entry& entry,
                                                                   std::span<const Range> ranges,
                                                                   bool gradients) {
  runs_.clear();
  for (const Range& range : ranges) {
    const T weight = changes_->WeightAt(entry, range.t);
    T* const gradient = gradients ? range.gradient : nullptr;
    if (weight == T{0}) {
      continue;
    }
    if (!runs_.empty() && runs_.back().end == range.begin && runs_.back().gradient == gradient &&
        runs_.back().weight == weight) {
      runs_.back().end = range.end;
    } else {
      runs_.push_back({range.begin, range.end, gradient, weight});
    }
  }
  return runs_;
}

template <typename T>
void LinearPass<T>::Forward(const Site& site, const Buffer& x, std::span<const Range> ranges,
                            std::vector<Buffer>* z, Buffer* y) {
  const std::span<const size_t> changes = ChangesAt(site);
  if (y == nullptr && changes.empty()) {
    return;
  }
  const size_t rows = ranges.back().end;
  const size_t in = weights_.shape().In(site.linear);
  const size_t out = weights_.shape().Out(site.linear);
  Buffer& result = y == nullptr ? ignored_ : *y;
  const std::span<const T> input = std::span(x).first(rows * in);
  result.resize(rows * out);
  if (y != nullptr) {
    weights_.Multiply(site, input, result);
  }
  z->resize(std::max(z->size(), changes.size()));
  for (size_t i = 0; i < changes.size(); ++i) {
    Entry& entry = changes_->entries()[changes[i]];
    const size_t rank = entry.change.spec().rank;
    Buffer& kept = (*z)[i];
    kept.resize(rows * rank);
    for (const Run& run : RunsOf(entry, ranges, false)) {
      const size_t count = run.end - run.begin;
      entry.change.Forward(runner_, changes_->ParametersOf(entry),
                           input.subspan(run.begin * in, count * in),
                           std::span(kept).subspan(run.begin * rank, count * rank),
                           std::span(result).subspan(run.begin * out, count * out), run.weight);
    }
  }
}

template <typename T>
bool LinearPass<T>::NeedsInput(const Site& site) const {
  if (observer_ != nullptr) {
    return true;
  }
  return std::ranges::any_of(ChangesAt(site),
                             [&](size_t i) { return changes_->entries()[i].change.needs_input(); });
}

template <typename T>
void LinearPass<T>::Backward(const Site& site, const Buffer& x, const std::vector<Buffer>& z,
                             const Buffer& dy, std::span<const Range> ranges, Buffer* dx,
                             bool accumulate) {
  const size_t in = weights_.shape().In(site.linear);
  const size_t out = weights_.shape().Out(site.linear);
  const size_t rows = ranges.back().end;
  const std::span<const T> all_dy = std::span(dy).first(rows * out);
  if (dx != nullptr) {
    dx->resize(rows * in);
    weights_.MultiplyTransposed(site, all_dy, *dx, accumulate);
  }
  if (observer_ != nullptr) {
    observer_->Observe(site, rows, std::span(x).first(rows * in), all_dy);
  }
  const std::span<const size_t> changes = ChangesAt(site);
  for (size_t i = 0; i < changes.size(); ++i) {
    Entry& entry = changes_->entries()[changes[i]];
    const size_t rank = entry.change.spec().rank;
    for (const Run& run : RunsOf(entry, ranges, true)) {
      const size_t count = run.end - run.begin;
      const auto part = [&](std::span<const T> all, size_t width) {
        return all.subspan(run.begin * width, count * width);
      };
      std::span<T> gradient;
      if (run.gradient != nullptr) {
        gradient = {run.gradient + entry.offset, entry.change.parameters()};
      }
      entry.change.Backward(
          runner_, changes_->ParametersOf(entry),
          entry.change.needs_input() ? part(x, in) : std::span<const T>(), part(z[i], rank),
          part(dy, out), gradient,
          dx == nullptr ? std::span<T>() : std::span(*dx).subspan(run.begin * in, count * in),
          run.weight);
    }
  }
}

template class LinearPass<float>;
template class LinearPass<double>;

}  // namespace ruvd::inference::train
