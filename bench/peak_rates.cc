// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/peak_rates.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu_features.h"

namespace ruvd::bench {
namespace {

constexpr int kChains = 12;  // independent accumulators: more than latency times ports
constexpr int kTries = 5;
constexpr int64_t kRounds = 2'000'000;
constexpr size_t kMemoryBytes = size_t{256} << 20;

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Returns how many billions of operations a second `loop` does; one call does `operations` of them.
template <class Loop>
double BestRate(double operations, const Loop& loop) {
  double best = 1e300;
  for (int i = 0; i < kTries; ++i) {
    const double begin = CpuSeconds();
    loop();
    best = std::min(best, CpuSeconds() - begin);
  }
  return operations / best * 1e-9;
}

// Keeps the compiler from removing what is computed.
template <class T>
void Keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

#if defined(__x86_64__)

// A loop of kChains independent instructions on vectors that stay in registers.
#define RUVD_PEAK_LOOP(Name, target_name, Vector, zero, step)      \
  __attribute__((target(target_name))) void Name() {               \
    Vector sums[kChains];                                          \
    _Pragma("GCC unroll 12") for (int i = 0; i < kChains; ++i) {   \
      sums[i] = zero;                                              \
    }                                                              \
    Vector a = zero;                                               \
    asm volatile("" : "+v"(a));                                    \
    for (int64_t round = 0; round < kRounds; ++round) {            \
      _Pragma("GCC unroll 12") for (int i = 0; i < kChains; ++i) { \
        sums[i] = step(sums[i], a);                                \
        asm volatile("" : "+v"(sums[i]));                          \
      }                                                            \
    }                                                              \
  }

#define RUVD_INT8_ZMM(sum, a) _mm512_dpbusd_epi32(sum, a, a)
#define RUVD_INT8_YMM(sum, a) _mm256_dpbusd_avx_epi32(sum, a, a)
#define RUVD_INT8_AVX2(sum, a) \
  _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, a), a))
#define RUVD_FLOAT_ZMM(sum, a) _mm512_fmadd_ps(a, a, sum)
#define RUVD_FLOAT_YMM(sum, a) _mm256_fmadd_ps(a, a, sum)
#define RUVD_BF16_ZMM(sum, a) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(a))

RUVD_PEAK_LOOP(Int8Zmm, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), RUVD_INT8_ZMM)
RUVD_PEAK_LOOP(Int8Ymm, "avx2,avxvnni", __m256i, _mm256_setzero_si256(), RUVD_INT8_YMM)
RUVD_PEAK_LOOP(Int8Avx2, "avx2", __m256i, _mm256_setzero_si256(), RUVD_INT8_AVX2)
RUVD_PEAK_LOOP(FloatZmm, "avx512f", __m512, _mm512_setzero_ps(), RUVD_FLOAT_ZMM)
RUVD_PEAK_LOOP(FloatYmm, "avx2,fma", __m256, _mm256_setzero_ps(), RUVD_FLOAT_YMM)
RUVD_PEAK_LOOP(Bf16Zmm, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(), RUVD_BF16_ZMM)

constexpr int64_t kTileRounds = 400'000;

__attribute__((target("amx-tile,amx-int8"))) void Int8Amx() {
  struct alignas(64) {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } shapes;
  Keep(shapes);
  _tile_loadconfig(&shapes);
  _tile_zero(4);
  _tile_zero(5);
  for (int64_t round = 0; round < kTileRounds; ++round) {
    _tile_dpbusd(0, 4, 5);
    _tile_dpbusd(1, 4, 5);
    _tile_dpbusd(2, 4, 5);
    _tile_dpbusd(3, 4, 5);
  }
  _tile_release();
}

double Int8Rate(const CpuFeatures& cpu) {
  constexpr double kProducts = 2.0 * kChains * kRounds;
  if (cpu.avx512_vnni) {
    return BestRate(kProducts * 64, Int8Zmm);
  }
  if (cpu.avx_vnni) {
    return BestRate(kProducts * 32, Int8Ymm);
  }
  return cpu.avx2 ? BestRate(kProducts * 32, Int8Avx2) : 0.0;
}

double FloatRate(const CpuFeatures& cpu) {
  constexpr double kProducts = 2.0 * kChains * kRounds;
  if (cpu.avx512) {
    return BestRate(kProducts * 16, FloatZmm);
  }
  return cpu.avx2 ? BestRate(kProducts * 8, FloatYmm) : 0.0;
}

double Bf16Rate(const CpuFeatures& cpu) {
  return cpu.avx512_bf16 ? BestRate(2.0 * kChains * kRounds * 32, Bf16Zmm) : 0.0;
}

double AmxRate(const CpuFeatures& cpu) {
  return cpu.amx_int8 ? BestRate(2.0 * 4 * kTileRounds * 16 * 16 * 64, Int8Amx) : 0.0;
}

#else

// On other processors no rate is claimed: what the compiler makes of plain loops is not the peak.
double Int8Rate(const CpuFeatures&) {
  return 0.0;
}
double FloatRate(const CpuFeatures&) {
  return 0.0;
}
double Bf16Rate(const CpuFeatures&) {
  return 0.0;
}
double AmxRate(const CpuFeatures&) {
  return 0.0;
}

#endif

double MemoryRate() {
  auto* memory = static_cast<uint64_t*>(std::aligned_alloc(size_t{2} << 20, kMemoryBytes));
  if (memory == nullptr) {
    return 0.0;
  }
  madvise(memory, kMemoryBytes, MADV_HUGEPAGE);
  std::memset(memory, 1, kMemoryBytes);
  constexpr size_t kWords = kMemoryBytes / sizeof(uint64_t);
  constexpr size_t kStep = 32;    // words: four cache lines
  constexpr size_t kAhead = 256;  // words between what is read and what is fetched
  const auto read = [&] {
    uint64_t sums[kStep] = {};
    for (size_t i = 0; i < kWords; i += kStep) {
      for (size_t line = 0; line < kStep; line += 8) {
        __builtin_prefetch(memory + i + kAhead + line);
      }
      for (size_t j = 0; j < kStep; ++j) {
        sums[j] += memory[i + j];
      }
    }
    Keep(sums);
  };
  const double rate = BestRate(static_cast<double>(kMemoryBytes), read);
  std::free(memory);
  return rate;
}

}  // namespace

PeakRates MeasurePeakRates() {
  const CpuFeatures& cpu = ThisCpu();
  return {.int8_gops = Int8Rate(cpu),
          .int8_amx_gops = AmxRate(cpu),
          .bf16_gflops = Bf16Rate(cpu),
          .f32_gflops = FloatRate(cpu),
          .dram_gbs = MemoryRate()};
}

double MeasureFloatPeak() {
  return FloatRate(ThisCpu());
}

}  // namespace ruvd::bench
