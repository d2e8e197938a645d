// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/router/limits.h"
#include "inference/router/router.h"

namespace ruvd::inference {
namespace {

constexpr std::string_view kMagic = "RVRT";
constexpr uint16_t kFormat = 1;
constexpr double kLevels = 127;
constexpr size_t kMaxName = 64;

absl::Status Broken(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "router bytes are broken: {}; train the router again", what);
}

double ScaleOf(std::span<const double> matrix) {
  double largest = 0;
  for (const double value : matrix) {
    largest = std::max(largest, std::abs(value));
  }
  return static_cast<float>(largest / kLevels);  // in the precision in which it is stored
}

int8_t CodeOf(double value, double scale) {
  return scale > 0 ? static_cast<int8_t>(std::clamp(std::round(value / scale), -kLevels, kLevels))
                   : int8_t{0};
}

// A part of the parameters, in their order: a matrix, which is rounded, or the parameters between
// two matrices.
struct Part {
  Scorer::Range range;
  bool rounded = false;
};

std::vector<Part> PartsOf(const Scorer& scorer) {
  std::vector<Part> parts;
  size_t next = 0;
  if (scorer.shape().kind == ScorerKind::kFastGrnn) {
    for (const Scorer::Range& matrix : scorer.matrices()) {
      if (matrix.begin > next) {
        parts.push_back({{next, matrix.begin - next}, false});
      }
      parts.push_back({matrix, true});
      next = matrix.begin + matrix.size;
    }
  }
  if (next < scorer.parameters().size()) {
    parts.push_back({{next, scorer.parameters().size() - next}, false});
  }
  return parts;
}

void WriteText(ByteWriter* out, std::string_view text) {
  const std::string_view kept = CutUtf8(text, kMaxName);
  out->Write(static_cast<uint16_t>(kept.size())).WriteText(kept);
}

absl::StatusOr<std::string> ReadText(ByteReader* in) {
  const auto size = in->Read<uint16_t>();
  if (!size || *size > kMaxName) {
    return Broken("a name has an impossible length");
  }
  const auto bytes = in->ReadBytes(*size);
  if (!bytes || !IsUtf8(AsText(*bytes))) {
    return Broken("a name is cut off or not UTF-8");
  }
  return std::string(AsText(*bytes));
}

void WriteScorer(ByteWriter* out, const Scorer& scorer) {
  const ScorerShape& shape = scorer.shape();
  out->Write(static_cast<uint8_t>(shape.kind));
  for (const uint32_t value :
       {shape.inputs, shape.hidden, shape.steps, shape.rank_w, shape.rank_u, shape.confidence}) {
    out->Write(value);
  }
  for (const Part& part : PartsOf(scorer)) {
    const auto values = scorer.parameters().subspan(part.range.begin, part.range.size);
    const double scale = ScaleOf(values);
    if (part.rounded) {
      out->Write(static_cast<float>(scale));
    }
    for (const double value : values) {
      if (part.rounded) {
        out->Write(CodeOf(value, scale));
      } else {
        out->Write(static_cast<float>(value));
      }
    }
  }
}

absl::StatusOr<double> ReadFinite(ByteReader* in) {
  const auto value = in->Read<float>();
  if (!value || !std::isfinite(*value)) {
    return Broken("a number is missing or not finite");
  }
  return static_cast<double>(*value);
}

absl::StatusOr<std::shared_ptr<const Scorer>> ReadScorer(ByteReader* in) {
  ScorerShape shape;
  const auto kind = in->Read<uint8_t>();
  shape.kind = static_cast<ScorerKind>(kind.value_or(0));
  for (uint32_t* value : {&shape.inputs, &shape.hidden, &shape.steps, &shape.rank_w, &shape.rank_u,
                          &shape.confidence}) {
    *value = in->Read<uint32_t>().value_or(0);
  }
  Random unused(0);
  ASSIGN_OR_RETURN(std::unique_ptr<Scorer> scorer, Scorer::Create(shape, unused));
  for (const Part& part : PartsOf(*scorer)) {
    double scale = 0;
    if (part.rounded) {
      ASSIGN_OR_RETURN(scale, ReadFinite(in));
    }
    for (double& value : scorer->parameters().subspan(part.range.begin, part.range.size)) {
      if (!part.rounded) {
        ASSIGN_OR_RETURN(value, ReadFinite(in));
        continue;
      }
      const auto code = in->Read<int8_t>();
      if (!code) {
        return Broken("they end inside a matrix");
      }
      value = *code * scale;
    }
  }
  return std::shared_ptr<const Scorer>(std::move(scorer));
}

void WriteRoute(ByteWriter* out, const Route& route) {
  WriteText(out, route.name);
  out->Write(static_cast<float>(route.cost));
  WriteText(out, route.precision);
  out->Write(static_cast<uint32_t>(std::max(0, route.tokens_per_step)));
  WriteText(out, route.cache);
  out->Write(static_cast<uint8_t>(!route.adapters.has_value() ? 0 : *route.adapters ? 2 : 1));
  WriteText(out, route.model);
}

absl::StatusOr<Route> ReadRoute(ByteReader* in) {
  Route route;
  ASSIGN_OR_RETURN(route.name, ReadText(in));
  ASSIGN_OR_RETURN(route.cost, ReadFinite(in));
  ASSIGN_OR_RETURN(route.precision, ReadText(in));
  const auto steps = in->Read<uint32_t>();
  ASSIGN_OR_RETURN(route.cache, ReadText(in));
  const auto adapters = in->Read<uint8_t>();
  ASSIGN_OR_RETURN(route.model, ReadText(in));
  if (!steps || *steps > limits::kMaxRouteStep || !adapters || *adapters > 2) {
    return Broken("a route has impossible settings");
  }
  route.tokens_per_step = static_cast<int>(*steps);
  route.adapters = *adapters == 0 ? std::nullopt : std::optional(*adapters == 2);
  return route;
}

}  // namespace

