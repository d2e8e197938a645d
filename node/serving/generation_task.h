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

// By decoding mode, which entropy depends on: what is usual by t.
using UsualEntropy = std::map<inference::DecodingMode, inference::TimestepStatistics>;

// What generations share. All borrowed; they outlive every task.
struct GenerationServices {
  const Clock* clock = nullptr;
  AdapterSource* adapters = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  const inference::Whitening* whitening = nullptr;  // of embeddings; null: none
  Digest package_id{};                              // of the model that embeds
  std::string model_name = {};                      // of the model that serves
  std::shared_ptr<inference::PrefixTree> prefixes;  // null: none are shared
  // Of completions in the masked modes that ask for no sampler; nullopt: the engine's choice.
  std::optional<inference::SamplerKind> sampler = std::nullopt;
  int max_tokens_limit = 0;  // new tokens of one completion; 0: whatever fits the context
  RequestRecorder* recorder = nullptr;  // null: nobody wants to know
  // Hears of a request's user when it is admitted, to make the user's key meanwhile; must not wait.
  std::function<void(const std::string& user_id)> expect_user = nullptr;
  InstantLoop* instant = nullptr;  // null: sessions remember nothing
  ErasureFence* fence = nullptr;   // null: nobody is erased
  // When a completion asks for other adapters; nullopt: never.
  std::optional<inference::DgrOptions> dgr = std::nullopt;
  // What entropy is usual by t; with dgr. Used on the compute thread only.
  UsualEntropy* usual_entropy = nullptr;
  const PatternGraph* graph = nullptr;  // null: sessions have no relations to patterns
  RequestRouter* router = nullptr;      // null: requests are served as they ask for
  // Share of the queue that is in use; for the router. Empty: nobody knows.
  std::function<float()> queue_share = nullptr;
};

// A conversation as the model sees it: the text for people, and the tokens, in which markers are
// control tokens and contents never are.
struct ChatPrompt {
  std::string text;
  std::vector<inference::TokenId> tokens;
};
// Up to where the assistant's answer begins. MODEL_UNSUPPORTED where the model has no chat template
// or one we do not know, and no format is given; else the errors of ApplyChatTemplate.
absl::StatusOr<ChatPrompt> WriteConversation(const inference::Model& model,
                                             const Conversation& conversation);

// The tokens of a text with gaps, kNoToken where one is to be filled. It begins as a prompt does.
std::vector<inference::TokenId> CanvasTokens(const inference::Model& model,
                                             const std::vector<TextPart>& parts);

// The tokens of a prompt as the model wants to see them: behind the beginning-of-text token where
// the model's file says so; else an empty prompt becomes the end-of-text token, which separates
// documents in training.
std::vector<inference::TokenId> PromptTokens(const inference::Model& model,
                                             std::string_view prompt);

// One completion from admission to trajectory: embed the prompt and choose adapters in its first
// slice, then denoise round by round, store.
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
  // Cancelled or past its deadline.
  absl::Status CheckWanted() const;
  absl::Status Begin(inference::Transformer& transformer);
  // Sets mode_ and, for a conversation, chat_; then generation_. Returns the given tokens.
  absl::StatusOr<std::vector<inference::TokenId>> Create(const inference::Model& model);
  absl::StatusOr<std::vector<inference::TokenId>> CreateWith(
      const inference::Model& model, const inference::SamplingOptions& options);
  // Lets the router choose what the job leaves open, once adapters are chosen. What cannot be
  // served as it chose is served as asked.
  void TakeRoute(inference::Transformer& transformer);
  inference::RequestFacts Facts(inference::Transformer& transformer) const;
  // Of what was chosen; none where nothing was.
  std::optional<storage::TrajectoryRoute> RouteTaken() const;
  // Whether adapters of patterns may act on it.
  bool UsesAdapters() const;
  // The job's options with the node's own settings.
  absl::StatusOr<inference::SamplingOptions> Options(const inference::Model& model) const;
  // Takes other adapters from the next step on where the step was uncertain.
  void WatchUncertainty(const inference::StepSignals& signals);
  // What the session's memory, if it takes part in it, and its relations say of patterns; null:
  // nothing. Valid as long as this.
  AdapterSource::PatternFactor SessionFactor() const;
  // The session whose memory it takes part in; without an id where it does not.
  InstantSession Remembered() const;
  void NoteCommits(const inference::StepResult& step);
  absl::Status Advance(inference::RoundResult round);
  absl::Status Finish();
  // Stores what feedback may come for, and what the session may learn.
  void Keep();
  // Runs `leave`, which leaves something of the request behind, and then `record`, which ends the
  // trace; where the user was erased meanwhile only that, without what was the user's.
  void LeaveBehind(const std::function<void()>& leave, const std::function<void()>& record);
  storage::Trajectory MakeTrajectory() const;
  // Adapters that served any step: those in use first.
  std::vector<AdapterUse> AllUses() const;

  const GenerationServices services_;
  const std::string response_id_;
  const GenerationJob job_;
  const TimePoint admitted_;
  TimePoint begun_{};
  RequestTrace trace_;
  std::vector<float> embedding_;
  // Adapters read for it, until it has chosen; where that failed, choosing says why.
  absl::StatusOr<std::vector<RangedPart>> held_ = std::vector<RangedPart>();
  ChosenAdapters selection_;
  std::vector<AdapterUse> former_;  // adapters that served earlier steps
  inference::DgrHistory dgr_history_;
  inference::DecodingMode mode_ = inference::DecodingMode::kDiffusion;
  std::optional<RoutedRequest> routed_;  // what the router chose, where it did
  std::unique_ptr<inference::Generation> generation_;
  ChatPrompt chat_;                        // of a conversation
  std::vector<inference::Commit> tokens_;  // by position, where log-probabilities are asked for
  bool begun_generation_ = false;          // adapters are chosen, steps may follow
  std::vector<float> step_t_;
  std::vector<float> step_entropy_;
};

}  // namespace ruvd::serving
