// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/change.h"

#include <algorithm>

#include "base/status.h"
#include "inference/adapter/limits.h"
#include "inference/train/ops.h"

namespace ruvd::inference::train {
namespace {

// Rows, and columns of a parameter's gradient, that one task processes
constexpr size_t kRowGrain = 64;
constexpr size_t kColumnGrain = 128;

template <typename T>
void Resize(size_t size, std::vector<T>* buffer) {
  if (buffer->size() < size) {
    buffer->resize(size);
  }
}

template <typename T>
void ScaleBy(T weight, std::span<T> values) {
  if (weight != T{1}) {
    for (T& value : values) {
      value *= weight;
    }
  }
}

// Computes y (rows x n) = x (rows x k) times b transposed, where b is n x k.
template <typename T>
void ProjectRows(ParallelRunner& runner, size_t rows, const T* x, size_t k, const T* b, size_t n,
                 T* y) {
  runner.For(rows, kRowGrain, [=](size_t begin, size_t end) {
    MultiplyAbt<T>({.a = x + begin * k,
                    .a_stride = k,
                    .rows = end - begin,
                    .inner = k,
                    .b = b,
                    .b_stride = k,
                    .columns = n,
                    .y = y + begin * n,
                    .y_stride = n});
  });
}

// Computes y (rows x n) = a (rows x k) times b, where b is k x n.
template <typename T>
void ExpandRows(ParallelRunner& runner, size_t rows, const T* a, size_t k, const T* b, size_t n,
                bool accumulate, T* y) {
  runner.For(rows, kRowGrain, [=](size_t begin, size_t end) {
    MultiplyAb<T>({.a = a + begin * k,
                   .a_stride = k,
                   .rows = end - begin,
                   .inner = k,
                   .b = b,
                   .b_stride = n,
                   .columns = n,
                   .y = y + begin * n,
                   .y_stride = n,
                   .accumulate = accumulate});
  });
}

// Computes y (k x n) = a (k x rows) times b, where b is rows x n. The sums are long, so the columns
// are divided among tasks.
template <typename T>
void SumOverRows(ParallelRunner& runner, size_t rows, const T* a, size_t k, const T* b, size_t n,
                 bool accumulate, T* y) {
  runner.For((n + kColumnGrain - 1) / kColumnGrain, 1, [=](size_t begin, size_t end) {
    const size_t first = begin * kColumnGrain;
    MultiplyAb<T>({.a = a,
                   .a_stride = rows,
                   .rows = k,
                   .inner = rows,
                   .b = b + first,
                   .b_stride = n,
                   .columns = std::min(end * kColumnGrain, n) - first,
                   .y = y + first,
                   .y_stride = n,
                   .accumulate = accumulate});
  });
}

}  // namespace

template <typename T>
Change<T>::Change(const ChangeSpec<T>& spec) : spec_(spec) {
  const bool fixed_down = spec.kind != ChangeKind::kLora;
  const bool fixed_up = spec.kind == ChangeKind::kCore || spec.kind == ChangeKind::kFrozen;
  RUVD_CHECK(spec.down.size() == (fixed_down ? spec.rank * spec.in : 0));
  RUVD_CHECK(spec.up.size() == (fixed_up ? spec.out * spec.rank : 0));
}

template <typename T>
size_t Change<T>::parameters() const {
  switch (spec_.kind) {
    case ChangeKind::kLora:
      return spec_.rank * (spec_.in + spec_.out);
    case ChangeKind::kFfa:
      return spec_.rank * spec_.out;
    case ChangeKind::kCore:
      return spec_.rank * spec_.rank;
    case ChangeKind::kFrozen:
      break;
  }
  return 0;
}

template <typename T>
std::span<const T> Change<T>::Down(std::span<const T> parameters) const {
  return spec_.down.empty() ? parameters.first(spec_.rank * spec_.in) : spec_.down;
}

template <typename T>
std::span<const T> Change<T>::Up(std::span<const T> parameters) const {
  return spec_.up.empty() ? parameters.last(spec_.out * spec_.rank) : spec_.up;
}

template <typename T>
void Change<T>::PrepareUp(std::span<const T> parameters) {
  Resize(spec_.rank * spec_.out, &up_);
  Transpose(Up(parameters).data(), spec_.rank, spec_.out, spec_.rank, spec_.scale, up_.data(),
            spec_.out);
}

template <typename T>
void Change<T>::Forward(ParallelRunner& runner, std::span<const T> parameters, std::span<const T> x,
                        std::span<T> z, std::span<T> y, T weight) {
  const auto& [kind, rank, in, out, scale, down, up] = spec_;
  const size_t rows = x.size() / in;
  RUVD_CHECK(z.size() == rows * rank && y.size() == rows * out);
  PrepareUp(parameters);
  ProjectRows(runner, rows, x.data(), in, Down(parameters).data(), rank, z.data());
  ScaleBy(weight, z);
  const T* w = z.data();
  if (kind == ChangeKind::kCore) {
    Resize(rows * rank, &w_);
    ProjectRows(runner, rows, z.data(), rank, parameters.data(), rank, w_.data());
    w = w_.data();
  }
  ExpandRows(runner, rows, w, rank, up_.data(), out, true, y.data());
}

template <typename T>
void Change<T>::AddUpGradient(ParallelRunner& runner, std::span<const T> z, std::span<const T> dy,
                              std::span<T> gradient) {
  const auto& [kind, rank, in, out, scale, down, up] = spec_;
  const size_t rows = z.size() / rank;
  Resize(rows * rank, &transposed_);
  Resize(rank * out, &product_);
  Transpose(z.data(), rank, rows, rank, scale, transposed_.data(), rows);
  SumOverRows(runner, rows, transposed_.data(), rank, dy.data(), out, false, product_.data());
  T* db = gradient.last(out * rank).data();
  for (size_t j = 0; j < rank; ++j) {
    for (size_t o = 0; o < out; ++o) {
      db[o * rank + j] += product_[j * out + o];
    }
  }
}

template <typename T>
void Change<T>::Backward(ParallelRunner& runner, std::span<const T> parameters,
                         std::span<const T> x, std::span<const T> z, std::span<const T> dy,
                         std::span<T> gradient, std::span<T> dx, T weight) {
  const auto& [kind, rank, in, out, scale, down, up] = spec_;
  const size_t rows = z.size() / rank;
  RUVD_CHECK(dy.size() == rows * out && (dx.empty() || dx.size() == rows * in));
  const bool wanted = !gradient.empty();
  if (wanted && (kind == ChangeKind::kLora || kind == ChangeKind::kFfa)) {
    AddUpGradient(runner, z, dy, gradient);
  }
  if (dx.empty() && (!wanted || kind == ChangeKind::kFfa)) {
    return;
  }
  PrepareUp(parameters);
  Resize(rows * rank, &dw_);
  ProjectRows(runner, rows, dy.data(), out, up_.data(), rank, dw_.data());
  if (kind != ChangeKind::kCore) {
    ScaleBy(weight, std::span(dw_).first(rows * rank));
  }
  const T* dz = dw_.data();
  Resize(rows * rank, &transposed_);
  Transpose(dw_.data(), rank, rows, rank, T{1}, transposed_.data(), rows);
  if (kind == ChangeKind::kCore) {
    if (wanted) {
      SumOverRows(runner, rows, transposed_.data(), rank, z.data(), rank, true, gradient.data());
    }
    Resize(rows * rank, &dz_);
    ExpandRows(runner, rows, dw_.data(), rank, parameters.data(), rank, false, dz_.data());
    ScaleBy(weight, std::span(dz_).first(rows * rank));
    dz = dz_.data();
  } else if (wanted && kind == ChangeKind::kLora) {
    RUVD_CHECK(x.size() == rows * in);
    SumOverRows(runner, rows, transposed_.data(), rank, x.data(), in, true, gradient.data());
  }
  if (!dx.empty()) {
    ExpandRows(runner, rows, dz, rank, Down(parameters).data(), in, true, dx.data());
  }
}

template <typename T>
ChangeSet<T>::ChangeSet(const NetworkShape& shape, const BankSchedule& schedule)
    : shape_(shape), schedule_(schedule) {
  RUVD_CHECK(CheckSchedule(schedule).ok() && schedule.strategy != BankStrategy::kAttention);
}

template <typename T>
void ChangeSet<T>::TrainRow(TokenId token, bool tied, std::span<const T> initial) {
  RUVD_CHECK(parameters_.empty() && token < shape_.vocabulary && initial.size() == shape_.width);
  row_ = TrainedRow{.token = token, .tied = tied};
  parameters_.assign(initial.begin(), initial.end());
}

template <typename T>
void ChangeSet<T>::AddLora(const Site& site, size_t rank, T scale, std::span<const T> a,
                           const ChangePlacement& placement) {
  Add(site, {.kind = ChangeKind::kLora, .rank = rank, .scale = scale, .down = {}, .up = {}}, a,
      placement);
}

template <typename T>
void ChangeSet<T>::AddFfa(const Site& site, size_t rank, T scale, std::span<const T> a,
                          const ChangePlacement& placement) {
  Add(site,
      {.kind = ChangeKind::kFfa,
       .rank = rank,
       .scale = scale,
       .down = CopyFixedFactor(a),
       .up = {}},
      {}, placement);
}

template <typename T>
void ChangeSet<T>::AddCore(const Site& site, size_t rank, T scale, std::span<const T> p,
                           std::span<const T> q, const ChangePlacement& placement) {
  Add(site,
      {.kind = ChangeKind::kCore,
       .rank = rank,
       .scale = scale,
       .down = CopyFixedFactor(q),
       .up = CopyFixedFactor(p)},
      {}, placement);
}

template <typename T>
std::span<const T> ChangeSet<T>::CopyFixedFactor(std::span<const T> factor) {
  return factors_.emplace_back(factor.begin(), factor.end());
}

template <typename T>
void ChangeSet<T>::Add(const Site& site, const ChangeSpec<T>& spec, std::span<const T> initial,
                       const ChangePlacement& placement) {
  RUVD_CHECK(shape_.Has(site) && !Has(site, placement.bank) && spec.rank > 0);
  RUVD_CHECK(site.linear != Linear::kHead || !row_ || !row_->tied);
  RUVD_CHECK(!placement.bank || *placement.bank < schedule_.banks());
  RUVD_CHECK(placement.rate > 0 && placement.decay >= 0 && placement.decay < 1);
  ChangeSpec<T> full = spec;
  full.in = shape_.In(site.linear);
  full.out = shape_.Out(site.linear);
  const Entry entry{site, parameters_.size(), Change<T>(full), placement};
  RUVD_CHECK(initial.empty() || initial.size() == full.rank * full.in);
  parameters_.insert(parameters_.end(), initial.begin(), initial.end());
  parameters_.resize(entry.offset + entry.change.parameters());
  by_site_[site].push_back(entries_.size());
  banked_ = banked_ || placement.bank.has_value();
  entries_.push_back(entry);
}

template <typename T>
bool ChangeSet<T>::Has(const Site& site, std::optional<size_t> bank) const {
  return std::ranges::any_of(At(site),
                             [&](size_t i) { return entries_[i].placement.bank == bank; });
}

template <typename T>
std::span<const size_t> ChangeSet<T>::At(const Site& site) const {
  const auto found = by_site_.find(site);
  return found == by_site_.end() ? std::span<const size_t>() : found->second;
}

template <typename T>
T ChangeSet<T>::WeightAt(const Entry& entry, double t) const {
  if (!entry.placement.bank) {
    return T{1};
  }
  const float weight =
      WeightsAt(schedule_, nullptr, static_cast<float>(t), {})[*entry.placement.bank];
  return weight < limits::kMinBankWeight ? T{0} : static_cast<T>(weight);
}

template <typename T>
std::vector<ParameterGroup> ChangeSet<T>::Groups() const {
  std::vector<ParameterGroup> groups;
  if (row_) {
    groups.push_back({.count = shape_.width});
  }
  for (const Entry& entry : entries_) {
    const ChangeSpec<T>& spec = entry.change.spec();
    const size_t fixed = spec.kind == ChangeKind::kLora ? spec.rank * spec.in : 0;
    const auto& [bank, rate, decay] = entry.placement;
    groups.push_back({.count = fixed, .rate = rate});
    groups.push_back({.count = entry.change.parameters() - fixed, .rate = rate, .decay = decay});
  }
  return groups;
}

template <typename T>
std::optional<Site> ChangeSet<T>::first() const {
  if (row_) {
    return Site{};
  }
  return by_site_.empty() ? std::nullopt : std::optional<Site>(by_site_.begin()->first);
}

template class Change<float>;
template class Change<double>;
template class ChangeSet<float>;
template class ChangeSet<double>;

}  // namespace ruvd::inference::train
