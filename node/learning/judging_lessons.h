// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

namespace ruvd::learning {

// Whether a lesson judges what peers send: a quarter of all, by a hash of its id. The own core is
// not taught it, where its pattern has others.
bool JudgesUpdates(std::string_view response_id);

}  // namespace ruvd::learning
