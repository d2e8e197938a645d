// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "node/actors/learning_actor.h"
#include "node/learning/learning.h"
#include "node/runtime/actor.h"
#include "node/runtime/ask.h"
#include "storage/changes/change_store.h"

namespace ruvd::actors {

// The requests to the background actor. Each gets one reply.
struct FeedbackMessage {
  learning::Feedback feedback;
  runtime::ReplyTo<learning::FeedbackAnswer> reply;
};
struct UndoMessage {
  std::string token;
  runtime::ReplyTo<storage::LearningChange> reply;
};
struct ListMessage {
  size_t count = 0;
  runtime::ReplyTo<std::vector<storage::LearningChange>> reply;
};
struct PauseMessage {
  bool paused = false;
  runtime::ReplyTo<learning::LearningStatus> reply;
};
struct StatusMessage {
  runtime::ReplyTo<learning::LearningStatus> reply;
};
struct RunMessage {
  bool replay = false;
  runtime::ReplyTo<learning::BackgroundRoundSummary> reply;
};
// The actor sends this one to itself. It has no reply.
struct AgeCheck {};
using BackgroundMessage = std::variant<FeedbackMessage, UndoMessage, ListMessage, PauseMessage,
                                       StatusMessage, RunMessage, AgeCheck>;

// Makes the actor that owns waiting lessons, background rounds, undo and pause. Everything that
// `options` point to must outlive the actor.
std::unique_ptr<runtime::Actor<BackgroundMessage>> MakeBackgroundActor(
    const LearningActorOptions& options);

}  // namespace ruvd::actors
