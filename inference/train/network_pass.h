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
  // Activations of a pass, its scratch included. Sequences that do not fit are run in groups, one
  // after the other; what does not fit even for one sequence is computed again on the way back.
  // Sums of gradients over groups are rounded in their order, so results depend on this number.
  uint64_t memory_bytes = uint64_t{256} << 20;
  // Observers see every linear layer from this layer on.
  size_t observe_from = 0;
};

// What the layers below the first changed one gave for a batch: nothing there depends on the
// changes, so a batch that is run again with other parameters, as held-out text is, starts behind
// them.
template <typename T>
struct FrozenPrefix {
  // All rows, prompts included. The groups after those that fit are computed anew each time, which
  // changes no number.
  uint64_t max_bytes = uint64_t{256} << 20;
  std::vector<std::vector<T>> streams = {};  // of the first groups; filled by the first run

  uint64_t bytes() const;
};

// What the frozen network has before its head where it predicts: by sequence, predictions x width;
// empty for sequences that do not follow it.
template <typename T>
struct FrozenStates {
  std::vector<std::vector<T>> hidden;

  uint64_t bytes() const;
};

// What a batch is run for.
template <typename T>
struct PassUse {
  ChangeSet<T>* changes = nullptr;  // null: the frozen network alone
  // Where the derivative of sequence i's loss by the parameters is added; equal pointers for a sum.
  // Empty: only losses are wanted.
  std::span<T* const> gradients;
  LinearObserver<T>* observer = nullptr;  // may be null
  // The same one for the same batch, sites and purpose; may be null.
  FrozenPrefix<T>* prefix = nullptr;
  // Filled instead of losses where it is wanted; without changes, gradients or observer.
  FrozenStates<T>* record = nullptr;
  // Of all sequences of the batch; may be null where none follows the frozen network.
  const FrozenStates<T>* frozen = nullptr;
};

// Runs batches forwards and backwards through the frozen network with its changes. Keeps its memory
// between batches. Borrows everything it is given; not thread-safe.
template <typename T>
class NetworkPass {
 public:
  NetworkPass(NetworkWeights<T>& weights, ParallelRunner& runner, const PassOptions& options);

  // Begins a batch; it and what `use` points to must stay until the pass is done. Every token,
  // target and row must exist, every sequence have a token and a prediction, and block attention
  // fit (CheckSequences of model_weights.h says so of outside input).
  void Begin(std::span<const TrainingSequence> batch, const PassUse<T>& use);
  // Does a bounded part: one layer of one group, or the head of limits::kHeadRows predictions or
  // fewer.
  // Returns true when the batch is done.
  bool Advance();
  // Begin and all of Advance. Returns the loss.
  double Run(std::span<const TrainingSequence> batch, const PassUse<T>& use);

  // Sum over predictions of weight times cross-entropy, or divergence from the frozen network.
  double loss() const;
  // Losses in nats of a sequence's predictions, in their order.
  std::span<const double> nats(size_t sequence) const;
  // Memory held for activations.
  uint64_t bytes() const;

 private:
  using Buffer = std::vector<T>;
  struct Group {
    size_t begin = 0;  // sequences
    size_t end = 0;
    size_t kept = 0;  // layers whose activations are kept, the last ones
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
  // The trained row of the embedding: read in place of the frozen one, where the output matrix is
  // tied also as the token's logit, and the gradients of both uses.
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
  bool by_t_ = false;  // whether a change asks for t
  bool backward_ = false;
  Site first_;  // the first site that is trained or observed
  std::vector<Group> groups_;
  size_t head_rows_ = 1;  // predictions that the head runs for at a time
  std::vector<double> nats_;
  std::vector<size_t> nats_begin_;  // by sequence, and the end

  // Where the pass is.
  Phase phase_ = Phase::kDone;
  size_t group_ = 0;
  size_t layer_ = 0;
  size_t prediction_ = 0;

  PackedGroup<T> packed_;
  std::vector<LayerActivations<T>> kept_;  // by layer; of those that are not kept x alone
  LayerActivations<T> scratch_;
  Buffer stream_, next_, hidden_, dhidden_, d_;
  Buffer head_in_, logits_, dhead_, frozen_in_, frozen_logits_;
  std::vector<Buffer> head_z_;
  Buffer row_slopes_;  // of the head's logits of a trained row
};

extern template struct FrozenPrefix<float>;
extern template struct FrozenPrefix<double>;
extern template struct FrozenStates<float>;
extern template struct FrozenStates<double>;
extern template class NetworkPass<float>;
extern template class NetworkPass<double>;

}  // namespace ruvd::inference::train
