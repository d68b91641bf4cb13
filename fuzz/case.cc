#include "fuzz/case.h"

#include <algorithm>
#include <set>

#include "fuzz/case_fields.h"
#include "fuzz/models.h"
#include "fuzz/text.h"

namespace assay {

namespace {

constexpr std::size_t kMaxLine = 4096;  // every field written out takes about 700 characters

struct Word {
  std::string_view name, value;
};

std::vector<std::string> FieldNames() {
  std::vector<std::string> names{"model"};
  for (const CaseField& field : CaseFieldTable()) names.push_back(field.info.name);
  return names;
}

Word SplitWord(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw UsageError("case word \"" + Printable(word) +
                     "\": must have the form field=value; write for example hidden=256");
  }
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::vector<Word> SplitLine(std::string_view line) {
  if (line.size() > kMaxLine) {
    throw UsageError("case line of " + std::to_string(line.size()) + " bytes: at most " +
                     std::to_string(kMaxLine) + "; give one case a line");
  }
  constexpr std::string_view kBlank = " \t\r\n";
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(SplitWord(line.substr(at, end - at)));
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

void RejectUnknown(std::string_view name) {
  if (name == "model" || FindCaseField(name)) return;
  throw UsageError("case field " + Printable(name) + ": no such field, the nearest is " +
                   Nearest(name, FieldNames()) + "; `assay list fields` prints all");
}

void CheckWords(const std::vector<Word>& words) {
  std::set<std::string_view> seen;
  for (const Word& word : words) {
    RejectUnknown(word.name);
    if (seen.insert(word.name).second) continue;
    throw UsageError("case field " + std::string(word.name) + "=" + Printable(word.value) +
                     ": given twice; keep one");
  }
  for (const CaseField& field : CaseFieldTable()) {
    if (!field.required || seen.count(field.info.name)) continue;
    throw UsageError("case field " + field.info.name + ": missing, every case needs it; add " +
                     field.info.name + "= one of " + field.info.domain);
  }
}

std::string_view ValueOf(const std::vector<Word>& words, std::string_view name) {
  for (const Word& word : words) {
    if (word.name == name) return word.value;
  }
  return {};
}

// A model sets only fields that come after it: a field before it would be lost silently.
void ApplyModel(Case& c, const std::vector<Word>& words, const Word& model,
                const std::set<std::string_view>& before) {
  for (const auto& [name, value] : ModelFields(model.value, ValueOf(words, "format"))) {
    if (before.count(name)) {
      throw UsageError("case field " + name + ": stands before model=" + Printable(model.value) +
                       ", which sets it too; write it after the model to override");
    }
    FindCaseField(name)->parse(c, value);
  }
}

}  // namespace

Case ParseCase(std::string_view line) {
  const std::vector<Word> words = SplitLine(line);
  CheckWords(words);
  Case c;
  std::set<std::string_view> before;
  for (const Word& word : words) {
    if (word.name == "model") {
      ApplyModel(c, words, word, before);
    } else {
      FindCaseField(word.name)->parse(c, word.value);
    }
    before.insert(word.name);
  }
  if (const auto why = Impossible(c.problem))
    throw UsageError("impossible case: " + *why + "; correct the case line");
  return c;
}

std::string ToLine(const Case& c) {
  std::string line;
  for (const CaseField& field : CaseFieldTable()) {
    if (field.is_default(c)) continue;
    line += (line.empty() ? "" : " ") + field.info.name + "=" + field.print(c);
  }
  return line;
}

std::vector<FieldInfo> CaseFields() {
  std::vector<FieldInfo> fields;
  for (const CaseField& field : CaseFieldTable()) fields.push_back(field.info);
  fields.push_back({"model", "a name of `assay list models`", "none",
                    "sets the fields of one layer of a real model; later fields override"});
  return fields;
}

}  // namespace assay
