// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ruvd/admin/v1/admin.pb.h"

namespace ruvd::cli {

// "2026-01-31 12:00:00 UTC"; `never` for 0.
std::string TimeLabel(int64_t unix_ms, std::string_view never);

// "epsilon 1.000 at delta 1.0e-06, predicted SNR 0.03 over 2 node(s)".
std::string ReleaseLine(const admin::v1::ReleaseStatus& release);

// Names and values of what noised updates cost and why none is made, for FormatFields.
std::vector<std::pair<std::string, std::string>> ReleaseFields(
    const admin::v1::ReleaseStatus& release);

// The same of noised centroids; none where they are off and none ever left.
std::vector<std::pair<std::string, std::string>> CentroidFields(
    const admin::v1::CentroidStatus& centroids);

}  // namespace ruvd::cli
