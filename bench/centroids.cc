// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures what noised centroids still find: `centroids --help`. Prints one line of a table for
// each size and epsilon.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/evaluate/text_documents.h"
#include "inference/package/model_package.h"
#include "inference/transformer/transformer.h"
#include "privacy/dp/noised_centroids.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Releases noised centroids of groups of embeddings and looks up queries of these groups in\n"
    "them. Without a model: groups around random directions, whose members have the cosine\n"
    "--coherence with them. With one: passages of --texts, each file a group, queries from the\n"
    "file of --queries in the same place. Columns: members of each group; epsilon at 1e-6 of one\n"
    "release for one member; the least members that a centroid is of more than, the smallest that\n"
    "the rule of signal over noise allows; centroids that leave; share of queries whose nearest\n"
    "centroid is mostly of their group; mean cosine of that centroid with the group's mean; the\n"
    "share with the means themselves, which hide nobody. Means of --repeats releases.";

using Vector = std::vector<float>;

struct Arguments {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::string> queries;
  std::vector<int> members = {10, 30, 100, 300};
  std::vector<double> epsilons = {1, 4, 8};
  int groups = 6;
  int dimension = 512;
  double coherence = 0.8;
  int tokens = 32;
  int repeats = 3;
  int threads = 2;
};

struct Group {
  std::vector<Vector> members;
  std::vector<Vector> queries;
};

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

template <typename T>
Vector Direction(const std::vector<T>& values) {
  double squares = 0;
  for (const T value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  Vector direction;
  for (const T value : values) {
    direction.push_back(static_cast<float>(static_cast<double>(value) / std::sqrt(squares)));
  }
  return direction;
}

size_t Nearest(const Vector& query, const std::vector<Vector>& centres) {
  const auto nearest =
      std::ranges::max_element(centres, {}, [&query](const Vector& c) { return Dot(query, c); });
  return static_cast<size_t>(nearest - centres.begin());
}

Vector MeanOf(std::span<const Vector> members) {
  std::vector<double> sum(members.front().size());
  for (const Vector& member : members) {
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] += member[i];
    }
  }
  return Direction(sum);
}

Vector RandomDirection(int dimension, Random& random) {
  std::vector<double> values(static_cast<size_t>(dimension));
  std::ranges::generate(values, [&random] { return random.Normal(); });
  return Direction(values);
}

std::vector<Group> MakeGroups(const Arguments& arguments, size_t most) {
  Random random(1);
  std::vector<Group> groups(static_cast<size_t>(arguments.groups));
  const double rest = std::sqrt(1 - arguments.coherence * arguments.coherence);
  for (Group& group : groups) {
    const Vector middle = RandomDirection(arguments.dimension, random);
    const auto member = [&] {
      Vector values = RandomDirection(arguments.dimension, random);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(arguments.coherence * middle[i] + rest * values[i]);
      }
      return Direction(values);
    };
    std::generate_n(std::back_inserter(group.members), most, member);
    std::generate_n(std::back_inserter(group.queries), 50, member);
  }
  return groups;
}

// Embeds the first passage of documents that lie evenly over a file, then the second passages,
// until there are `count`.
absl::StatusOr<std::vector<Vector>> Embed(const std::string& file, size_t count, int tokens,
                                          const inference::ModelPackage& package,
                                          inference::Transformer& transformer) {
  ASSIGN_OR_RETURN(const auto documents, inference::ReadTextDocuments(file));
  const size_t used = std::min(documents.size(), count);
  std::vector<std::vector<inference::TokenId>> streams;
  for (size_t i = 0; i < used; ++i) {
    streams.push_back(package.model->tokenizer().Encode(documents[documents.size() * i / used]));
  }
  const auto length = static_cast<size_t>(tokens);
  std::vector<Vector> embeddings;
  for (size_t begin = 0, before = count; embeddings.size() < count; begin += length) {
    if (std::exchange(before, embeddings.size()) == embeddings.size()) {
      return absl::InvalidArgumentError(fmt::format("{} is too short", file));
    }
    for (size_t i = 0; i < used && embeddings.size() < count; ++i) {
      if (streams[i].size() >= begin + length) {
        ASSIGN_OR_RETURN(
            embeddings.emplace_back(),
            inference::EmbedText(transformer, std::span(streams[i]).subspan(begin, length),
                                 package.whitening.get()));
      }
    }
  }
  return embeddings;
}

