// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "node/learning/learning_services.h"

namespace ruvd::learning {

// The responses that taught patterns of this node whose adapters were trained on top of another
// version of the adapter of deep rounds than is served now, or of none where one is. They go on
// serving until a round has taught their patterns anew: on top of a newer version, which may know
// their lessons by itself, they may overshoot; behind one that was taken back they correct what is
// not there. Patterns whose lessons have all left stay as they are. Reads all own patterns. The
// errors of the stores.
absl::StatusOr<std::set<std::string>> LessonsOfStalePatterns(const LearningServices& services,
                                                             float min_rating);

}  // namespace ruvd::learning
