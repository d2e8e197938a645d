// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "node/http/limits.h"
#include "node/http/request_reader.h"

namespace {

using ruvd::http::RequestReader;
using Stage = RequestReader::Stage;

constexpr size_t kMostBody = 300;

// What came of the first request in some bytes.
struct Outcome {
  Stage stage = Stage::kHead;
  int status = 0;  // of a failure
  std::string method;
  std::string path;
  std::string body;
  bool operator==(const Outcome&) const = default;
};

// Feeds bytes in pieces of `step`, as a connection does: what was not taken is shown again.
Outcome Read(std::string_view bytes, size_t step) {
  RequestReader reader;
  size_t used = 0;
  for (size_t shown = 0; shown < bytes.size();) {
    shown = std::min(shown + step, bytes.size());
    for (size_t more = 1; more > 0;) {
      more = reader.Feed(bytes.substr(used, shown - used));
      used += more;
      RUVD_CHECK(used <= shown);
      if (reader.stage() == Stage::kHeadRead) {
        reader.AllowBody(kMostBody);
        more = 1;
      }
    }
  }
  Outcome outcome{.stage = reader.stage()};
  if (outcome.stage == Stage::kFailed) {
    outcome.status = reader.failure().status;
    RUVD_CHECK(outcome.status >= 400 && outcome.status < 600 && !reader.failure().message.empty());
  } else if (outcome.stage != Stage::kHead) {
    outcome.method = reader.head().method;
    outcome.path = reader.head().path;
    RUVD_CHECK(outcome.path.starts_with('/'));
    RUVD_CHECK(outcome.path.size() <= ruvd::limits::kMaxHttpTargetBytes);
  }
  if (outcome.stage == Stage::kComplete) {
    outcome.body = reader.TakeBody();
    RUVD_CHECK(outcome.body.size() <= kMostBody);
  }
  return outcome;
}

}  // namespace

// Any bytes are one request, the beginning of one, or one error. A request is the same one in
// whatever pieces it comes; other bytes may be refused earlier or later.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Outcome whole = Read(bytes, std::max<size_t>(size, 1));
  for (const size_t step : {1, 7}) {
    const Outcome again = Read(bytes, step);
    const bool is_request = whole.stage == Stage::kComplete || again.stage == Stage::kComplete;
    RUVD_CHECK(!is_request || again == whole);
  }
  return 0;
}
