#include "fuzz/models.h"

#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "fuzz/models_data.h"
#include "fuzz/text.h"
#include "reference/error.h"

namespace assay {

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

// Key of models.toml -> case field with the same meaning, in the order of a case line.
constexpr std::pair<const char*, const char*> kFieldOfKey[] = {
    {"hidden", "hidden"},
    {"inter", "inter"},
    {"experts", "experts"},
    {"top_k", "top_k"},
    {"router", "router"},
    {"norm_topk_prob", "norm"},
    {"routed_scaling_factor", "scale"},
    {"groups", "groups"},
    {"groups_kept", "groups_kept"},
    {"zero_experts", "zero_experts"},
    {"router_bias", "router_bias"},
    {"router_pre_norm", "pre_norm"},
    {"pre_expert_norm", "pre_expert_norm"},
    {"activation", "activation"},
    {"swiglu_limit", "limit"},
    {"expert_bias", "expert_bias"},
    {"shared_inter", "shared_inter"},
};

// Keys that say nothing about this one layer: its name, the formats it ships in, sizes of shards,
// how many other layers route by hash; and those that AddShared() reads.
constexpr const char* kNotOfTheLayer[] = {
    "name", "formats", "unsure", "tp_inter", "hash_layers", "shared_gate", "mixed_bf16_shared"};

const toml::table& Table() {
  static const toml::table table = toml::parse(std::string_view(kModelsToml));
  return table;
}

std::vector<const toml::table*> Models() {
  std::vector<const toml::table*> models;
  for (const toml::node& node : *Table()["model"].as_array()) models.push_back(node.as_table());
  return models;
}

std::string NameOfModel(const toml::table& model) { return model["name"].value_or(std::string()); }

const toml::table& Find(std::string_view name) {
  for (const toml::table* model : Models()) {
    if (NameOfModel(*model) == name) return *model;
  }
  throw UsageError("case field model=" + Printable(name) + ": no such model, the nearest is " +
                   Nearest(name, ModelNames()) + "; `assay list models` prints all");
}

// The value as a case line writes it.
std::string Text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "on" : "off";
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  std::ostringstream out;
  out << node.value_or(0.0);  // six digits: more than any of the table's factors has
  return out.str();
}

std::string Join(const Fields& fields) {
  std::string line;
  for (const auto& [name, value] : fields) line += (line.empty() ? "" : " ") + name + "=" + value;
  return line;
}

// The shared expert has the routed experts' format, or BF16 in the mixed layers; a model that
// names no gate has none.
void AddShared(const toml::table& model, std::string_view format, Fields& fields) {
  if (!model.contains("shared_inter")) return;
  const bool mixed = model["mixed_bf16_shared"].value_or(false);
  fields.emplace_back("shared", mixed ? "bf16" : std::string(format));
  fields.emplace_back("shared_gate", model["shared_gate"].value_or(std::string("none")));
}

bool Described(std::string_view key) {
  const auto is_key = [&](const auto& row) { return key == row.first; };
  return std::any_of(std::begin(kFieldOfKey), std::end(kFieldOfKey), is_key) ||
         std::find(std::begin(kNotOfTheLayer), std::end(kNotOfTheLayer), key) !=
             std::end(kNotOfTheLayer);
}

std::string TextOf(const toml::table& model, std::string_view key) {
  const toml::node* node = model.get(key);
  return node == nullptr ? "" : Text(*node);
}

// "softmax norm=on scale=2.5": the kind, and every field about routing that the model sets.
std::string RouterText(const toml::table& model) {
  std::string text = TextOf(model, "router");
  for (const char* key : {"norm_topk_prob", "routed_scaling_factor", "groups", "groups_kept",
                          "zero_experts", "router_bias", "router_pre_norm"}) {
    const auto row = std::find_if(std::begin(kFieldOfKey), std::end(kFieldOfKey),
                                  [&](const auto& r) { return std::string_view(r.first) == key; });
    if (model.contains(key)) text += " " + std::string(row->second) + "=" + TextOf(model, key);
  }
  return text;
}

std::string ActivationText(const toml::table& model) {
  const std::string limit = TextOf(model, "swiglu_limit");
  return model["activation"].value_or(std::string("silu")) +
         (limit.empty() ? "" : " limit=" + limit);
}

std::string SharedText(const toml::table& model) {
  if (!model.contains("shared_inter")) return "none";
  const std::string gate = TextOf(model, "shared_gate");
  const bool mixed = model["mixed_bf16_shared"].value_or(false);
  return TextOf(model, "shared_inter") + (gate.empty() ? "" : ", gate " + gate) +
         (mixed ? ", bf16" : "");
}

std::string FormatsText(const toml::table& model) {
  std::string text;
  if (const toml::array* formats = model["formats"].as_array())
    for (const toml::node& format : *formats) text += (text.empty() ? "" : " ") + Text(format);
  return text;
}

std::string UndescribedText(const toml::table& model) {
  std::string text;
  for (const auto& [key, value] : model)
    if (!Described(key.str())) text += (text.empty() ? "" : " ") + std::string(key.str());
  return text;
}

ModelInfo InfoOf(const toml::table& model) {
  return {NameOfModel(model),
          TextOf(model, "hidden") + " x " + TextOf(model, "inter") + ", " + TextOf(model, "top_k") +
              " of " + TextOf(model, "experts"),
          RouterText(model),
          ActivationText(model),
          SharedText(model),
          FormatsText(model),
          UndescribedText(model),
          !model["unsure"].value_or(false)};
}

// A layer without one of its features would be another layer: say so, and how to run that one.
void RejectUndescribed(const toml::table& model, const Fields& fields) {
  for (const auto& [key, value] : model) {
    if (Described(key.str())) continue;
    throw UsageError(
        "case field model=" + NameOfModel(model) + ": its " + std::string(key.str()) +
        " is described by no case field yet; the layer without it is: " + Join(fields));
  }
}

}  // namespace

std::vector<ModelInfo> ModelInfos() {
  std::vector<ModelInfo> infos;
  for (const toml::table* model : Models()) infos.push_back(InfoOf(*model));
  return infos;
}

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const toml::table* model : Models()) names.push_back(NameOfModel(*model));
  return names;
}

Fields ModelFields(std::string_view name, std::string_view format) {
  const toml::table& model = Find(name);
  Fields fields;
  for (const auto& [key, field] : kFieldOfKey) {
    if (const toml::node* node = model.get(key)) fields.emplace_back(field, Text(*node));
  }
  AddShared(model, format, fields);
  RejectUndescribed(model, fields);
  return fields;
}

}  // namespace assay
