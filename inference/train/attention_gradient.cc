// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/attention_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "inference/train/ops.h"

namespace ruvd::inference::train {
namespace {

// Queries whose scores are held at a time
constexpr size_t kQueryBlock = 32;
// Keys are read in whole vectors of every instruction set, so their number is a multiple of this.
constexpr size_t kKeyStep = 16;

// A run of keys that a block of queries sees, and the column of its first score.
struct Segment {
  size_t begin = 0;
  size_t end = 0;
  size_t column = 0;
};

// The scratch memory of one thread.
template <typename T>
struct Workspace {
  std::vector<T> keys, values;       // head_size x padded tokens: transposed
  std::vector<T> weights, dweights;  // queries x columns
  std::vector<T> turned;             // columns x queries
};

template <typename T>
T* Space(size_t size, std::vector<T>* buffer) {
  if (buffer->size() < size) {
    buffer->resize(size);
  }
  return buffer->data();
}

// All queries of the heads that share one kv head.
template <typename T>
class HeadGroup {
 public:
  HeadGroup(const AttentionTask<T>& task, size_t kv_head, Workspace<T>& work)
      : task_(task),
        in_(task.mask),
        work_(work),
        size_(in_.head_size),
        padded_((in_.tokens + kKeyStep - 1) / kKeyStep * kKeyStep),
        q_stride_(in_.heads * size_),
        kv_stride_(in_.kv_heads * size_),
        group_(in_.heads / in_.kv_heads),
        kv_head_(kv_head),
        scale_(static_cast<T>(1.0 / std::sqrt(static_cast<double>(size_)))) {}

  void Forward() {
    TransposeRows(task_.k, &work_.keys);
    for (size_t first = 0; first < in_.queries(); first += kQueryBlock) {
      BeginBlock(first);
      for (size_t g = 0; g < group_; ++g) {
        ForwardHead(kv_head_ * group_ + g);
      }
    }
  }

  void Backward() {
    TransposeRows(task_.k, &work_.keys);
    TransposeRows(task_.v, &work_.values);
    for (size_t token = 0; token < in_.tokens; ++token) {
      std::fill_n(task_.dk + token * kv_stride_ + kv_head_ * size_, size_, T{0});
      std::fill_n(task_.dv + token * kv_stride_ + kv_head_ * size_, size_, T{0});
    }
    for (size_t first = 0; first < in_.queries(); first += kQueryBlock) {
      BeginBlock(first);
      for (size_t g = 0; g < group_; ++g) {
        BackwardHead(kv_head_ * group_ + g);
      }
    }
  }

 private:
  struct Columns {
    size_t begin = 0;
    size_t end = 0;
  };

  void TransposeRows(const T* rows, std::vector<T>* to) {
    T* out = Space(size_ * padded_, to);
    Transpose(rows + kv_head_ * size_, kv_stride_, in_.tokens, size_, T{1}, out, padded_);
    for (size_t i = 0; i < size_; ++i) {
      std::fill(out + i * padded_ + in_.tokens, out + (i + 1) * padded_, T{0});
    }
  }

  // Finds the keys that the block's queries see: one or two segments, rounded to whole vectors.
  void BeginBlock(size_t first) {
    first_ = first;
    count_ = std::min(kQueryBlock, in_.queries() - first);
    std::array<KeyRange, 2> all;
    seen_.resize(count_);
    for (size_t i = 0; i < count_; ++i) {
      seen_[i] = KeysVisibleTo(in_, in_.RowOf(first + i));
      for (size_t r = 0; r < 2; ++r) {
        const KeyRange& range = seen_[i][r];
        if (!range.empty()) {
          all[r].begin = all[r].empty() ? range.begin : std::min(all[r].begin, range.begin);
          all[r].end = std::max(all[r].end, range.end);
        }
      }
    }
    segments_.clear();
    columns_ = 0;
    for (const KeyRange& range : all) {
      if (range.empty()) {
        continue;
      }
      const size_t begin = range.begin / kKeyStep * kKeyStep;
      const size_t end = (range.end + kKeyStep - 1) / kKeyStep * kKeyStep;
      if (!segments_.empty() && begin < segments_.back().end) {  // the rounded segments overlap
        segments_.back().end = std::max(segments_.back().end, end);
      } else {
        segments_.push_back({begin, end, columns_});
      }
      columns_ = segments_.back().column + segments_.back().end - segments_.back().begin;
    }
  }

