// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/prefix/prefix_tree.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/retrieval/uncertainty.h"
#include "inference/retrieval/whitening.h"
#include "node/serving/adapter_source.h"
#include "node/serving/compute_task.h"
#include "node/serving/erasure_fence.h"
#include "node/serving/inference.h"
#include "node/serving/instant_loop.h"
#include "node/serving/pattern_graph.h"
#include "node/serving/request_router.h"
#include "node/serving/request_trace.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::serving {

// The entropy that is usual at each t, by decoding mode, because entropy depends on the mode.
using UsualEntropy = std::map<inference::DecodingMode, inference::TimestepStatistics>;

// What all generations share. Everything is borrowed and must outlive every task.
struct GenerationServices {
  const Clock* clock = nullptr;
  AdapterSource* adapters = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  const inference::Whitening* whitening = nullptr;  // applied to embeddings; null: none
  Digest package_id{};                              // the package that computes embeddings
  std::string model_name = {};                      // the model that serves
  std::shared_ptr<inference::PrefixTree> prefixes;  // null: no prefixes are shared
  // The sampler of completions in the masked modes that ask for none; nullopt: the engine's choice.
  std::optional<inference::SamplerKind> sampler = std::nullopt;
  int max_tokens_limit = 0;             // new tokens per completion; 0: as many as fit the context
  RequestRecorder* recorder = nullptr;  // null: requests are not recorded
  // Called with the request's user at admission, so that the user's key is made meanwhile. Must not
  // block.
  std::function<void(const std::string& user_id)> expect_user = nullptr;
  InstantLoop* instant = nullptr;  // null: sessions remember nothing
  ErasureFence* fence = nullptr;   // null: users are not erased
  // When a completion asks for other adapters; nullopt: never.
  std::optional<inference::DgrOptions> dgr = std::nullopt;
  // The usual entropy by t; set together with dgr. Used on the compute thread only.
  UsualEntropy* usual_entropy = nullptr;
  const PatternGraph* graph = nullptr;  // null: sessions have no relations to patterns
  RequestRouter* router = nullptr;      // null: requests are served as asked
  // Returns the share of the queue in use, in [0, 1], for the router. Empty: unknown.
  std::function<float()> queue_share = nullptr;
};

// A conversation as the model sees it: the text for people, and the tokens. Markers become control
// tokens; message contents never do.
struct ChatPrompt {
  std::string text;
  std::vector<inference::TokenId> tokens;
};
// Writes a conversation up to where the assistant's answer begins. Returns MODEL_UNSUPPORTED if no
// format is given and the model has no chat template or an unknown one, and the errors of
// ApplyChatTemplate.
absl::StatusOr<ChatPrompt> WriteConversation(const inference::Model& model,
                                             const Conversation& conversation);

// Returns the tokens of a text with gaps, with kNoToken for each token to fill in. The canvas
// begins like a prompt.
std::vector<inference::TokenId> CanvasTokens(const inference::Model& model,
                                             const std::vector<TextPart>& parts);

// Returns the tokens of a prompt as the model expects them: after the beginning-of-text token if
// the model's file asks for it. Otherwise an empty prompt becomes the end-of-text token, which
// separates documents in training.
std::vector<inference::TokenId> PromptTokens(const inference::Model& model,
                                             std::string_view prompt);

// One completion from admission to trajectory: the first slice embeds the prompt and chooses
// adapters, then it denoises round by round, and at the end it stores the trajectory.
class GenerationTask final : public ComputeTask {
 public:
  GenerationTask(GenerationServices services, std::string response_id, GenerationJob job);

  bool NeedsPreparation() const override {
    return job_.use_adapters && services_.adapters->ReadsFiles(job_.adapters);
  }
  void Prepare() override { held_ = services_.adapters->ReadFiles(job_.adapters); }
  bool RunSlice(inference::Transformer& transformer) override;
  void Fail(const absl::Status& status) override;
  bool EndIfUnwanted() override;
  inference::Generation* generation() override {
    return begun_generation_ ? generation_.get() : nullptr;
  }
  bool TakeRound(inference::RoundResult round) override;

 private:
  // Returns an error if the request is cancelled or past its deadline.
  absl::Status CheckWanted() const;
  absl::Status Begin(inference::Transformer& transformer);
  // Sets mode_, for a conversation chat_, and then generation_. Returns the given tokens.
  absl::StatusOr<std::vector<inference::TokenId>> Create(const inference::Model& model);
  absl::StatusOr<std::vector<inference::TokenId>> CreateWith(
      const inference::Model& model, const inference::SamplingOptions& options);
  // Lets the router choose what the job leaves open, once adapters are chosen. If the router's
  // choice cannot be served, the request is served as asked.
  void TakeRoute(inference::Transformer& transformer);
  inference::RequestFacts Facts(inference::Transformer& transformer) const;
  // Returns the route for the trajectory, or nullopt if the router chose nothing.
  std::optional<storage::TrajectoryRoute> RouteTaken() const;
  // Returns whether adapters of patterns may act on this completion.
  bool UsesAdapters() const;
  // Returns the job's options, completed by the node's own settings.
  absl::StatusOr<inference::SamplingOptions> Options(const inference::Model& model) const;
  // Takes other adapters from the next step on if this step was uncertain.
  void WatchUncertainty(const inference::StepSignals& signals);
  // Returns the factor for patterns that follows from the session's memory, if the request takes
  // part in it, and from its relations; null if it has neither. The function is valid as long as
  // this object.
  AdapterSource::PatternFactor SessionFactor() const;
  // Returns the session whose memory the request takes part in. Its id is empty if it takes part in
  // none.
  InstantSession Remembered() const;
  void NoteCommits(const inference::StepResult& step);
  absl::Status Advance(inference::RoundResult round);
  absl::Status Finish();
  // Stores the trajectory, which later feedback refers to, and what the session may learn.
  void Keep();
  // Runs `leave`, which stores something of the request, and then `record`, which ends the trace.
  // If the user was erased meanwhile, runs `record` only, without the user's data.
  void LeaveBehind(const std::function<void()>& leave, const std::function<void()>& record);
  storage::Trajectory MakeTrajectory() const;
  // Returns all adapters that served a step, those in use first.
  std::vector<AdapterUse> AllUses() const;

  const GenerationServices services_;
  const std::string response_id_;
  const GenerationJob job_;
  const TimePoint admitted_;
  TimePoint begun_{};
  RequestTrace trace_;
  std::vector<float> embedding_;
  // Adapters whose files were read for this request, held until it has chosen. After a failed read,
  // the choice returns the error.
  absl::StatusOr<std::vector<RangedPart>> held_ = std::vector<RangedPart>();
  ChosenAdapters selection_;
  std::vector<AdapterUse> former_;  // adapters that served earlier steps
  inference::DgrHistory dgr_history_;
  inference::DecodingMode mode_ = inference::DecodingMode::kDiffusion;
  std::optional<RoutedRequest> routed_;  // the router's choice, if it made one
  std::unique_ptr<inference::Generation> generation_;
  ChatPrompt chat_;                        // set for a conversation
  std::vector<inference::Commit> tokens_;  // by position, if log-probabilities are asked for
  bool begun_generation_ = false;          // adapters are chosen and steps may follow
  std::vector<float> step_t_;
  std::vector<float> step_entropy_;
};

}  // namespace ruvd::serving
