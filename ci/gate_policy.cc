#include "ci/gate_policy.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "ci/words.h"

namespace assay {
namespace {

[[noreturn]] void Fail(const std::string& name, const toml::source_region& at,
                       const std::string& what) {
  throw UsageError(fmt::format("{}:{}: {}", name, at.begin.line, what));
}

// One key of the policy: its type in words, and how it is taken (false: wrong type or value).
struct Key {
  std::string rule;
  std::function<bool(const toml::node&, GatePolicy&)> take;
};

Key Count(std::int64_t GatePolicy::*field) {
  return {"a whole number of 0 or more", [field](const toml::node& node, GatePolicy& policy) {
            const auto value = node.value_exact<std::int64_t>();
            if (!value || *value < 0) return false;
            policy.*field = *value;
            return true;
          }};
}

Key Seed() {
  return {"a whole number of 0 or more", [](const toml::node& node, GatePolicy& policy) {
            const auto value = node.value_exact<std::int64_t>();
            if (!value || *value < 0) return false;
            policy.seed = static_cast<std::uint64_t>(*value);
            return true;
          }};
}

Key Share(double GatePolicy::*field) {
  return {"a number from 0 to 1", [field](const toml::node& node, GatePolicy& policy) {
            const auto value = node.is_number() ? node.value<double>() : std::nullopt;
            if (!value || !(*value >= 0 && *value <= 1)) return false;
            policy.*field = *value;
            return true;
          }};
}

template <typename E>
Key Word(E GatePolicy::*field) {
  return {"one of " + NamesOf<E>(), [field](const toml::node& node, GatePolicy& policy) {
            const auto word = node.value_exact<std::string>();
            const auto value = word ? FromName<E>(*word) : std::nullopt;
            if (!value) return false;
            policy.*field = *value;
            return true;
          }};
}

Key Paths(std::vector<std::string> GatePolicy::*field) {
  return {"a list of paths, each a string", [field](const toml::node& node, GatePolicy& policy) {
            if (!node.is_array()) return false;
            for (const toml::node& element : *node.as_array()) {
              const auto path = element.value_exact<std::string>();
              if (!path || path->empty()) return false;
              (policy.*field).push_back(*path);
            }
            return true;
          }};
}

using Section = std::map<std::string, Key>;

const std::map<std::string, Section>& Sections() {
  static const std::map<std::string, Section> sections = {
      {"corpus", {{"files", Paths(&GatePolicy::corpus_files)}}},
      {"fuzz",
       {{"cases", Count(&GatePolicy::cases)},
        {"seed", Seed()},
        {"distribution", Word(&GatePolicy::distribution)},
        {"checks", Word(&GatePolicy::checks)}}},
      {"goldens", {{"folders", Paths(&GatePolicy::golden_folders)}}},
      {"floors",
       {{"own_kernel_cases", Count(&GatePolicy::own_kernel_cases)},
        {"variant_cases", Count(&GatePolicy::variant_cases)},
        {"elements", Count(&GatePolicy::elements)},
        {"experts", Count(&GatePolicy::experts)},
        {"goldens", Count(&GatePolicy::goldens)},
        {"vacuous_share", Share(&GatePolicy::vacuous_share)}}}};
  return sections;
}

template <typename Map>
std::string KeysOf(const Map& map) {
  std::string keys;
  for (const auto& [key, unused] : map) keys += (keys.empty() ? "" : ", ") + key;
  return keys;
}

void TakeSection(const std::string& file, const std::string& name, const toml::table& given,
                 const Section& known, GatePolicy& policy) {
  for (const auto& [key, node] : given) {
    const auto found = known.find(std::string(key.str()));
    if (found == known.end()) {
      Fail(file, key.source(),
           fmt::format("unknown key '{}' in [{}]: it knows {}", key.str(), name, KeysOf(known)));
    }
    if (!found->second.take(node, policy)) {
      Fail(file, node.source(),
           fmt::format("{}.{} must be {}", name, key.str(), found->second.rule));
    }
  }
  for (const auto& [key, unused] : known) {
    if (!given.contains(key)) {
      Fail(file, given.source(), fmt::format("[{}] lacks the key '{}': add it", name, key));
    }
  }
}

toml::table ParseToml(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    Fail(name, error.source(), fmt::format("no TOML: {}", error.description()));
  }
}

}  // namespace

GatePolicy ParseGatePolicy(std::string_view text, const std::string& name) {
  const toml::table root = ParseToml(text, name);
  for (const auto& [key, node] : root) {
    if (!Sections().contains(std::string(key.str()))) {
      Fail(name, key.source(),
           fmt::format("unknown section '{}': a policy has {}", key.str(), KeysOf(Sections())));
    }
  }
  GatePolicy policy;
  for (const auto& [section, keys] : Sections()) {
    const toml::node* node = root.get(section);
    if (node == nullptr) {
      throw UsageError(fmt::format("{}: section [{}] is missing: add it", name, section));
    }
    if (!node->is_table()) Fail(name, node->source(), section + " must be a section");
    TakeSection(name, section, *node->as_table(), keys, policy);
  }
  return policy;
}

GatePolicy ReadGatePolicy(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw UsageError(fmt::format(
        "policy '{}' cannot be read: give the path of a file like the project's ci/gate.toml",
        path));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return ParseGatePolicy(text.str(), path);
}

}  // namespace assay
