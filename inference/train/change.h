// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "inference/adapter/bank_weights.h"
#include "inference/numerics/optimizer.h"
#include "inference/train/network.h"

namespace ruvd::inference::train {

// y += scale * U C D x, a change of one linear layer through rank r: D is r x in, U is out x r.
enum class ChangeKind : uint8_t {
  kLora,    // D = A and U = B trained, C = 1 (arXiv 2106.09685)
  kFfa,     // D = A fixed, U = B trained, C = 1 (FFA-LoRA, arXiv 2403.12313)
  kCore,    // C = R trained, D = Q and U = P fixed (Fed-SB, arXiv 2502.15436)
  kFrozen,  // D and U fixed, C = 1: an adapter beneath
};

// Rank, sizes and fixed factors of a change; spans are borrowed.
template <typename T>
struct ChangeSpec {
  ChangeKind kind = ChangeKind::kLora;
  size_t rank = 0;
  size_t in = 0;
  size_t out = 0;
  T scale{1};
  std::span<const T> down;  // D where it is fixed, rank x in
  std::span<const T> up;    // U where it is fixed, out x rank
};

// One change. Its parameters lie elsewhere: A then B for LoRA, B for FFA, R (rank x rank) for a
// core. Rows are independent. Products run over all rows at once. Not thread-safe: keeps scratch
// memory between calls.
template <typename T>
class Change {
 public:
  // Sizes of fixed factors must fit; a factor that is trained is left empty.
  explicit Change(const ChangeSpec<T>& spec);

  const ChangeSpec<T>& spec() const { return spec_; }
  size_t parameters() const;
  // Whether Backward reads x: only where D is trained.
  bool needs_input() const { return spec_.kind == ChangeKind::kLora; }

  // z (rows x rank) = weight * D x, kept for Backward; y (rows x out) += weight times the change.
  void Forward(ParallelRunner& runner, std::span<const T> parameters, std::span<const T> x,
               std::span<T> z, std::span<T> y, T weight = T{1});
  // Adds dL/dparameters to `gradient` (empty: not wanted) and dL/dx to dx (empty: not wanted),
  // given dy = dL/dy, and z from Forward with the same weight. x may be empty unless
  // needs_input().
  void Backward(ParallelRunner& runner, std::span<const T> parameters, std::span<const T> x,
                std::span<const T> z, std::span<const T> dy, std::span<T> gradient, std::span<T> dx,
                T weight = T{1});

 private:
  std::span<const T> Down(std::span<const T> parameters) const;
  std::span<const T> Up(std::span<const T> parameters) const;
  // up_: scale * U transposed, rank x out.
  void PrepareUp(std::span<const T> parameters);
  void AddUpGradient(ParallelRunner& runner, std::span<const T> z, std::span<const T> dy,
                     std::span<T> gradient);

  ChangeSpec<T> spec_;
  std::vector<T> up_, w_, dw_, dz_, transposed_, product_;
};

// Where in t a change acts, and how fast it learns.
struct ChangePlacement {
  // The bank of the masked share t that it belongs to; absent: it acts at all t. The rows of a
  // sequence get it with the weight that the schedule gives the bank at the sequence's t.
  std::optional<size_t> bank;
  double rate = 1;   // its share of the run's learning rate, above 0
  double decay = 0;  // share of the change that it loses each step, 0 <= decay < 1
};

// A row of the token embedding that is trained itself, in place of the frozen one: a low-rank
// change of linear layers cannot give a token that the model never saw an embedding of its own.
struct TrainedRow {
  TokenId token = 0;
  // The output matrix is the embedding: the row is the token's output row, too.
  bool tied = false;
  size_t offset = 0;  // of its parameters
};

// The trained changes of a network: at most one for each linear layer and bank, and one for all t,
//   y += change(x) + sum over banks k of w_k(t) change_k(x);
// and perhaps one row of its embedding.
// Their parameters lie one after the other in one vector, in the order they were added. Fixed
// factors are owned here. Not thread-safe.
template <typename T>
class ChangeSet {
 public:
  struct Entry {
    Site site;
    size_t offset = 0;  // of its parameters
    Change<T> change;
    ChangePlacement placement;
  };

  // `schedule`: of changes that belong to a bank. It passed CheckSchedule and is not kAttention:
  // routers are trained by themselves (TrainRouter).
  explicit ChangeSet(const NetworkShape& shape, const BankSchedule& schedule = {});
  // The changes refer to memory of this object.
  ChangeSet(const ChangeSet&) = delete;
  ChangeSet& operator=(const ChangeSet&) = delete;

  // Trains the token's row from `initial` (width) on; before any change is added, at most once.
  // With `tied` the head can have no change.
  void TrainRow(TokenId token, bool tied, std::span<const T> initial);

  // LoRA: `a` (rank x in) is where A begins; B begins at zero.
  void AddLora(const Site& site, size_t rank, T scale, std::span<const T> a,
               const ChangePlacement& placement = {});
  // FFA: `a` (rank x in) stays.
  void AddFfa(const Site& site, size_t rank, T scale, std::span<const T> a,
              const ChangePlacement& placement = {});
  // Core: P (out x rank) and Q (rank x in) stay, R begins at zero.
  void AddCore(const Site& site, size_t rank, T scale, std::span<const T> p, std::span<const T> q,
               const ChangePlacement& placement = {});

  std::vector<T>& parameters() { return parameters_; }
  const std::vector<T>& parameters() const { return parameters_; }
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }
  // Whether there is one at the site for this bank, or for all t.
  bool Has(const Site& site, std::optional<size_t> bank) const;
  // Indices into entries() of the changes at a site, in the order they were added.
  std::span<const size_t> At(const Site& site) const;
  const BankSchedule& schedule() const { return schedule_; }
  // Whether any change belongs to a bank.
  bool banked() const { return banked_; }
  // With what weight the change acts on a sequence of masked share t; 0 where that is below
  // limits::kLeastBankWeight, as in AppendMix.
  T WeightAt(const Entry& entry, double t) const;
  // The parameters in groups for an optimiser. A change decays through the factor that began at
  // zero: LoRA's A does not.
  std::vector<ParameterGroup> Groups() const;
  std::span<const T> ParametersOf(const Entry& entry) const {
    return std::span(parameters_).subspan(entry.offset, entry.change.parameters());
  }
  const std::optional<TrainedRow>& row() const { return row_; }
  // Of the trained row, which must be there.
  std::span<const T> RowParameters() const {
    return std::span(parameters_).subspan(row_->offset, shape_.width);
  }
  // The first changed site in the order they run; absent without changes. With a trained row the
  // first of all.
  std::optional<Site> first() const;

 private:
  std::span<const T> Keep(std::span<const T> factor);
  void Add(const Site& site, const ChangeSpec<T>& spec, std::span<const T> initial,
           const ChangePlacement& placement);

  NetworkShape shape_;
  BankSchedule schedule_;
  bool banked_ = false;
  std::optional<TrainedRow> row_;
  std::map<Site, std::vector<size_t>> by_site_;
  std::vector<T> parameters_;
  std::vector<Entry> entries_;
  std::vector<std::vector<T>> factors_;
};

extern template class Change<float>;
extern template class Change<double>;
extern template class ChangeSet<float>;
extern template class ChangeSet<double>;

}  // namespace ruvd::inference::train
