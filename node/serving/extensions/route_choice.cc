// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/route_choice.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "inference/router/first_forward.h"
#include "node/serving/extensions/route_options.h"

namespace ruvd::serving {
namespace {

class RoutedCompletion final : public RequestExtension {
 public:
  explicit RoutedCompletion(RequestRouter& router) : router_(router) {}

  void BeforeFirstForward(ServedRequest& request, inference::Transformer& transformer) override;
  void AfterEnd(const ServedRequest& request, RequestEnd* end) override;

 private:
  inference::RequestFeatures FactsOf(const ServedRequest& request,
                                     inference::Transformer& transformer) const;

  RequestRouter& router_;
  std::optional<RoutedRequest> routed_;  // the router's choice, if it made one
};

void RoutedCompletion::BeforeFirstForward(ServedRequest& request,
                                          inference::Transformer& transformer) {
  const inference::Model& model = transformer.model();
  const GenerationJob& job = request.job();
  const inference::RouteSet open = AvailableRoutes(job, request.mode(), request.AdaptersMayAct());
  absl::StatusOr<inference::SamplingOptions> options = request.Options(model);
  if (open.count() == 1 || !options.ok()) {
    return;
  }
  const RoutedRequest routed = router_.Choose(FactsOf(request, transformer), open);
  const inference::Route& route = NodeRoutes().at(routed.decision.route);
  if (route.tokens_per_step > 0 || !route.cache.empty()) {
    // This may need more memory than the node has.
    if (!request
             .Replace(model, WithRoute(route, *std::move(options), request.mode(),
                                       TokensToGenerate(job), model.config().block_length))
             .ok()) {
      return;
    }
  }
  routed_ = routed;
  request.trace().RecordRoute(route.name, routed.decision.probability);
  if (route.adapters == false) {
    request.DropAdapters();
  }
}

inference::RequestFeatures RoutedCompletion::FactsOf(const ServedRequest& request,
                                                     inference::Transformer& transformer) const {
  const GenerationJob& job = request.job();
  const inference::Generation& generation = request.generation();
  const inference::DecodingMode mode = request.mode();
  inference::RequestFeatures facts{
      .prompt_tokens = generation.prompt_length(),
      .max_tokens = TokensToGenerate(job),
      .diffusion = mode == inference::DecodingMode::kDiffusion,
      .block = mode == inference::DecodingMode::kBlock,
      .autoregressive = mode == inference::DecodingMode::kAutoregressive,
      .infill = !job.parts.empty(),
      .chat = !job.conversation.messages.empty(),
      .temperature = job.options.temperature,
      .queue_share = request.queue_share(),
      .kv_share = request.kv_share()};
  for (const AdapterUse& use : request.adapters().uses) {
    facts.pattern_similarity = std::max(facts.pattern_similarity, use.similarity);
  }
  if (const std::optional<double> left = request.seconds_left()) {
    facts.deadline_s = static_cast<float>(*left);
  }
  if (router_.options().kind == inference::ScorerKind::kCascade) {
    const auto prompt =
        std::span(generation.tokens()).first(static_cast<size_t>(generation.prompt_length()));
    if (const auto first = inference::ReadFirstForward(transformer, prompt, mode, facts.max_tokens);
        first.ok()) {
      facts.first_entropy = first->entropy;
      facts.first_confidence = first->confidence;
    }
  }
  return facts;
}

void RoutedCompletion::AfterEnd(const ServedRequest& request, RequestEnd* end) {
  if (!routed_) {
    return;
  }
  const inference::RoutingDecision& decision = routed_->decision;
  const std::string& name = NodeRoutes().at(decision.route).name;
  storage::TrajectoryRoute taken{.name = name,
                                 .features = {routed_->features.begin(), routed_->features.end()},
                                 .propensity = static_cast<float>(decision.propensity),
                                 .probability = static_cast<float>(decision.probability),
                                 .explored = decision.explored,
                                 .seconds = static_cast<float>(std::max(0.0, request.seconds())),
                                 .tokens = static_cast<uint32_t>(TokensToGenerate(request.job()))};
  for (size_t i = 0; i < kNodeRoutes; ++i) {
    if (routed_->open[i] && i != decision.route) {
      taken.others.push_back(NodeRoutes().at(i).name);
    }
  }
  end->trajectory.route = std::move(taken);
  end->finished.route =
      RouteUse{.name = name, .probability = decision.probability, .explored = decision.explored};
}

}  // namespace

std::unique_ptr<RequestExtension> RouteChoice::Extend(const GenerationJob& /*job*/) {
  return std::make_unique<RoutedCompletion>(router_);
}

}  // namespace ruvd::serving
