// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/model/transformer.h"

namespace ruvd {

// Keeps an adapter that serves every request from harming general text: an adapter may raise the
// NELBO of a built-in passage by at most half a percent (DESIGN section 6, the deep loop's gate).
// One instance per transformer.
class GeneralTextGate {
 public:
  struct Verdict {
    bool pass = false;
    double before = 0;  // nats per token of the passage
    double after = 0;
  };

  // Scores the passage with `adapter` and, the first time, without. The same masks in both cases.
  // `cancelled` is asked before every forward, of which there are some two dozens; CANCELLED then.
  absl::StatusOr<Verdict> Check(Transformer& transformer, std::shared_ptr<const Adapter> adapter,
                                const std::function<bool()>& cancelled = nullptr);

 private:
  std::optional<double> base_;
};

}  // namespace ruvd
