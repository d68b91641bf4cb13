#include "fuzz/case_fields.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "fuzz/names.h"
#include "fuzz/text.h"

namespace assay {

namespace {

// Fields lie in the case or in its problem; the table does not care which.
template <typename T>
T& At(Case& c, T Problem::*member) {
  return c.problem.*member;
}
template <typename T>
T& At(Case& c, T Case::*member) {
  return c.*member;
}
template <typename Member>
const auto& At(const Case& c, Member member) {
  return At(const_cast<Case&>(c), member);
}

[[noreturn]] void Reject(const FieldInfo& field, std::string_view value) {
  throw UsageError("case field " + field.name + "=" + Printable(value) + ": must be " +
                   field.domain + "; correct the value, `assay list fields` explains it");
}

// `read` turns text into a value or nullopt; `write` is its inverse.
template <typename Member, typename Read, typename Write>
CaseField MakeField(FieldInfo info, Member member, Read read, Write write) {
  CaseField field;
  field.parse = [info, member, read](Case& c, std::string_view text) {
    const auto value = read(text);
    if (!value) Reject(info, text);
    At(c, member) = *value;
  };
  field.print = [member, write](const Case& c) { return std::string(write(At(c, member))); };
  field.is_default = [member](const Case& c) { return At(c, member) == At(Case{}, member); };
  field.info = std::move(info);
  return field;
}

template <typename T>
std::optional<T> ReadNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Shortest text that reads back as the same number.
template <typename T>
std::string WriteNumber(T value) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

template <typename Member>
CaseField Integer(std::string name, Member member, int low, int high, std::string meaning) {
  FieldInfo info{std::move(name), std::to_string(low) + ".." + std::to_string(high),
                 WriteNumber(At(Case{}, member)), std::move(meaning)};
  const auto read = [low, high](std::string_view text) {
    const auto value = ReadNumber<int>(text);
    return value && *value >= low && *value <= high ? value : std::nullopt;
  };
  return MakeField(std::move(info), member, read, WriteNumber<int>);
}

CaseField Real(std::string name, double Problem::*member, double low, double high,
               std::string meaning) {
  FieldInfo info{std::move(name), "a number in " + WriteNumber(low) + ".." + WriteNumber(high),
                 WriteNumber(At(Case{}, member)), std::move(meaning)};
  const auto read = [low, high](std::string_view text) {
    const auto value = ReadNumber<double>(text);
    // +0.0 turns -0 into 0, so that equal cases print equal lines.
    return value && *value >= low && *value <= high ? std::optional(*value + 0.0) : std::nullopt;
  };
  return MakeField(std::move(info), member, read, WriteNumber<double>);
}

CaseField Switch(std::string name, bool Problem::*member, std::string meaning) {
  FieldInfo info{std::move(name), "on off", At(Case{}, member) ? "on" : "off", std::move(meaning)};
  const auto read = [](std::string_view text) -> std::optional<bool> {
    if (text == "on") return true;
    return text == "off" ? std::optional(false) : std::nullopt;
  };
  return MakeField(std::move(info), member, read, [](bool on) { return on ? "on" : "off"; });
}

template <typename E, typename Owner>
CaseField Choice(std::string name, E Owner::*member, std::string meaning) {
  FieldInfo info{std::move(name), NamesOf<E>(), std::string(NameOf(At(Case{}, member))),
                 std::move(meaning)};
  return MakeField(std::move(info), member, FromName<E>, NameOf<E>);
}

CaseField SharedFormat() {
  using Shared = std::optional<Format>;
  FieldInfo info{"shared", "none " + NamesOf<Format>(), "none",
                 "format of the shared expert, in the layout of its path; bf16 beside FP4 routed "
                 "experts is the mixed layer"};
  const auto read = [](std::string_view text) -> std::optional<Shared> {
    if (text == "none") return Shared();
    const Shared format = FromName<Format>(text);
    return format ? std::optional<Shared>(format) : std::nullopt;
  };
  const auto write = [](const Shared& shared) { return shared ? NameOf(*shared) : "none"; };
  return MakeField(std::move(info), &Problem::shared, read, write);
}

CaseField SharedInter(int high) {
  CaseField field = Integer("shared_inter", &Problem::shared_inter, 1, high,
                            "intermediate size of the shared expert");
  field.info.default_value = "as inter";
  return field;
}

CaseField Seed() {
  FieldInfo info{"seed", "0..18446744073709551615", "0", "all data are drawn from it"};
  return MakeField(std::move(info), &Problem::seed, ReadNumber<std::uint64_t>,
                   WriteNumber<std::uint64_t>);
}

CaseField Required(CaseField field) {
  field.required = true;
  field.info.default_value = "required";
  field.is_default = [](const Case&) { return false; };
  return field;
}

// As Impossible() of reference/problem.h: beyond any model, so that a mistyped line does not ask
// for terabytes and no size computed from it overflows 64 bits.
constexpr int kMaxDimension = 1 << 17, kMaxExperts = 4096;
constexpr double kMaxReal = 1e6;

void AddShape(std::vector<CaseField>& out) {
  out.push_back(Required(Choice("path", &Case::path, "entry point")));
  out.push_back(Required(Choice("format", &Problem::format, "format of the routed experts")));
  out.push_back(Required(Choice("layout", &Problem::layout,
                                "which copies of a weight exist: row_major, transposed (only _t), "
                                "hybrid (both), lean (the row-major buffer repacked in place)")));
  out.push_back(Required(Integer("rows", &Problem::rows, 1, 1024, "tokens of the step")));
  out.push_back(Integer("hidden", &Problem::hidden, 1, kMaxDimension, "width of the layer"));
  out.push_back(Integer("inter", &Problem::inter, 1, kMaxDimension, "width inside an expert"));
  out.push_back(Integer("experts", &Problem::experts, 1, kMaxExperts, "routed experts"));
  out.push_back(Integer("top_k", &Problem::top_k, 1, kMaxExperts, "experts a token; <= experts"));
}

void AddRouting(std::vector<CaseField>& out) {
  out.push_back(Choice("router", &Problem::router, "how experts are chosen and weighted"));
  out.push_back(Switch("norm", &Problem::norm, "weights are divided by their sum"));
  out.push_back(Real("scale", &Problem::scale, 0, kMaxReal, "routed scaling factor"));
  out.push_back(Integer("groups", &Problem::groups, 1, kMaxExperts, "groups of experts"));
  out.push_back(Integer("groups_kept", &Problem::groups_kept, 1, kMaxExperts,
                        "groups that a token may choose from"));
  out.push_back(Integer("zero_experts", &Problem::zero_experts, 0, kMaxExperts,
                        "identity experts behind the routed ones"));
  out.push_back(Switch("router_bias", &Problem::router_bias, "bias on the router logits"));
  out.push_back(Switch("pre_norm", &Problem::pre_norm, "RMS norm before the router"));
  out.push_back(Switch("fp32_gate", &Problem::fp32_gate, "router logits stay FP32"));
  out.push_back(
      Switch("pre_expert_norm", &Problem::pre_expert_norm, "RMS norm before the routed experts"));
  out.push_back(Choice("gate_format", &Problem::gate_format, "format of the router weight"));
}

void AddExperts(std::vector<CaseField>& out) {
  out.push_back(Choice("activation", &Problem::activation, "between gate, up and down"));
  out.push_back(Real("limit", &Problem::limit, 0, kMaxReal, "clamp of gate and up; 0: none"));
  out.push_back(Switch("expert_bias", &Problem::expert_bias, "biases of gate, up and down"));
  out.push_back(SharedFormat());
  out.push_back(SharedInter(kMaxDimension));
  out.push_back(Choice("shared_gate", &Problem::shared_gate, "gate of the shared expert"));
  out.push_back(Choice("lora", &Problem::lora, "what the resident adapter asks for"));
  out.push_back(Integer("ep", &Problem::ep, 1, 1024, "expert-parallel ranks"));
  out.push_back(Choice("ep_map", &Problem::ep_map, "how experts lie on the ranks"));
  out.push_back(Switch("graph", &Problem::graph, "run as a replayed CUDA graph"));
}

void AddRun(std::vector<CaseField>& out) {
  out.push_back(Choice("routing", &Problem::routing, "which experts the tokens prefer"));
  out.push_back(Choice("data", &Problem::data, "distribution of inputs and weights"));
  out.push_back(Choice("logits", &Problem::logits, "distribution of the router logits"));
  out.push_back(Choice("codes", &Problem::codes,
                       "meaning of code words on which the standard and production disagree"));
  out.push_back(Choice("checks", &Case::checks, "how much is judged: `assay list checks`"));
  out.push_back(Choice("device", &Case::device, "where the kernels run"));
  out.push_back(Seed());
}

}  // namespace

const std::vector<CaseField>& CaseFieldTable() {
  static const std::vector<CaseField> table = [] {
    std::vector<CaseField> fields;
    AddShape(fields);
    AddRouting(fields);
    AddExperts(fields);
    AddRun(fields);
    return fields;
  }();
  return table;
}

const CaseField* FindCaseField(std::string_view name) {
  for (const CaseField& field : CaseFieldTable()) {
    if (field.info.name == name) return &field;
  }
  return nullptr;
}

}  // namespace assay
