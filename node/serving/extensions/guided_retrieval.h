// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>

#include "inference/engine/sampling_options.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/retrieval/uncertainty.h"
#include "inference/retrieval/whitening.h"
#include "node/serving/adapter_source.h"
#include "node/serving/request_extension.h"

namespace ruvd::serving {

// The entropy that is usual at each t, by decoding mode, because entropy depends on the mode.
using EntropyBaseline = std::map<inference::DecodingMode, inference::TimestepStatistics>;

// Denoising-guided retrieval: a completion that is uncertain after a step gets the adapters of
// other patterns, which are near to what it is uncertain about. It takes part in requests that use
// adapters. Steps must come from one thread, because they share the usual entropy.
class GuidedRetrieval final : public RequestExtensionFactory {
 public:
  // `adapters` and `whitening`, which may be null, are borrowed.
  GuidedRetrieval(const inference::DgrOptions& options, AdapterSource& adapters,
                  const inference::Whitening* whitening)
      : options_(options), adapters_(adapters), whitening_(whitening) {}

  std::unique_ptr<RequestExtension> Extend(const GenerationJob& job) override;

  // Returns what is usual so far.
  const EntropyBaseline& entropy_baseline() const { return entropy_baseline_; }

 private:
  class Guided;

  const inference::DgrOptions options_;
  AdapterSource& adapters_;
  const inference::Whitening* const whitening_;
  EntropyBaseline entropy_baseline_;
};

}  // namespace ruvd::serving
