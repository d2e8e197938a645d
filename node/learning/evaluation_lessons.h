// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

namespace ruvd::learning {

// Returns whether a lesson evaluates updates of peers: a quarter of all lessons does, chosen by a
// hash of the id. What this node contributes to rounds is not trained on them.
bool IsEvaluationLesson(std::string_view response_id);

}  // namespace ruvd::learning
