#include "reference/checkpoint_coding.h"

#include <array>
#include <cmath>
#include <cstring>

#include "reference/error.h"

namespace assay {
namespace {

constexpr std::int64_t kMaxExtent = 1 << 20;

// Names of the tensors of one matrix, after the matrix' own: of one expert, or of a stack.
struct Suffixes {
  const char *codes, *scales, *global;
};
struct CodingNames {
  Coding coding;
  Suffixes one, stacked;
};
constexpr std::array<CodingNames, 5> kNames{{
    {Coding::kMxfp4Blocks, {"_blocks", "_scales", ""}, {"_blocks", "_scales", ""}},
    {Coding::kCompressedNvfp4,
     {".weight_packed", ".weight_scale", ".weight_global_scale"},
     {"_packed", "_scale", "_global_scale"}},
    {Coding::kModeloptNvfp4,
     {".weight", ".weight_scale", ".weight_scale_2"},
     {"", "_weight_scale", "_weight_scale_2"}},
    {Coding::kScaleInv, {".weight", ".weight_scale_inv", ""}, {"", "_scale_inv", ""}},
    {Coding::kPlain, {".weight", "", ""}, {"", "", ""}},
}};

const Suffixes& NamesOf(Coding coding, bool stacked) {
  for (const CodingNames& names : kNames)
    if (names.coding == coding) return stacked ? names.stacked : names.one;
  throw UsageError("no names for this coding");
}

[[noreturn]] void Fail(const std::string& tensor, const std::string& what) {
  throw UsageError("tensor \"" + tensor + "\": " + what);
}

std::string Word(const Json& config, const char* field) {
  const Json value = config.value(field, Json());
  return value.is_string() ? value.get<std::string>() : "";
}

void TakeBlockSize(const Json& config, ExpertCoding& coding) {
  const Json size = config.value("weight_block_size", Json());
  if (size.is_null()) return;
  const auto fits = [](const Json& n) {
    return n.is_number_unsigned() && n.get<std::uint64_t>() >= 1 &&
           n.get<std::uint64_t>() <= std::uint64_t(kMaxExtent);
  };
  if (!size.is_array() || size.size() != 2 || !fits(size[0]) || !fits(size[1]))
    throw UsageError("quantization_config: weight_block_size " + ShortJson(size) +
                     " is no pair of positive numbers");
  coding.block_rows = size[0];
  coding.block_columns = size[1];
}

ExpertCoding FromConfig(const Json& config) {
  if (!config.is_object())
    throw UsageError("quantization_config: " + ShortJson(config) + " is no object");
  const std::string method = Word(config, "quant_method"), algorithm = Word(config, "quant_algo");
  const std::string format = Word(config, "format");
  ExpertCoding coding{Coding::kPlain, 128, 128, "quantization_config"};
  if (algorithm == "NVFP4") {  // ModelOpt; hf_quant_config.json has no method
    coding.coding = Coding::kModeloptNvfp4;
  } else if (method == "compressed-tensors" && format == "nvfp4-pack-quantized") {
    coding.coding = Coding::kCompressedNvfp4;
  } else if (method == "mxfp4") {
    coding.coding = Coding::kMxfp4Blocks;
  } else if (method == "fp8") {
    coding.coding = Coding::kScaleInv;
    TakeBlockSize(config, coding);
  } else {
    throw UnsupportedProblem("quantization_config: quant_method=" + method +
                             " quant_algo=" + algorithm + " format=" + format + ": not built yet");
  }
  return coding;
}

bool HasAll(const CheckpointFiles& files, const std::string& matrix, const Suffixes& names) {
  for (const char* suffix : {names.codes, names.scales, names.global})
    if (!files.Has(matrix + suffix)) return false;
  return true;
}

// A config lists modules that stay as they were.
bool MayBePlain(const Json& config) {
  for (const char* field : {"ignore", "modules_to_not_convert", "exclude_modules"})
    if (const Json list = config.value(field, Json()); list.is_array() && !list.empty())
      return true;
  return false;
}

bool IsPlain(const CheckpointFiles& files, const std::string& matrix) {
  for (const char* suffix : {".weight", ""})
    if (files.Has(matrix + suffix)) {
      const std::string& dtype = files.Get(matrix + suffix).dtype;
      return dtype == "BF16" || dtype == "F16";
    }
  return false;
}

ExpertCoding FromNames(const CheckpointFiles& files, const std::string& matrix) {
  for (const CodingNames& names : kNames)
    for (const Suffixes* suffixes : {&names.one, &names.stacked}) {
      const bool global = *suffixes->global != '\0';
      const Suffixes needed{suffixes->codes, suffixes->scales,
                            global ? suffixes->global : suffixes->codes};
      if (names.coding == Coding::kPlain || HasAll(files, matrix, needed))
        return {names.coding, 128, 128, "tensor names"};
    }
  return {};
}

const TensorView& GetTyped(const CheckpointFiles& files, const std::string& tensor,
                           std::initializer_list<const char*> dtypes) {
  const TensorView& view = files.Get(tensor);
  std::string list;
  for (const char* dtype : dtypes) {
    if (view.dtype == dtype) return view;
    list += (list.empty() ? "" : " or ") + std::string(dtype);
  }
  Fail(tensor, "dtype is " + view.dtype + ", " + list + " is needed");
}

const TensorView& Codes(const CheckpointFiles& files, Coding coding, const std::string& tensor) {
  if (coding == Coding::kPlain) return GetTyped(files, tensor, {"BF16", "F16"});
  if (coding == Coding::kScaleInv) return GetTyped(files, tensor, {"F8_E4M3", "I8"});
  return GetTyped(files, tensor, {"U8"});
}

struct Located {
  const TensorView& codes;
  std::string codes_name, scales_name, global_name;
};

Located Locate(const CheckpointFiles& files, const ExpertCoding& coding,
               const StoredMatrix& matrix) {
  const Suffixes& names = NamesOf(coding.coding, matrix.stacked);
  const std::string codes = matrix.name + names.codes;
  return {Codes(files, coding.coding, codes), codes,
          *names.scales ? matrix.name + names.scales : "",
          *names.global ? matrix.name + names.global : ""};
}

bool IsFp4(const Located& at, Coding coding) {
  return coding != Coding::kPlain && at.codes.dtype != "F8_E4M3";
}

// The scheme of one matrix; the type of its scales may decide.
ContainerScheme SchemeOf(const ExpertCoding& coding, const Located& at, const TensorView* scales) {
  switch (coding.coding) {
    case Coding::kPlain:
      return SchemeNamed(at.codes.dtype == "BF16" ? "bf16" : "fp16");
    case Coding::kModeloptNvfp4:
      return SchemeNamed("nvfp4");
    case Coding::kCompressedNvfp4:
      return SchemeNamed("nvfp4_divisor");
    case Coding::kMxfp4Blocks:
      return SchemeNamed("mxfp4");
    case Coding::kScaleInv:
      break;
  }
  if (at.codes.dtype == "I8") return SchemeNamed("mxfp4");
  if (scales->dtype == "U8") return SchemeNamed("mxfp8");
  ContainerScheme scheme = SchemeNamed(scales->dtype == "F32"    ? "fp8_block128_fp32"
                                       : scales->dtype == "BF16" ? "fp8_block128_bf16"
                                                                 : "fp8_block128_ue8m0");
  scheme.block_rows = coding.block_rows;
  scheme.block_columns = coding.block_columns;
  return scheme;
}

const TensorView* ScalesOf(const CheckpointFiles& files, const ExpertCoding& coding,
                           const Located& at) {
  switch (coding.coding) {
    case Coding::kPlain:
      return nullptr;
    case Coding::kModeloptNvfp4:
    case Coding::kCompressedNvfp4:
      return &GetTyped(files, at.scales_name, {"F8_E4M3"});
    case Coding::kMxfp4Blocks:
      return &GetTyped(files, at.scales_name, {"U8"});
    case Coding::kScaleInv:
      break;
  }
  if (at.codes.dtype == "I8") return &GetTyped(files, at.scales_name, {"F8_E8M0"});
  return &GetTyped(files, at.scales_name, {"F32", "BF16", "F8_E8M0", "U8"});
}

// FP32, one number a matrix; a stack may hold one for each expert.
float ReadGlobalScale(const CheckpointFiles& files, const std::string& tensor, int expert) {
  const TensorView& view = GetTyped(files, tensor, {"F32"});
  const std::int64_t count = view.Count();
  if (count != 1 && expert >= count)
    Fail(tensor, "holds " + std::to_string(count) + " global scales, none for expert " +
                     std::to_string(expert));
  float value = 0;
  std::memcpy(&value, view.bytes.data() + (count == 1 ? 0 : expert) * 4, 4);
  if (!std::isfinite(value) || value == 0)
    Fail(tensor, "global scale " + std::to_string(value) + " must be finite and not zero");
  return value;
}

// The part of a tensor that belongs to one expert of a stack of so many.
std::vector<std::uint8_t> PartOf(const TensorView& view, const std::string& name,
                                 std::int64_t experts, int expert, std::size_t size) {
  if (view.bytes.size() != size * std::size_t(experts))
    Fail(name, "holds " + std::to_string(view.bytes.size()) + " bytes, the weights need " +
                   std::to_string(size * std::size_t(experts)));
  const auto part = view.bytes.subspan(size * std::size_t(expert), size);
  return {part.begin(), part.end()};
}

std::vector<std::int64_t> ShapeOf(const Located& at, Coding coding, const StoredMatrix& matrix) {
  std::vector<std::int64_t> shape = at.codes.shape;
  if (coding == Coding::kMxfp4Blocks) {
    if (shape.size() < 3 || shape.back() != 16)
      Fail(at.codes_name, "shape must end with 16 bytes, one group");
    shape.pop_back();
    shape.back() *= 32;
  } else if (IsFp4(at, coding) && !shape.empty()) {
    shape.back() *= 2;
  }
  if (matrix.flat > 0 && shape.size() == 2 && shape[0] % matrix.flat == 0)
    shape = {matrix.flat, shape[0] / matrix.flat, shape[1]};
  const std::size_t wanted = matrix.stacked ? 3 : 2;
  if (shape.size() != wanted)
    Fail(at.codes_name, "has " + std::to_string(shape.size()) + " dimensions, " +
                            std::to_string(wanted) + " are needed");
  for (const std::int64_t extent : shape)
    if (extent < 1 || extent > kMaxExtent)  // what follows multiplies two of them
      Fail(at.codes_name,
           "extent " + std::to_string(extent) + " is outside 1 to " + std::to_string(kMaxExtent));
  return shape;
}

}  // namespace

ExpertCoding DecideCoding(const CheckpointFiles& files, const std::string& matrix) {
  const Json config = files.Quantisation();
  if (config.is_null()) return FromNames(files, matrix);
  ExpertCoding coding = FromConfig(config);
  if (MayBePlain(config) && IsPlain(files, matrix))
    coding = {Coding::kPlain, 128, 128, "quantization_config leaves it out"};
  return coding;
}

std::string MatrixOfCodes(const std::string& tensor) {
  for (const char* suffix : {".weight_packed", ".weight", "_blocks"})
    if (tensor.ends_with(suffix)) return tensor.substr(0, tensor.size() - std::strlen(suffix));
  return tensor;
}

std::vector<std::int64_t> WeightShape(const CheckpointFiles& files, const ExpertCoding& coding,
                                      const StoredMatrix& matrix) {
  return ShapeOf(Locate(files, coding, matrix), coding.coding, matrix);
}

Container ReadContainer(const CheckpointFiles& files, const ExpertCoding& coding,
                        const StoredMatrix& matrix, int expert) {
  const Located at = Locate(files, coding, matrix);
  const std::vector<std::int64_t> shape = ShapeOf(at, coding.coding, matrix);
  const std::int64_t experts = matrix.stacked ? shape[0] : 1;
  const int which = matrix.stacked ? expert : 0;
  if (which < 0 || which >= experts) Fail(at.codes_name, "has no expert " + std::to_string(expert));
  const TensorView* scales = ScalesOf(files, coding, at);
  Container container;
  container.scheme = SchemeOf(coding, at, scales);
  container.transposed = matrix.input_first;
  container.rows = static_cast<int>(shape[shape.size() - (matrix.input_first ? 1 : 2)]);
  container.columns = static_cast<int>(shape[shape.size() - (matrix.input_first ? 2 : 1)]);
  if (matrix.input_first && coding.coding != Coding::kPlain)
    Fail(at.codes_name, "is quantised and stored with its inputs first: no such layout is known");
  SizeBuffers(container);
  container.payload = PartOf(at.codes, at.codes_name, experts, which, container.payload.size());
  if (scales != nullptr)
    container.scales = PartOf(*scales, at.scales_name, experts, which, container.scales.size());
  if (!at.global_name.empty())
    container.global_scale = ReadGlobalScale(files, at.global_name, which);
  return container;
}

}  // namespace assay
