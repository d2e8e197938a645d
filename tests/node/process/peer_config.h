// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/gossip_core.h"
#include "federation/learner/plan.h"
#include "inference/adapter/core_shape.h"
#include "inference/package/model_package.h"
#include "node/config/config.h"
#include "node/process/learner_options.h"
#include "node/process/node_frame.h"

namespace ruvd::node {

// Returns the configuration of a peer that has the model, the shipped frame and the plan of a node
// with this configuration. Errors are those of loading the model and of LearnerPlanOf, and
// FRAME_MISMATCH for a model without a frame beside it.
inline absl::StatusOr<federation::GossipConfig> MakePeerConfig(const config::NodeConfig& node,
                                                               privacy::AdmissionCert certificate) {
  ASSIGN_OR_RETURN(const inference::ModelPackage package,
                   inference::LoadModelPackage(node.model.path));
  if (package.frame == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "the model {} has no frame file beside it; make one with `ruvd model frame`",
                 node.model.path);
  }
  ASSIGN_OR_RETURN(const inference::CoreShape shape,
                   inference::CoreShapeOf(*package.frame, RankOf(node), {}));
  ASSIGN_OR_RETURN(federation::LearnerPlan plan, LearnerPlanOf(node, shape));
  federation::GossipConfig config;
  config.certificate = std::move(certificate);
  config.model_hash = package.id;
  config.frame_id = package.frame->id;
  config.plan = std::make_shared<const federation::LearnerPlan>(std::move(plan));
  config.pattern_rules = {.dimension = static_cast<uint32_t>(package.model->config().width),
                          .cores = PatternCoreRules(*package.frame, package.model->config())};
  return config;
}

// Returns the same for tests, whose model is good.
inline federation::GossipConfig ConfigOfPeer(const config::NodeConfig& node,
                                             privacy::AdmissionCert certificate) {
  return MakePeerConfig(node, std::move(certificate)).value();
}

}  // namespace ruvd::node
