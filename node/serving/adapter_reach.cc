// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/adapter_reach.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "storage/db/column_family.h"

namespace ruvd::serving {
namespace {

constexpr char kMagic[] = "RVAR";
constexpr size_t kMagicBytes = 4;
constexpr uint32_t kFormat = 1;

constexpr privacy::SealContext kContext{
    .column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
    .key = "adapter-reach",
    .schema = kFormat};

absl::Status NoReach() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "these bytes do not describe the prompts of an adapter; the next deep round writes "
               "a new file");
}

float Norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) {
    sum += static_cast<double>(value) * value;
  }
  return static_cast<float>(std::sqrt(sum));
}

double Product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

std::vector<float> Normalised(std::span<const float> values) {
  const float norm = Norm(values);
  std::vector<float> result(values.begin(), values.end());
  for (float& value : result) {
    value /= norm;
  }
  return result;
}

}  // namespace

std::optional<AdapterReach> ReachOf(const Digest& embedded_by,
                                    std::span<const std::vector<float>> embeddings,
                                    float similarity) {
  AdapterReach reach{.embedded_by = embedded_by, .centroids = {}};
  std::vector<std::vector<float>> sums;  // the sum of the members of each centroid
  for (const std::vector<float>& embedding : embeddings) {
    if (!(Norm(embedding) > 0)) {
      continue;
    }
    const std::vector<float> own = Normalised(embedding);
    size_t nearest = 0;
    double best = -2;
    for (size_t i = 0; i < reach.centroids.size(); ++i) {
      const double cosine = Product(reach.centroids[i], own);
      if (cosine > best) {
        best = cosine;
        nearest = i;
      }
    }
    if (best < similarity && reach.centroids.size() < limits::kMaxReachCentroids) {
      reach.centroids.push_back(own);
      sums.push_back(own);
      continue;
    }
    for (size_t i = 0; i < own.size(); ++i) {
      sums[nearest][i] += own[i];
    }
    if (Norm(sums[nearest]) > 0) {
      reach.centroids[nearest] = Normalised(sums[nearest]);
    }
  }
  return reach.centroids.empty() ? std::nullopt : std::optional(std::move(reach));
}

bool Covers(const AdapterReach& reach, std::span<const float> embedding, float similarity) {
  const float norm = Norm(embedding);
  return norm > 0 && std::ranges::any_of(reach.centroids, [&](const std::vector<float>& centroid) {
           return centroid.size() == embedding.size() &&
                  Product(centroid, embedding) >= static_cast<double>(similarity) * norm;
         });
}

std::string EncodeAdapterReach(const AdapterReach& reach) {
  ByteWriter out;
  out.WriteText(std::string_view(kMagic, kMagicBytes)).Write(kFormat);
  out.WriteBytes(reach.embedded_by);
  out.Write(static_cast<uint32_t>(reach.centroids.front().size()));
  out.Write(static_cast<uint32_t>(reach.centroids.size()));
  for (const std::vector<float>& centroid : reach.centroids) {
    for (const float value : centroid) {
      out.Write(value);
    }
  }
  return out.Take();
}

absl::StatusOr<AdapterReach> DecodeAdapterReach(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  const auto magic = in.ReadBytes(kMagicBytes);
  const auto format = in.Read<uint32_t>();
  if (!magic || AsText(*magic) != std::string_view(kMagic, kMagicBytes) || format != kFormat) {
    return NoReach();
  }
  AdapterReach reach;
  const auto digest = in.ReadBytes(reach.embedded_by.size());
  const auto length = in.Read<uint32_t>();
  const auto count = in.Read<uint32_t>();
  if (!digest || !length || !count || *length == 0 || *length > limits::kMaxReachLength ||
      *count == 0 || *count > limits::kMaxReachCentroids ||
      in.remaining() != uint64_t{*length} * *count * sizeof(float)) {
    return NoReach();
  }
  std::ranges::copy(*digest, reach.embedded_by.begin());
  for (uint32_t i = 0; i < *count; ++i) {
    std::vector<float>& centroid = reach.centroids.emplace_back(*length);
    for (float& value : centroid) {
      value = *in.Read<float>();
      if (!std::isfinite(value)) {
        return NoReach();
      }
    }
  }
  return reach;
}

absl::Status WriteAdapterReach(const std::string& path, const privacy::SealKey& key,
                               const AdapterReach& reach) {
  return WriteFileAtomically(path, key.Seal(kContext, EncodeAdapterReach(reach)), 0600);
}

absl::StatusOr<std::optional<AdapterReach>> ReadAdapterReach(const std::string& path,
                                                             const privacy::SealKey& key) {
  const absl::StatusOr<std::string> sealed = ReadFile(path, limits::kMaxReachFileBytes);
  if (absl::IsNotFound(sealed.status())) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(sealed.status());
  ASSIGN_OR_RETURN(const std::string bytes, key.Open(kContext, *sealed));
  ASSIGN_OR_RETURN(AdapterReach reach, DecodeAdapterReach(AsBytes(bytes)));
  return reach;
}

}  // namespace ruvd::serving
