// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/ann_data.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::bench {
namespace {

constexpr uint32_t kMaxRows = 1U << 26;
constexpr uint32_t kMaxDimension = 1U << 14;
constexpr uint64_t kMaxBytes = uint64_t{64} << 30;
constexpr size_t kHeaderBytes = 2 * sizeof(uint32_t);

constexpr size_t kClusters = 1000;
constexpr size_t kSharedDirections = 48;
constexpr double kSharedNoise = 0.7;  // norm of the noise in the shared directions
constexpr double kOtherNoise = 0.2;   // and in all others, beside a centre of norm 1

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

absl::Status BadFile(const std::string& path, std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnreadable,
               "{}: {}; give a file of u32 rows, u32 dimension and float rows", path, what);
}

Matrix Gaussian(size_t rows, size_t dimension, double norm, Random* random) {
  Matrix matrix{rows, dimension, std::vector<float>(rows * dimension)};
  const double scale = norm / std::sqrt(static_cast<double>(dimension));
  for (float& value : matrix.values) {
    value = static_cast<float>(scale * random->Normal());
  }
  return matrix;
}

Matrix DrawMixture(size_t n, const Matrix& centres, const Matrix& directions, Random* random) {
  Matrix rows = Gaussian(n, centres.dimension, kOtherNoise, random);
  const double weight = kSharedNoise / std::sqrt(static_cast<double>(directions.rows));
  for (size_t i = 0; i < n; ++i) {
    float* row = rows.values.data() + i * rows.dimension;
    const std::span<const float> centre = centres.row(random->Below(centres.rows));
    for (size_t j = 0; j < rows.dimension; ++j) {
      row[j] += centre[j];
    }
    for (size_t d = 0; d < directions.rows; ++d) {
      const auto amount = static_cast<float>(weight * random->Normal());
      const float* direction = directions.row(d).data();
      for (size_t j = 0; j < rows.dimension; ++j) {
        row[j] += amount * direction[j];
      }
    }
    Normalise({row, rows.dimension});
  }
  return rows;
}

}  // namespace

void Normalise(std::span<float> row) {
  double squares = 0;
  for (const float value : row) {
    squares += double{value} * double{value};
  }
  if (squares > 0) {
    const auto scale = static_cast<float>(1.0 / std::sqrt(squares));
    for (float& value : row) {
      value *= scale;
    }
  }
}

DataSet MakeClustered(size_t n, size_t dimension, size_t queries, uint64_t seed) {
  Random random(seed);
  const Matrix centres = Gaussian(kClusters, dimension, 1.0, &random);
  const Matrix directions = Gaussian(kSharedDirections, dimension, 1.0, &random);
  DataSet set;
  set.base = DrawMixture(n, centres, directions, &random);
  set.queries = DrawMixture(queries, centres, directions, &random);
  return set;
}

DataSet MakeIso(size_t n, size_t dimension, size_t queries, uint64_t seed) {
  Random random(seed);
  DataSet set{Gaussian(n, dimension, 1.0, &random), Gaussian(queries, dimension, 1.0, &random)};
  for (Matrix* matrix : {&set.base, &set.queries}) {
    for (size_t i = 0; i < matrix->rows; ++i) {
      Normalise({matrix->values.data() + i * dimension, dimension});
    }
  }
  return set;
}

absl::StatusOr<Matrix> ReadFbin(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  uint32_t header[2];
  if (error || file == nullptr || std::fread(header, kHeaderBytes, 1, file.get()) != 1) {
    return BadFile(path, "cannot be read");
  }
  if (header[0] == 0 || header[0] > kMaxRows || header[1] == 0 || header[1] > kMaxDimension) {
    return BadFile(path, "has a header out of range");
  }
  const uint64_t values = uint64_t{header[0]} * header[1];
  if (bytes > kMaxBytes || bytes != kHeaderBytes + values * sizeof(float)) {
    return BadFile(path, "has another length than its header says");
  }
  Matrix matrix{header[0], header[1], std::vector<float>(values)};
  if (std::fread(matrix.values.data(), sizeof(float), values, file.get()) != values) {
    return BadFile(path, "ends early");
  }
  return matrix;
}

absl::Status WriteFbin(const std::string& path, const Matrix& matrix) {
  const uint32_t header[2] = {static_cast<uint32_t>(matrix.rows),
                              static_cast<uint32_t>(matrix.dimension)};
  File file(std::fopen(path.c_str(), "wb"), std::fclose);
  const bool written = file != nullptr && std::fwrite(header, kHeaderBytes, 1, file.get()) == 1 &&
                       std::fwrite(matrix.values.data(), sizeof(float), matrix.values.size(),
                                   file.get()) == matrix.values.size();
  if (!written || std::fclose(file.release()) != 0) {
    return Error(absl::StatusCode::kUnavailable, reasons::kFileUnwritable,
                 "{} cannot be written; choose another place for it", path);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::bench
