// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "inference/train/change.h"
#include "inference/train/layer_pass.h"
#include "inference/train/network.h"
#include "inference/train/packed_group.h"

namespace ruvd::inference::train {

struct PassOptions {
  // Memory for the activations of a pass, including scratch. Sequences that do not fit are run in
  // groups, one after the other; layers that do not fit even for one sequence are computed again in
  // the backward pass. Sums of gradients over groups are rounded in the order of the groups, so
  // results depend on this number.
  uint64_t memory_bytes = uint64_t{256} << 20;
  // Observers see every linear layer from this layer on.
  size_t observe_from = 0;
};

// Outputs, for a batch, of the layers below the first changed one. They do not depend on the
// changes, so a batch that is run again with other parameters (such as held-out text) can skip
// these layers.
template <typename T>
struct FrozenPrefix {
  // Limit for all rows, prompts included. Groups that do not fit are computed again each time, with
  // equal results
  uint64_t max_bytes = uint64_t{256} << 20;
  std::vector<std::vector<T>> streams = {};  // outputs of the first groups; filled by the first run

  uint64_t bytes() const;
};

// The hidden states of the frozen network before its head at the predicted rows: by sequence,
// predictions x width; empty for sequences that do not follow the frozen network.
template <typename T>
struct FrozenStates {
  std::vector<std::vector<T>> hidden;

  uint64_t bytes() const;
};

// What to compute for a batch.
template <typename T>
struct PassUse {
  ChangeSet<T>* changes = nullptr;  // null: only the frozen network
  // Where the derivative of sequence i's loss by the parameters is added; equal pointers give a
  // sum. Empty: only losses are computed
  std::span<T* const> gradients;
  LinearObserver<T>* observer = nullptr;  // may be null
  // Must be the same object for the same batch, sites and purpose; may be null
  FrozenPrefix<T>* prefix = nullptr;
  // If not null, it is filled instead of losses; requires no changes, gradients or observer
  FrozenStates<T>* record = nullptr;
  // Covers all sequences of the batch; may be null if no sequence follows the frozen network
  const FrozenStates<T>* frozen = nullptr;
};

// Runs batches forwards and backwards through the frozen network with its changes. Keeps its memory
// between batches. Borrows all its arguments. Not thread-safe.
template <typename T>
class NetworkPass {
 public:
  NetworkPass(NetworkWeights<T>& weights, ParallelRunner& runner, const PassOptions& options);

  // Begins a batch. The batch and everything that `use` points to must stay valid until the pass is
  // done. Every token, target and row must exist, every sequence must have a token and a
  // prediction, and block attention must fit (CheckSequences in model_weights.h checks this for
  // outside input).
  void Begin(std::span<const TrainingSequence> batch, const PassUse<T>& use);
  // Does a bounded part of the work: one layer of one group, or the head for at most
  // limits::kHeadRows predictions. Returns true when the batch is done.
  bool Advance();
  // Calls Begin and then Advance until the batch is done. Returns the loss.
  double Run(std::span<const TrainingSequence> batch, const PassUse<T>& use);

  // Sum over predictions of weight times cross-entropy (or times the divergence from the frozen
  // network)
  double loss() const;
  // Losses of a sequence's predictions in nats, in their order
  std::span<const double> nats(size_t sequence) const;
  // Memory held for activations, in bytes
  uint64_t bytes() const;

 private:
  using Buffer = std::vector<T>;
  struct Group {
    size_t begin = 0;  // sequences
    size_t end = 0;
    size_t kept = 0;  // number of layers (the last ones) whose activations are kept
  };
  enum class Phase : uint8_t { kForward, kHead, kBackward, kDone };

  void FindFirst(const PassUse<T>& use);
  void PlanGroups();
  void BeginGroup();
  void Forward();
  void BeginHead();
  void RecordStates();
  void AttachStates();
  void Head();
  void PredictionLosses(std::span<const typename PackedGroup<T>::Target> targets,
                        std::span<double> nats);
  void BeginBackward();
  void Backward(size_t layer);
  // Functions for the trained row of the embedding. It is read in place of the frozen row; if the
  // output matrix is tied, it also gives the token's logit. Both uses have gradients.
  void UseRow();
  void UseRowAsOutput();
  void RowAsOutputBackward(std::span<const typename PackedGroup<T>::Target> targets);
  void RowBackward();
  void EndGroup();

  NetworkWeights<T>& weights_;
  ParallelRunner& runner_;
  const PassOptions options_;
  LayerPass<T> layers_;
  const NetworkShape& shape_;

  // The batch.
  std::span<const TrainingSequence> batch_;
  std::vector<T*> gradients_;
  ChangeSet<T>* changes_ = nullptr;
  FrozenPrefix<T>* prefix_ = nullptr;
  FrozenStates<T>* record_ = nullptr;
  const FrozenStates<T>* frozen_ = nullptr;
  bool by_t_ = false;  // whether a change depends on t
  bool backward_ = false;
  Site first_;  // the first site that is trained or observed
  std::vector<Group> groups_;
  size_t head_rows_ = 1;  // predictions that the head runs for at a time
  std::vector<double> nats_;
  std::vector<size_t> nats_begin_;  // by sequence, and the end

  // The current state of the pass.
  Phase phase_ = Phase::kDone;
  size_t group_ = 0;
  size_t layer_ = 0;
  size_t prediction_ = 0;

  PackedGroup<T> packed_;
  std::vector<LayerActivations<T>> kept_;  // by layer; for layers that are not kept, only x
  LayerActivations<T> scratch_;
  Buffer stream_, next_, hidden_, dhidden_, d_;
  Buffer head_in_, logits_, dhead_, frozen_in_, frozen_logits_;
  std::vector<Buffer> head_z_;
  Buffer row_slopes_;  // derivatives by the head's logits of a trained row
};

extern template struct FrozenPrefix<float>;
extern template struct FrozenPrefix<double>;
extern template struct FrozenStates<float>;
extern template struct FrozenStates<double>;
extern template class NetworkPass<float>;
extern template class NetworkPass<double>;

}  // namespace ruvd::inference::train
