// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/engine/generation.h"
#include "inference/instant/instant_memory.h"
#include "inference/memory/memory_reader.h"
#include "node/serving/generation_services.h"
#include "node/serving/inference.h"
#include "node/serving/prompt_tokens.h"

namespace ruvd::serving {

// Returns the number of tokens that a job wants to be generated.
int TokensToGenerate(const GenerationJob& job);

// The end of a completion: what is stored of it and what its caller hears.
struct RequestEnd {
  storage::Trajectory trajectory;
  GenerationFinished finished;
  // Called in order after the trajectory is stored, on a thread that may block; not called if the
  // user was erased meanwhile.
  std::vector<std::function<void()>> leave;
};

// One request while it is served: its job, the adapters that act and its completion. Not
// thread-safe.
class ServedRequest {
 public:
  // `services` must outlive the object.
  ServedRequest(const GenerationServices& services, std::string response_id, GenerationJob job);

  // --- What a request says of itself ---
  const GenerationJob& job() const { return job_; }
  const std::string& response_id() const { return response_id_; }
  TimePoint admitted() const { return admitted_; }
  // Returns the seconds since the first slice.
  double seconds() const;
  // Returns the seconds until the deadline, at least 0; nullopt without a deadline.
  std::optional<double> seconds_left() const;
  // Returns the shares in use of the queue and of the memory for keys and values, in [0, 1].
  float queue_share() const { return services_.queue_share(); }
  float kv_share() const;
  inference::DecodingMode mode() const { return mode_; }
  // The embedding of the prompt; empty if nothing was searched by it.
  const std::vector<float>& embedding() const { return embedding_; }
  // The completion; valid from the moment BeforeFirstForward to AfterEnd.
  const inference::Generation& generation() const { return *generation_; }
  // The adapters of the next step.
  const ChosenAdapters& adapters() const { return adapters_; }
  // Returns whether an adapter acts, or an extension may still choose one.
  bool AdaptersMayAct() const { return !adapters_.uses.empty() || watched_; }
  // Returns all adapters that served a step, those in use first.
  std::vector<AdapterUse> AllUsedAdapters() const;
  // Returns the product of the extensions' factors; null if no extension has a factor.
  const AdapterSource::PatternFactor& pattern_factor() const { return factor_; }

  // --- What an extension may change ---
  // Uses these adapters from the next step on; before the first step, instead of those chosen.
  void SetAdapters(ChosenAdapters next);
  // Notes that adapters were searched for after the step.
  void NoteRetrieval() { retrieved_ = true; }
  // The functions below may be called only before the first forward.
  // Returns the job's options, completed by the node's own settings. Returns INVALID_ARGUMENT if
  // the job asks for more tokens than the node allows.
  absl::StatusOr<inference::SamplingOptions> Options(const inference::Model& model) const;
  // Serves the request with other options. After an error (those of Generation::Create), the
  // former ones stay.
  absl::Status Replace(const inference::Model& model, const inference::SamplingOptions& options);
  // Serves the request without any adapter.
  void DropAdapters();
  // Lets `memory` change the completion (null changes nothing), and records its commits.
  void SetInstantMemory(std::shared_ptr<const inference::InstantMemory> memory);
  // Lets the memory of a reader take part in the choice of every token; null: none does.
  void SetTokenMemory(std::unique_ptr<inference::MemoryReader> reader);
  // What the witness log will say of the request.
  RequestTrace& trace() { return trace_; }

 private:
  // The task that serves the request drives it through what follows.
  friend class GenerationTask;

  // Reads the files that the choice of adapters needs; see AdapterSource.
  bool NeedsFiles() const;
  void ReadFiles();
  // Begins the first slice.
  void Begin(const inference::Model& model);
  // Sets the mode, for a conversation its text, and the generation. Returns the given tokens.
  absl::StatusOr<std::vector<inference::TokenId>> Create(const inference::Model& model);
  // Chooses adapters for the given tokens, which are embedded if the choice needs it or if `wanted`
  // asks for it.
  absl::Status ChooseAdapters(inference::Transformer& transformer,
                              std::span<const inference::TokenId> given, bool wanted);
  // Ends the time in which the request may be changed. `watcher` sees the steps if an extension
  // watches them and adapters are used.
  void Start(inference::Generation::StepWatcher watcher);
  // Returns what the caller hears when the first step is about to come.
  GenerationStarted Started(const inference::Model& model, size_t prompt_tokens) const;
  // Returns whether adapters were searched for after the last step.
  bool TakeRetrieval() { return std::exchange(retrieved_, false); }
  // Keeps what a step did, for the trajectory and the answer.
  void RecordStep(const inference::StepResult& step);
  // Returns the end of a completion that is done, without the parts of extensions.
  RequestEnd End();

  absl::StatusOr<std::vector<inference::TokenId>> CreateWith(
      const inference::Model& model, const inference::SamplingOptions& options);
  absl::Status Embed(inference::Transformer& transformer,
                     std::span<const inference::TokenId> given);
  void RecordCommits(const inference::StepResult& step);
  storage::Trajectory MakeTrajectory() const;

  const GenerationServices& services_;
  const std::string response_id_;
  const GenerationJob job_;
  const TimePoint admitted_;
  TimePoint begun_{};
  RequestTrace trace_;
  // Adapters whose files were read for this request, held until it has chosen. After a failed read,
  // the choice returns the error.
  absl::StatusOr<std::vector<RangedPart>> held_ = std::vector<RangedPart>();
  std::vector<float> embedding_;
  AdapterSource::PatternFactor factor_;
  ChosenAdapters adapters_;
  std::vector<AdapterUse> former_;  // adapters that served earlier steps
  bool uses_adapters_;              // even if none is near enough to act now
  bool watched_ = false;            // an extension watches the steps and may choose other adapters
  inference::DecodingMode mode_ = inference::DecodingMode::kDiffusion;
  std::unique_ptr<inference::Generation> generation_;
  bool remembers_ = false;
  std::shared_ptr<const inference::InstantMemory> memory_;
  std::unique_ptr<inference::MemoryReader> reader_;
  bool retrieved_ = false;
  int prompt_tokens_ = 0;                  // given tokens, set by Create
  ChatPrompt chat_;                        // set for a conversation
  std::vector<inference::Commit> tokens_;  // by position, if log-probabilities are asked for
  std::vector<float> step_t_;
  std::vector<float> step_entropy_;
};

}  // namespace ruvd::serving