  // Computes the scores of the block: rows of `a` (q_stride_ apart) times transposed keys or
  // values.
  void Score(const T* a, const std::vector<T>& transposed, T* out) const {
    for (const Segment& segment : segments_) {
      MultiplyAb<T>({.a = a,
                     .a_stride = q_stride_,
                     .rows = count_,
                     .inner = size_,
                     .b = transposed.data() + segment.begin,
                     .b_stride = padded_,
                     .columns = segment.end - segment.begin,
                     .y = out + segment.column,
                     .y_stride = columns_});
    }
  }

  // Computes y (rows of the block, q_stride_ apart) = weights times keys or values.
  void Gather(const T* weights, const T* rows, T* y) const {
    bool accumulate = false;
    for (const Segment& segment : segments_) {
      MultiplyAb<T>({.a = weights + segment.column,
                     .a_stride = columns_,
                     .rows = count_,
                     .inner = std::min(segment.end, in_.tokens) - segment.begin,
                     .b = rows + segment.begin * kv_stride_ + kv_head_ * size_,
                     .b_stride = kv_stride_,
                     .columns = size_,
                     .y = y,
                     .y_stride = q_stride_,
                     .accumulate = accumulate});
      accumulate = true;
    }
  }

  // Adds the transposed weights times the rows of the block to rows of keys or values.
  void Scatter(const T* weights, const T* block, T* rows) {
    T* turned = Space(columns_ * count_, &work_.turned);
    Transpose(weights, columns_, count_, columns_, T{1}, turned, count_);
    for (const Segment& segment : segments_) {
      MultiplyAb<T>({.a = turned + segment.column * count_,
                     .a_stride = count_,
                     .rows = std::min(segment.end, in_.tokens) - segment.begin,
                     .inner = count_,
                     .b = block,
                     .b_stride = q_stride_,
                     .columns = size_,
                     .y = rows + segment.begin * kv_stride_ + kv_head_ * size_,
                     .y_stride = kv_stride_,
                     .accumulate = true});
    }
  }

  // Returns the columns of a query's visible keys, ascending; the second range may be empty.
  std::array<Columns, 2> Seen(size_t query) const {
    std::array<Columns, 2> columns;
    size_t found = 0;
    for (const KeyRange& range : seen_[query]) {
      for (const Segment& segment : segments_) {
        if (!range.empty() && range.begin >= segment.begin && range.end <= segment.end) {
          columns[found++] = {segment.column + range.begin - segment.begin,
                              segment.column + range.end - segment.begin};
          break;
        }
      }
    }
    return columns;
  }

  // Sets the columns that a query does not see to zero.
  void ClearUnseen(const std::array<Columns, 2>& seen, T* row) const {
    size_t at = 0;
    for (const Columns& columns : seen) {
      if (columns.begin < columns.end) {
        std::fill(row + at, row + columns.begin, T{0});
        at = columns.end;
      }
    }
    std::fill(row + at, row + columns_, T{0});
  }

  size_t Offset(size_t head) const { return first_ * q_stride_ + head * size_; }
  T& LogMass(size_t query, size_t head) const {
    return task_.log_mass[(first_ + query) * in_.heads + head];
  }

