// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "node/learning/deep.h"
#include "node/learning/learning.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "storage/trajectories/trajectory_store.h"

// Conversions between the messages of ruvd.learning.v1 and the node's own types.
namespace ruvd::api {

void WriteFeedbackAnswer(const learning::FeedbackAnswer& answer,
                         learning::v1::SubmitFeedbackResponse* message);
void WriteChange(const storage::LearningChange& change, learning::v1::Change* message);
void WriteRouterStatus(const learning::RouterStatus& status, learning::v1::RouterStatus* message);
void WriteLearningStatus(const learning::LearningStatus& status,
                         learning::v1::LearningStatus* message);
void WriteRoundSummary(const learning::BackgroundRoundSummary& summary,
                       learning::v1::BackgroundResult* message);
void WriteDeepResult(const learning::DeepResult& result, learning::v1::DeepResult* message);
void WriteDeepStatus(const learning::DeepStatus& status, learning::v1::DeepStatus* message);
// `text` is the text that the trajectory teaches.
void WriteLesson(const storage::Trajectory& trajectory, std::string_view text,
                 learning::v1::Lesson* message);

}  // namespace ruvd::api
