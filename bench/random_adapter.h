// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "inference/adapter/adapter.h"
#include "inference/model/model.h"

namespace ruvd::bench {

// An adapter with random factors of this rank on all linear layers, the output matrix excepted.
std::shared_ptr<const inference::Adapter> RandomAdapter(const inference::Model& model, int rank);

}  // namespace ruvd::bench
