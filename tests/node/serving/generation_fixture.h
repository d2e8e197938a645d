// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/bank.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/serving/compute_round.h"
#include "node/serving/extensions/session_memory.h"
#include "node/serving/generation_task.h"
#include "node/serving/pattern_payload.h"
#include "tests/inference/counting_transformer.h"
#include "tests/inference/text_model.h"
#include "tests/node/database_fixture.h"

namespace ruvd::serving {

class KeptEnd final : public GenerationListener {
 public:
  void OnStarted(const GenerationStarted&) override {}
  void OnStep(const inference::StepResult& step) override { steps.push_back(step); }
  void OnEnd(const absl::StatusOr<GenerationFinished>& result) override { end = result; }
  bool cancelled() const override { return false; }

  std::vector<inference::StepResult> steps;
  absl::StatusOr<GenerationFinished> end = absl::UnknownError("it goes on");
};

class KeptEntries final : public RequestRecorder {
 public:
  void Record(storage::WitnessEntry entry) override { entries.push_back(std::move(entry)); }
  std::vector<storage::WitnessEntry> entries;
};

class GenerationTaskTest : public DatabaseTest {
 protected:
  void Use(std::shared_ptr<const inference::Model> model, uint64_t adapter_budget = 1 << 20) {
    model_ = std::move(model);
    inner_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    transformer_ = std::make_unique<test::CountingTransformer>(*inner_);
    patterns_ = storage::PatternStore::Open(
                    *database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
                    .value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    catalog_ = std::make_unique<AdapterCatalog>(
        *model_, AdapterCatalogOptions{.budget = adapter_budget,
                                       .folder = folder_ / "adapters",
                                       .public_log_frequency = public_log_frequency_});
    adapters_ = std::make_unique<AdapterSource>(*patterns_, *model_, inference::SelectionOptions(),
                                                *catalog_);
    services_ = {.clock = &clock_,
                 .adapters = adapters_.get(),
                 .trajectories = trajectories_.get(),
                 .fence = &fence_,
                 .model_name = "tiny",
                 .extensions = {&session_memory_}};
  }
  // Makes a completion that uses a session's memory.
  std::unique_ptr<GenerationTask> Task(const inference::SamplingOptions& options) {
    listener_ = std::make_shared<KeptEnd>();
    GenerationJob job;
    job.prompt = "once";
    job.options = options;
    job.session_id = "s";
    job.user_id = "ann";
    job.session_memory = true;
    job.listener = listener_;
    return std::make_unique<GenerationTask>(services_, "r", std::move(job));
  }
  void RunToEnd(GenerationTask* task) {
    std::vector<ComputeRoundTask> tasks = {{.task = task}};
    inference::StepScratch scratch;
    while (RunComputeRound(tasks, 4096, *transformer_, &scratch).turns[0] != TaskProgress::kEnded) {
    }
    ASSERT_TRUE(task->NeedsConclusion());
    EXPECT_EQ(task->generation(), nullptr);
    task->Conclude();
  }
  GenerationFinished Run(const inference::SamplingOptions& options) {
    const auto task = Task(options);
    RunToEnd(task.get());
    EXPECT_TRUE(listener_->end.ok()) << listener_->end.status();
    return listener_->end.value_or(GenerationFinished());
  }
  // Stores a pattern with an adapter that acts from the first step on, and returns its id.
  storage::PatternId PutPattern(const std::vector<float>& embedding) {
    const std::string target = "blk.1.attn_output.weight";
    const inference::Adapter adapter =
        *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 1);
    const storage::PatternId id{7};
    const absl::Status put = patterns_->Put(
        {.id = id,
         .embedding = embedding,
         .bank = static_cast<uint32_t>(inference::BankOf(1)),
         .created_ms = 1,
         .updated_ms = 1,
         .adapter_name = adapter.name,
         .adapter_version = adapter.version,
         .payload = EncodePatternPayload({.adapter = inference::EncodeAdapter(adapter)})});
    EXPECT_TRUE(put.ok()) << put;
    return id;
  }
  // Returns the token that the last run committed first, with its position.
  inference::Commit First() const { return listener_->steps.front().commits.front(); }

  std::vector<float> public_log_frequency_;  // of the catalogue that Use makes
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::Transformer> inner_;
  std::unique_ptr<test::CountingTransformer> transformer_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<AdapterCatalog> catalog_;
  std::unique_ptr<AdapterSource> adapters_;
  ErasureFence fence_{clock_};
  InstantLoop instant_{{.clock = &clock_}};
  SessionMemory session_memory_{instant_};
  GenerationServices services_;
  std::shared_ptr<KeptEnd> listener_;
};

}  // namespace ruvd::serving