absl::StatusOr<std::vector<Group>> ReadGroups(const Arguments& arguments, size_t most) {
  if (arguments.queries.size() != arguments.texts.size() || arguments.texts.empty()) {
    return absl::InvalidArgumentError("a model needs --texts and as many --queries");
  }
  ASSIGN_OR_RETURN(const inference::ModelPackage package,
                   inference::LoadModelPackage(arguments.model));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(
      const auto transformer,
      inference::DefaultBackend().Load(
          package.model, {.precision = inference::Precision::kFast, .runner = runner}));
  std::vector<Group> groups;
  for (size_t i = 0; i < arguments.texts.size(); ++i) {
    Group& group = groups.emplace_back();
    ASSIGN_OR_RETURN(group.members,
                     Embed(arguments.texts[i], most, arguments.tokens, package, *transformer));
    ASSIGN_OR_RETURN(group.queries,
                     Embed(arguments.queries[i], 50, arguments.tokens, package, *transformer));
  }
  // The members are not in the order of the file's text, so that a smaller number of them still
  // covers all of it.
  Random random(2);
  for (Group& group : groups) {
    random.Shuffle(std::span(group.members));
  }
  return groups;
}

struct Found {
  double centroids = 0;
  double share = 0;
  double cosine = 0;
};

// Returns for each cell the group that most of its members come from, in the pass whose centres
// these are.
std::vector<size_t> OwnersOf(const std::vector<Group>& groups, size_t members,
                             const std::vector<Vector>& centres) {
  std::vector<std::vector<int>> counts(centres.size(), std::vector<int>(groups.size()));
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t i = 0; i < members; ++i) {
      ++counts[Nearest(groups[g].members[i], centres)][g];
    }
  }
  std::vector<size_t> owners;
  for (const std::vector<int>& cell : counts) {
    owners.push_back(static_cast<size_t>(std::ranges::max_element(cell) - cell.begin()));
  }
  return owners;
}

absl::StatusOr<Found> ReleaseOnce(const std::vector<Group>& groups, size_t members,
                                  const privacy::dp::CentroidTerms& terms, uint64_t seed) {
  std::vector<std::span<const float>> examples;
  std::vector<Vector> means;
  for (const Group& group : groups) {
    const std::span<const Vector> part = std::span(group.members).first(members);
    examples.insert(examples.end(), part.begin(), part.end());
    means.push_back(MeanOf(part));
  }
  // Each repeat has its own anchors and noise; both can be repeated from the seed.
  Random random(seed);
  const auto bytes = [&random](std::span<uint8_t> out) {
    std::ranges::generate(out, [&random] { return static_cast<uint8_t>(random.Next() >> 56); });
  };
  ASSIGN_OR_RETURN(const auto noise, privacy::dp::DiscreteGaussian::Create(terms.grid.sigma_units));
  const auto anchors =
      privacy::dp::PublicAnchors(Sha256(fmt::format("anchors {}", seed)), terms.dimension);
  ASSIGN_OR_RETURN(const auto passes,
                   privacy::dp::RunNoisedPasses(examples, anchors, terms, noise, bytes));
  std::vector<Vector> centres;
  for (const std::vector<int64_t>& sum : passes[passes.size() - 2]) {
    centres.push_back(Direction(sum));
  }
  const std::vector<size_t> owners = OwnersOf(groups, members, centres);
  std::vector<Vector> left;
  std::vector<size_t> of;
  for (const privacy::dp::NoisedCentroid& centroid :
       privacy::dp::CentroidsOf(passes.back(), terms)) {
    left.push_back(centroid.direction);
    of.push_back(owners[centroid.cell]);
  }
  Found found{.centroids = static_cast<double>(left.size())};
  double queries = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const Vector& query : groups[g].queries) {
      ++queries;
      if (!left.empty()) {
        const size_t nearest = Nearest(query, left);
        found.share += of[nearest] == g ? 1 : 0;
        found.cosine += Dot(left[nearest], means[g]);
      }
    }
  }
  found.share /= queries;
  found.cosine /= queries;
  return found;
}