void QuantizeToBytes(Scorer* scorer) {
  for (const Scorer::Range& matrix : scorer->matrices()) {
    const auto values = scorer->parameters().subspan(matrix.begin, matrix.size);
    const double scale = ScaleOf(values);
    for (double& value : values) {
      value = CodeOf(value, scale) * scale;
    }
  }
}

std::string Router::Serialize() const {
  ByteWriter out;
  out.WriteText(kMagic).Write(kFormat).Write(static_cast<uint16_t>(entries_.size()));
  for (const Entry& entry : entries_) {
    WriteRoute(&out, entry.route);
    out.Write(static_cast<float>(entry.calibration.slope));
    out.Write(static_cast<float>(entry.calibration.offset));
    WriteScorer(&out, *entry.scorer);
  }
  const Digest digest = Sha256(out.str());
  return out.WriteBytes(digest).Take();
}

absl::StatusOr<Router> Router::Parse(std::string_view bytes, const RouterOptions& options) {
  if (bytes.size() > limits::kMaxRouterBytes || bytes.size() < sizeof(Digest)) {
    return Broken("they are too long or too short");
  }
  const auto body = AsBytes(bytes.substr(0, bytes.size() - sizeof(Digest)));
  if (const Digest digest = Sha256(body); AsText(digest) != bytes.substr(body.size())) {
    return Broken("their checksum does not match");
  }
  ByteReader in(body);
  const auto magic = in.ReadBytes(kMagic.size());
  const auto format = in.Read<uint16_t>();
  const auto count = in.Read<uint16_t>();
  if (!magic || AsText(*magic) != kMagic || !count || *format != kFormat ||
      *count > limits::kMaxRoutes) {
    return Broken("they are of another kind or format");
  }
  std::vector<Entry> entries;
  for (uint16_t i = 0; i < *count; ++i) {
    Entry entry;
    ASSIGN_OR_RETURN(entry.route, ReadRoute(&in));
    ASSIGN_OR_RETURN(entry.calibration.slope, ReadFinite(&in));
    ASSIGN_OR_RETURN(entry.calibration.offset, ReadFinite(&in));
    ASSIGN_OR_RETURN(entry.scorer, ReadScorer(&in));
    entries.push_back(std::move(entry));
  }
  if (in.remaining() != 0) {
    return Broken("something follows the last route");
  }
  return Create(std::move(entries), options);
}

}  // namespace ruvd::inference