  void ForwardHead(size_t head) {
    T* weights = Space(kQueryBlock * columns_, &work_.weights);
    Score(task_.q + Offset(head), work_.keys, weights);
    for (size_t i = 0; i < count_; ++i) {
      T* row = weights + i * columns_;
      const auto seen = Seen(i);
      T largest = Largest(row + seen[0].begin, seen[0].end - seen[0].begin);
      if (seen[1].begin < seen[1].end) {
        largest = std::max(largest, Largest(row + seen[1].begin, seen[1].end - seen[1].begin));
      }
      ClearUnseen(seen, row);
      T mass{0};
      for (const Columns& columns : seen) {
        mass +=
            ExpAffine(row + columns.begin, columns.end - columns.begin, scale_, scale_ * largest);
      }
      LogMass(i, head) = scale_ * largest + std::log(mass);
      const T inverse = T{1} / mass;
      for (size_t c = 0; c < columns_; ++c) {
        row[c] *= inverse;
      }
    }
    Gather(weights, task_.v, task_.context + Offset(head));
  }

  void BackwardHead(size_t head) {
    const T* q = task_.q + Offset(head);
    const T* dcontext = task_.dcontext + Offset(head);
    T* weights = Space(kQueryBlock * columns_, &work_.weights);
    T* dweights = Space(kQueryBlock * columns_, &work_.dweights);
    Score(q, work_.keys, weights);
    Score(dcontext, work_.values, dweights);
    for (size_t i = 0; i < count_; ++i) {
      T* row = weights + i * columns_;
      const auto seen = Seen(i);
      ClearUnseen(seen, row);
      for (const Columns& columns : seen) {
        ExpAffine(row + columns.begin, columns.end - columns.begin, scale_, LogMass(i, head));
      }
    }
    Scatter(weights, dcontext, task_.dv);
    // The derivative of a score is weight * (dweight - sum of weight * dweight), and that sum
    // equals dcontext . context.
    for (size_t i = 0; i < count_; ++i) {
      const T* context = task_.context + Offset(head) + i * q_stride_;
      T pull{0};
      for (size_t c = 0; c < size_; ++c) {
        pull += dcontext[i * q_stride_ + c] * context[c];
      }
      T* row = weights + i * columns_;
      const T* drow = dweights + i * columns_;
      for (size_t c = 0; c < columns_; ++c) {
        row[c] *= (drow[c] - pull) * scale_;
      }
    }
    Gather(weights, task_.k, task_.dq + Offset(head));
    Scatter(weights, q, task_.dk);
  }

  const AttentionTask<T>& task_;
  const AttentionInput& in_;
  Workspace<T>& work_;
  const size_t size_;
  const size_t padded_;
  const size_t q_stride_;
  const size_t kv_stride_;
  const size_t group_;
  const size_t kv_head_;
  const T scale_;

  // The current block
  size_t first_ = 0;
  size_t count_ = 0;
  size_t columns_ = 0;
  std::vector<Segment> segments_;
  std::vector<VisibleKeys> seen_;
};

template <typename T, typename Body>
void ForEachGroup(ParallelRunner& runner, std::span<const AttentionTask<T>> tasks,
                  const Body& body) {
  if (tasks.empty()) {
    return;
  }
  const size_t kv_heads = tasks.front().mask.kv_heads;
  runner.For(tasks.size() * kv_heads, 1, [&](size_t begin, size_t end) {
    thread_local Workspace<T> work;
    for (size_t i = begin; i < end; ++i) {
      HeadGroup<T> group(tasks[i / kv_heads], i % kv_heads, work);
      body(group);
    }
  });
}

}  // namespace

template <typename T>
void AttentionForward(ParallelRunner& runner, std::span<const AttentionTask<T>> tasks) {
  ForEachGroup(runner, tasks, [](HeadGroup<T>& group) { group.Forward(); });
}

template <typename T>
void AttentionBackward(ParallelRunner& runner, std::span<const AttentionTask<T>> tasks) {
  ForEachGroup(runner, tasks, [](HeadGroup<T>& group) { group.Backward(); });
}

template void AttentionForward(ParallelRunner&, std::span<const AttentionTask<float>>);
template void AttentionForward(ParallelRunner&, std::span<const AttentionTask<double>>);
template void AttentionBackward(ParallelRunner&, std::span<const AttentionTask<float>>);
template void AttentionBackward(ParallelRunner&, std::span<const AttentionTask<double>>);

}  // namespace ruvd::inference::train