double ShareOfMeans(const std::vector<Group>& groups, size_t members) {
  std::vector<Vector> means;
  for (const Group& group : groups) {
    means.push_back(MeanOf(std::span(group.members).first(members)));
  }
  double right = 0, queries = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const Vector& query : groups[g].queries) {
      ++queries;
      right += Nearest(query, means) == g ? 1 : 0;
    }
  }
  return right / queries;
}

// Mean cosine of the members with their group's mean.
double CoherenceOf(const std::vector<Group>& groups) {
  double sum = 0, count = 0;
  for (const Group& group : groups) {
    const Vector mean = MeanOf(group.members);
    for (const Vector& member : group.members) {
      sum += Dot(member, mean);
      ++count;
    }
  }
  return sum / count;
}

absl::Status PrintRow(const Arguments& arguments, const std::vector<Group>& groups, int members,
                      double epsilon) {
  const size_t dimension = groups.front().members.front().size();
  ASSIGN_OR_RETURN(const double rho, privacy::dp::RhoForEpsilon(epsilon, 1e-6));
  const double multiplier = 1 / std::sqrt(2 * rho);
  ASSIGN_OR_RETURN(
      privacy::dp::CentroidTerms terms,
      privacy::dp::MakeCentroidTerms(multiplier, dimension, limits::kMinCentroidExamples));
  terms.least_examples =
      std::max(terms.least_examples, std::ceil(terms.least_examples / privacy::dp::SnrOf(terms)));
  RETURN_IF_ERROR(privacy::dp::RequireCentroidSnr(terms));
  Found mean;
  for (int i = 0; i < arguments.repeats; ++i) {
    ASSIGN_OR_RETURN(const Found found, ReleaseOnce(groups, static_cast<size_t>(members), terms,
                                                    static_cast<uint64_t>(i) + 1));
    mean.centroids += found.centroids / arguments.repeats;
    mean.share += found.share / arguments.repeats;
    mean.cosine += found.cosine / arguments.repeats;
  }
  fmt::print("| {} | {:g} | {:.2f} | {:g} | {:.1f} | {:.2f} | {:.2f} | {:.2f} |\n", members,
             epsilon, privacy::dp::NoiseMultiplierOf(terms), terms.least_examples, mean.centroids,
             mean.share, mean.cosine, ShareOfMeans(groups, static_cast<size_t>(members)));
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  const auto most = static_cast<size_t>(*std::ranges::max_element(arguments.members));
  std::vector<Group> groups;
  if (arguments.model.empty()) {
    groups = MakeGroups(arguments, most);
  } else {
    ASSIGN_OR_RETURN(groups, ReadGroups(arguments, most));
  }
  fmt::print("{} groups, {} values, cosine of members with their mean {:.2f}\n\n", groups.size(),
             groups.front().members.front().size(), CoherenceOf(groups));
  std::fflush(stdout);
  fmt::print(
      "| members | epsilon | noise | least | centroids | found | cosine | found by means |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const int members : arguments.members) {
    for (const double epsilon : arguments.epsilons) {
      RETURN_IF_ERROR(PrintRow(arguments, groups, members, epsilon));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app{ruvd::bench::kDescription, "centroids"};
  app.add_option("--model", arguments.model, "GGUF file");
  app.add_option("--texts", arguments.texts, "A file for each group");
  app.add_option("--queries", arguments.queries, "A file for each group");
  app.add_option("--members", arguments.members)->check(CLI::Range(1, 100'000));
  app.add_option("--epsilons", arguments.epsilons)->check(CLI::Range(0.01, 1000.0));
  app.add_option("--groups", arguments.groups)->check(CLI::Range(1, 32));
  app.add_option("--dimension", arguments.dimension)->check(CLI::Range(2, 16'384));
  app.add_option("--coherence", arguments.coherence)->check(CLI::Range(0.01, 1.0));
  app.add_option("--tokens", arguments.tokens, "Of a passage")->check(CLI::Range(1, 256));
  app.add_option("--repeats", arguments.repeats)->check(CLI::Range(1, 1000));
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = ruvd::bench::Run(arguments); !status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
    return 1;
  }
  return 0;
}
