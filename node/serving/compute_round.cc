// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/compute_round.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::serving {
namespace {

// One round over the tasks; each method is a part of it.
class Round {
 public:
  Round(std::span<ComputeRoundTask> tasks, inference::Transformer& transformer,
        inference::StepScratch* scratch)
      : tasks_(tasks), transformer_(transformer), scratch_(scratch) {
    outcome_.turns.assign(tasks.size(), TaskProgress::kWaiting);
  }

  ComputeRoundOutcome Run(size_t most_rows) {
    Begin(most_rows);
    Step();
    if (completion_ended_) {
      Unpark();  // its memory is freed together with its task
    } else if (!starved_.empty()) {
      MakeRoom();
    }
    return std::move(outcome_);
  }

 private:
  // Returns the completion of a task that is neither ended nor parked, or null.
  inference::Generation* Running(size_t i) const {
    return outcome_.turns[i] == TaskProgress::kEnded || tasks_[i].parked
               ? nullptr
               : tasks_[i].task->generation();
  }

  void Begin(size_t most_rows) {
    if (std::none_of(tasks_.begin(), tasks_.end(), [](const ComputeRoundTask& entry) {
          return !entry.parked && entry.task->generation() != nullptr;
        })) {
      Unpark();
    }
    bool sliced = false;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      ComputeTask& task = *tasks_[i].task;
      const bool completion = task.generation() != nullptr;
      if (task.EndIfCancelled()) {
        outcome_.turns[i] = TaskProgress::kEnded;
        completion_ended_ = completion_ended_ || completion;
      } else if (inference::Generation* generation = Running(i); generation != nullptr) {
        const size_t rows = inference::NextForwardRows(*generation);
        if (batch_.empty() || outcome_.rows + rows <= most_rows) {
          batch_.push_back(i);
          outcome_.rows += rows;
        }
      } else if (!completion && !sliced) {
        sliced = true;
        outcome_.turns[i] =
            task.RunSlice(transformer_) ? TaskProgress::kEnded : TaskProgress::kServed;
      }
    }
    outcome_.batch = batch_.size();
  }

  void Step() {
    if (batch_.empty()) {
      return;
    }
    std::vector<inference::Generation*> generations;
    generations.reserve(batch_.size());
    for (const size_t i : batch_) {
      generations.push_back(tasks_[i].task->generation());
    }
    std::vector<inference::ForwardRoundResult> results =
        inference::StepTogether(generations, transformer_, scratch_);
    for (size_t j = 0; j < batch_.size(); ++j) {
      if (ReasonOf(results[j].status()) == reasons::kKvBudgetExceeded) {
        starved_.push_back({batch_[j], std::move(results[j])});
      } else {
        tasks_[batch_[j]].gave_back = false;
        OnForwardRound(batch_[j], std::move(results[j]));
      }
    }
  }

  void OnForwardRound(size_t i, inference::ForwardRoundResult result) {
    const bool ended = tasks_[i].task->OnForwardRound(std::move(result));
    outcome_.turns[i] = ended ? TaskProgress::kEnded : TaskProgress::kServed;
    completion_ended_ = completion_ended_ || ended;
  }

  // Makes room for the oldest completion that lacks memory: parks the youngest other one if that is
  // younger, else parks this one, so that older ones continue.
  void MakeRoom() {
    auto& oldest = *std::min_element(starved_.begin(), starved_.end(),
                                     [this](const Starved& a, const Starved& b) {
                                       return tasks_[a.index].number < tasks_[b.index].number;
                                     });
    ComputeRoundTask& task = tasks_[oldest.index];
    ComputeRoundTask* youngest = nullptr;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const inference::Generation* generation = Running(i);
      const bool holds = generation != nullptr && generation->pages_held() > 0;
      if (holds && i != oldest.index &&
          (youngest == nullptr || tasks_[i].number > youngest->number)) {
        youngest = &tasks_[i];
      }
    }
    if (youngest != nullptr) {
      Park(youngest->number > task.number ? youngest : &task);
    } else if (!task.gave_back) {  // releasing its own pages also frees shared ones that are kept
                                   // only for it
      task.task->generation()->ReleasePages();
      task.gave_back = true;
    } else {
      OnForwardRound(oldest.index, std::move(oldest.result));
    }
  }

  void Park(ComputeRoundTask* task) {
    task->task->generation()->ReleasePages();
    task->parked = true;
    ++outcome_.preempted;
  }

  void Unpark() {
    for (ComputeRoundTask& entry : tasks_) {
      entry.parked = false;
    }
  }

  struct Starved {
    size_t index;
    inference::ForwardRoundResult result;
  };

  const std::span<ComputeRoundTask> tasks_;
  inference::Transformer& transformer_;
  inference::StepScratch* const scratch_;
  ComputeRoundOutcome outcome_;
  std::vector<size_t> batch_;  // tasks whose completions step together
  std::vector<Starved> starved_;
  bool completion_ended_ = false;
};

}  // namespace

ComputeRoundOutcome RunComputeRound(std::span<ComputeRoundTask> tasks, size_t most_rows,
                                    inference::Transformer& transformer,
                                    inference::StepScratch* scratch) {
  return Round(tasks, transformer, scratch).Run(most_rows);
}

}  // namespace ruvd::serving
