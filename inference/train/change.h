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

// A change of one linear layer through rank r: y += scale * U C D x, where D is r x in and U is out
// x r.
enum class ChangeKind : uint8_t {
  kLora,    // D = A and U = B trained, C = 1 (arXiv 2106.09685)
  kFfa,     // D = A fixed, U = B trained, C = 1 (FFA-LoRA, arXiv 2403.12313)
  kCore,    // C = R trained, D = Q and U = P fixed (Fed-SB, arXiv 2502.15436)
  kFrozen,  // D and U fixed, C = 1: an adapter beneath the trained changes
};

// Rank, sizes and fixed factors of a change. The spans are borrowed.
template <typename T>
struct ChangeSpec {
  ChangeKind kind = ChangeKind::kLora;
  size_t rank = 0;
  size_t in = 0;
  size_t out = 0;
  T scale{1};
  std::span<const T> down;  // D if it is fixed, rank x in
  std::span<const T> up;    // U if it is fixed, out x rank
};

// One change. Its parameters are stored elsewhere: A then B for LoRA, B for FFA, R (rank x rank)
// for a core. Rows are independent, and products run over all rows at once. Not thread-safe,
// because it keeps scratch memory between calls.
template <typename T>
class Change {
 public:
  // The sizes of fixed factors must fit; a trained factor is left empty.
  explicit Change(const ChangeSpec<T>& spec);

  const ChangeSpec<T>& spec() const { return spec_; }
  size_t parameters() const;
  // Returns whether Backward reads x, which is so only if D is trained.
  bool needs_input() const { return spec_.kind == ChangeKind::kLora; }

  // Computes z (rows x rank) = weight * D x, which Backward needs, and adds weight times the change
  // to y (rows x out).
  void Forward(ParallelRunner& runner, std::span<const T> parameters, std::span<const T> x,
               std::span<T> z, std::span<T> y, T weight = T{1});
  // Adds dL/dparameters to `gradient` and dL/dx to `dx`, given dy = dL/dy and the z of Forward with
  // the same weight. An empty `gradient` or `dx` is not computed. x may be empty unless
  // needs_input().
  void Backward(ParallelRunner& runner, std::span<const T> parameters, std::span<const T> x,
                std::span<const T> z, std::span<const T> dy, std::span<T> gradient, std::span<T> dx,
                T weight = T{1});

 private:
  std::span<const T> Down(std::span<const T> parameters) const;
  std::span<const T> Up(std::span<const T> parameters) const;
  // Sets up_ to scale * U transposed (rank x out).
  void PrepareUp(std::span<const T> parameters);
  void AddUpGradient(ParallelRunner& runner, std::span<const T> z, std::span<const T> dy,
                     std::span<T> gradient);

  ChangeSpec<T> spec_;
  std::vector<T> up_, w_, dw_, dz_, transposed_, product_;
};

// At which t a change acts, and how fast it learns.
struct ChangePlacement {
  // The timestep bank that the change belongs to; absent: it acts at all t. The rows of a sequence
  // get the change with the weight that the schedule gives the bank at the sequence's t.
  std::optional<size_t> bank;
  double rate = 1;   // factor on the run's learning rate, above 0
  double decay = 0;  // share of the change that it loses in each step, 0 <= decay < 1
};

// A row of the token embedding that is trained in place of the frozen one. Low-rank changes of
// linear layers cannot give an embedding to a token that the model never saw.
struct TrainedRow {
  TokenId token = 0;
  // True if the output matrix is the embedding, so that the row is also the token's output row
  bool tied = false;
  size_t offset = 0;  // offset of its parameters
};

// The trained changes of a network: at each linear layer at most one for each bank and one for all
// t,
//   y += change(x) + sum over banks k of w_k(t) change_k(x),
// and optionally one row of the embedding. The parameters of all changes are in one vector, in the
// order in which the changes were added. The set owns the fixed factors. Not thread-safe.
template <typename T>
class ChangeSet {
 public:
  struct Entry {
    Site site;
    size_t offset = 0;  // offset of its parameters
    Change<T> change;
    ChangePlacement placement;
  };

  // `schedule` is the schedule of the changes that belong to a bank. It must have passed
  // CheckSchedule and must not be kAttention, because routers are trained separately (TrainRouter).
  explicit ChangeSet(const NetworkShape& shape, const BankSchedule& schedule = {});
  // Copying is disabled because the changes refer to memory of this object.
  ChangeSet(const ChangeSet&) = delete;
  ChangeSet& operator=(const ChangeSet&) = delete;

  // Trains the token's row, starting from `initial` (width values). Must be called before any
  // change is added, and at most once. With `tied` the head must not have a change.
  void TrainRow(TokenId token, bool tied, std::span<const T> initial);

  // Adds a LoRA: A begins at `a` (rank x in), B at zero.
  void AddLora(const Site& site, size_t rank, T scale, std::span<const T> a,
               const ChangePlacement& placement = {});
  // Adds an FFA change: A is fixed at `a` (rank x in), B begins at zero.
  void AddFfa(const Site& site, size_t rank, T scale, std::span<const T> a,
              const ChangePlacement& placement = {});
  // Adds a core: P (out x rank) and Q (rank x in) are fixed, R begins at zero.
  void AddCore(const Site& site, size_t rank, T scale, std::span<const T> p, std::span<const T> q,
               const ChangePlacement& placement = {});

  std::vector<T>& parameters() { return parameters_; }
  const std::vector<T>& parameters() const { return parameters_; }
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }
  // Returns whether the site has a change for this bank, or for all t if `bank` is absent.
  bool Has(const Site& site, std::optional<size_t> bank) const;
  // Returns the indices into entries() of the changes at a site, in the order in which they were
  // added.
  std::span<const size_t> At(const Site& site) const;
  const BankSchedule& schedule() const { return schedule_; }
  // Returns whether any change belongs to a bank.
  bool banked() const { return banked_; }
  // Returns the weight of the change in a sequence of masked share t; 0 if the weight is below
  // limits::kMinBankWeight, as in AppendMix.
  T WeightAt(const Entry& entry, double t) const;
  // Returns the parameters in groups for an optimiser. Decay applies to the factor that began at
  // zero, so not to LoRA's A.
  std::vector<ParameterGroup> Groups() const;
  std::span<const T> ParametersOf(const Entry& entry) const {
    return std::span(parameters_).subspan(entry.offset, entry.change.parameters());
  }
  const std::optional<TrainedRow>& row() const { return row_; }
  // The parameters of the trained row, which must exist
  std::span<const T> RowParameters() const {
    return std::span(parameters_).subspan(row_->offset, shape_.width);
  }
  // Returns the first changed site in the order of execution, or nullopt without changes. With a
  // trained row it is the first site of the network.
  std::optional<Site> first() const;

 private:
  std::span<const T> CopyFixedFactor(std::span<const T> factor);
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
