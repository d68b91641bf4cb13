#include "reference/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/error.h"
#include "reference/safetensors_writer.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path kFormats = fs::path(ASSAY_GOLDENS) / "formats";
const fs::path kLayers = fs::path(ASSAY_GOLDENS) / "hf";
const std::string kPrefix = "model.layers.3.mlp.experts.";

using Bytes = std::vector<std::uint8_t>;

Bytes Repeat(std::span<const std::uint8_t> bytes, int times) {
  Bytes all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}

// A golden's packed matrix, or several below each other.
class Packed {
 public:
  Packed(const std::string& name, int times = 1)
      : file_(Safetensors::Open(kFormats / (name + ".safetensors"))), times_(times) {}

  void Add(SafetensorsWriter& out, const std::string& from, const std::string& to) const {
    const TensorView& view = file_.Get(from);
    std::vector<std::int64_t> shape = view.shape;
    if (shape.size() > 1) shape[0] *= times_;
    out.Add(to, view.dtype, shape, Repeat(view.bytes, shape.size() > 1 ? times_ : 1));
  }
  std::vector<double> Values() const {
    const std::vector<double> once = file_.Doubles("dequant");
    std::vector<double> all;
    for (int i = 0; i < times_; ++i) all.insert(all.end(), once.begin(), once.end());
    return all;
  }
  const Safetensors& File() const { return file_; }

 private:
  Safetensors file_;
  int times_;
};

void ExpectSame(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  int differing = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    differing += !(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])));
  EXPECT_EQ(differing, 0);
}

class Folder : public testing::Test {
 protected:
  fs::path dir_ = fs::path(testing::TempDir()) / "assay_checkpoint";
  SafetensorsWriter out_;

  void SetUp() override {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  void Write() { out_.Write(dir_ / "model.safetensors"); }
  void Config(const std::string& text) { Text("config.json", text); }
  void Text(const char* file, const std::string& text) {
    std::ofstream(dir_ / file, std::ios::binary) << text;
  }
  CheckpointLayer Layer() {
    const Checkpoint checkpoint(dir_);
    return checkpoint.Layer(checkpoint.Layers().front());
  }
  // The message of the error that opening and reading all gives; "fine" if it gives none.
  std::string ErrorOf() {
    try {
      const CheckpointLayer layer = Layer();
      for (int expert = 0; expert < layer.experts; ++expert)
        for (const Projection p : {Projection::kGate, Projection::kUp, Projection::kDown})
          if (p != Projection::kGate || layer.gated) layer.Weights(expert, p);
      return "fine";
    } catch (const UsageError& error) {
      return error.what();
    } catch (const UnsupportedProblem& error) {
      return std::string("unsupported: ") + error.what();
    }
  }
  void ExpectError(const std::string& part) {
    EXPECT_NE(ErrorOf().find(part), std::string::npos) << ErrorOf();
  }

  // Writes out_ with one tensor replaced.
  void Change(const std::string& name, const char* dtype, std::vector<std::int64_t> shape,
              Bytes bytes) {
    const Safetensors all = Safetensors::Parse(out_.Bytes(), "x");
    SafetensorsWriter changed;
    for (const auto& [tensor, view] : all.Tensors())
      if (tensor != name) changed.Add(tensor, view);
    changed.Add(name, dtype, std::move(shape), std::move(bytes));
    changed.Write(dir_ / "model.safetensors");
  }

  // NVFP4, two experts: gate and up [16, 64] of the goldens, down [64, 16] of zeros.
  void AddModelopt(int experts = 2) {
    const Packed a("nvfp4_modelopt-a");
    for (int e = 0; e < experts; ++e) {
      const std::string base = kPrefix + std::to_string(e) + ".";
      for (const char* projection : {"gate_proj", "up_proj"})
        for (const char* tensor : {".weight", ".weight_scale", ".weight_scale_2"})
          a.Add(out_, tensor + 1, base + projection + tensor);
      out_.Add(base + "down_proj.weight", "U8", {64, 8}, Bytes(64 * 8));
      out_.Add(base + "down_proj.weight_scale", "F8_E4M3", {64, 1}, Bytes(64, 0x38));
      out_.AddFloat(base + "down_proj.weight_scale_2", 2.0f);
    }
  }
};

TEST_F(Folder, ModeloptNvfp4IsFoundByItsConfig) {
  AddModelopt();
  Write();
  Config(
      R"({"num_experts":2,"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}})");
  const CheckpointLayer layer = Layer();
  EXPECT_EQ(layer.coding.said_by, "quantization_config");
  EXPECT_EQ(layer.experts, 2);
  EXPECT_EQ(layer.inter, 16);
  EXPECT_EQ(layer.hidden, 64);
  const Packed a("nvfp4_modelopt-a");
  ExpectSame(layer.Weights(1, Projection::kUp), a.Values());
  const Container packed = layer.Packed(0, Projection::kGate);
  EXPECT_EQ(packed.scheme.name, "nvfp4");
  const TensorView& codes = a.File().Get("weight");
  EXPECT_EQ(packed.payload, Bytes(codes.bytes.begin(), codes.bytes.end()));
  ExpectSame(ExactWeights(packed, CodePolicy::kStandard), a.Values());
}

TEST_F(Folder, AHfQuantConfigSpeaksToo) {
  AddModelopt();
  Write();
  Text("hf_quant_config.json", R"({"quantization":{"quant_algo":"NVFP4"}})");
  EXPECT_EQ(Layer().coding.said_by, "quantization_config");
  EXPECT_EQ(ErrorOf(), "fine");
}

TEST_F(Folder, WithoutAConfigTheNamesDecide) {
  AddModelopt();
  Write();
  const CheckpointLayer layer = Layer();
  EXPECT_EQ(layer.coding.said_by, "tensor names");
  EXPECT_EQ(layer.coding.coding, Coding::kModeloptNvfp4);
  ExpectSame(layer.Weights(0, Projection::kGate), Packed("nvfp4_modelopt-a").Values());
}

TEST_F(Folder, TheConfigOverrulesTheNames) {
  AddModelopt();
  Write();
  Config(R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})");
  ExpectError("experts.0.up_proj.weight\": dtype is U8, F8_E4M3 or I8 is needed");
  Config(
      R"({"quantization_config":{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized"}})");
  ExpectError("experts.0.up_proj.weight_packed\" is absent");
  Config(R"({"quantization_config":{"quant_method":"exotic"}})");
  ExpectError("unsupported: quantization_config: quant_method=exotic");
}

TEST_F(Folder, CompressedTensorsDividesByItsGlobalScale) {
  const Packed a("nvfp4_compressed_tensors-a");
  for (const char* projection : {"w1", "w3"})
    for (const char* tensor : {".weight_packed", ".weight_scale", ".weight_global_scale"})
      a.Add(out_, tensor + 1, kPrefix + "0." + projection + tensor);
  out_.Add(kPrefix + "0.w2.weight_packed", "U8", {64, 8}, Bytes(64 * 8, 0x21));
  out_.Add(kPrefix + "0.w2.weight_scale", "F8_E4M3", {64, 1}, Bytes(64, 0x38));
  out_.AddFloat(kPrefix + "0.w2.weight_global_scale", 4.0f);
  Write();
  Config(
      R"({"quantization_config":{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized"}})");
  const CheckpointLayer layer = Layer();
  ExpectSame(layer.Weights(0, Projection::kGate), a.Values());
  EXPECT_EQ(layer.Packed(0, Projection::kUp).scheme.global, GlobalScale::kDivides);
  // Codes 1 and 2 are 0.5 and 1, the scale 0x38 is 1, the global scale divides by 4.
  const std::vector<double> down = layer.Weights(0, Projection::kDown);
  EXPECT_EQ(down[0], 0.125);
  EXPECT_EQ(down[1], 0.25);
}

TEST_F(Folder, GptOssBlocksAreInterleaved) {
  // [3, 16, 64] of the goldens, four times: 64 rows are 32 of gate and 32 of up, in turn.
  const Packed a("mxfp4-a");
  const TensorView &blocks = a.File().Get("blocks"), &scales = a.File().Get("scales");
  Bytes all_blocks, all_scales;
  for (int e = 0; e < 3; ++e) {
    const Bytes b = Repeat(blocks.bytes.subspan(e * 512, 512), 4);
    const Bytes s = Repeat(scales.bytes.subspan(e * 32, 32), 4);
    all_blocks.insert(all_blocks.end(), b.begin(), b.end());
    all_scales.insert(all_scales.end(), s.begin(), s.end());
  }
  out_.Add(kPrefix + "gate_up_proj_blocks", "U8", {3, 64, 2, 16}, all_blocks);
  out_.Add(kPrefix + "gate_up_proj_scales", "U8", {3, 64, 2}, all_scales);
  out_.Add(kPrefix + "gate_up_proj_bias", "BF16", {3, 64}, Repeat(Bytes{0x80, 0x3f, 0, 0x40}, 96));
  out_.Add(kPrefix + "down_proj_blocks", "U8", {3, 64, 1, 16}, Bytes(3 * 64 * 16));
  out_.Add(kPrefix + "down_proj_scales", "U8", {3, 64, 1}, Bytes(3 * 64, 127));
  Write();
  Config(
      R"({"model_type":"gpt_oss","num_local_experts":3,"quantization_config":{"quant_method":"mxfp4"}})");
  const CheckpointLayer layer = Layer();
  EXPECT_EQ(layer.inter, 32);
  const std::vector<double> golden = a.Values();
  for (int expert = 0; expert < 3; ++expert)
    for (const auto& [projection, parity] :
         {std::pair(Projection::kGate, 0), {Projection::kUp, 1}}) {
      std::vector<double> expected;
      for (int i = 0; i < 32; ++i) {
        const auto row = golden.begin() + expert * 1024 + (2 * i + parity) % 16 * 64;
        expected.insert(expected.end(), row, row + 64);
      }
      ExpectSame(layer.Weights(expert, projection), expected);
      ExpectSame(ExactWeights(layer.Packed(expert, projection), CodePolicy::kStandard), expected);
    }
  EXPECT_EQ(layer.Bias(1, Projection::kGate), std::vector<double>(32, 1.0));
  EXPECT_EQ(layer.Bias(1, Projection::kUp), std::vector<double>(32, 2.0));
  EXPECT_TRUE(layer.Bias(1, Projection::kDown).empty());
}

// gate and up [rows, columns] of a golden, down of zeros.
void AddScaleInv(SafetensorsWriter& out, const Packed& golden, const char* dtype, int rows,
                 int columns, const char* scale_dtype, int down_scales, int scale_columns) {
  const int pair = std::string(dtype) == "I8" ? 2 : 1;
  for (const char* projection : {"gate_proj", "up_proj"})
    for (const char* tensor : {".weight", ".weight_scale_inv"})
      golden.Add(out, tensor + 1, kPrefix + "0." + projection + tensor);
  const int width = std::string(scale_dtype) == "F32" ? 4 : 1;
  out.Add(kPrefix + "0.down_proj.weight", dtype, {columns, rows / pair},
          Bytes(columns * rows / pair));
  out.Add(kPrefix + "0.down_proj.weight_scale_inv", scale_dtype, {down_scales, scale_columns},
          Bytes(std::size_t(down_scales) * scale_columns * width, 0x30));
}

TEST_F(Folder, BlockFp8WithRaggedEdgesInThreeTypesOfScales) {
  struct Case {
    const char *golden, *scales;
    int rows, columns;
  };
  for (const Case& c : {Case{"fp8_block-a", "F32", 128, 256},
                        {"fp8_block-b", "F32", 192, 160},
                        {"fp8_block-c", "F8_E8M0", 136, 264}}) {
    out_ = {};
    const Packed golden(c.golden);
    AddScaleInv(out_, golden, "F8_E4M3", c.rows, c.columns, c.scales, (c.columns + 127) / 128,
                (c.rows + 127) / 128);
    Write();
    Config(R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})");
    ExpectSame(Layer().Weights(0, Projection::kUp), golden.Values());
    EXPECT_EQ(ErrorOf(), "fine");
    Config("{}");
    ExpectSame(Layer().Weights(0, Projection::kGate), golden.Values());
  }
}

TEST_F(Folder, Mxfp8AndFp4WithE8m0ScalesAreToldByTheirTypes) {
  const Packed mxfp8("mxfp8-a");
  AddScaleInv(out_, mxfp8, "F8_E4M3", 16, 96, "U8", 96, 1);
  Write();
  ExpectSame(Layer().Weights(0, Projection::kUp), mxfp8.Values());
  out_ = {};
  const Packed fp4("fp4_e8m0-a", 4);  // 64 rows, so that down has whole groups
  AddScaleInv(out_, fp4, "I8", 64, 128, "F8_E8M0", 128, 2);
  Write();
  ExpectSame(Layer().Weights(0, Projection::kUp), fp4.Values());
}

TEST_F(Folder, StackedBlockFp8) {
  const Packed d("fp8_block-d");  // two experts, [96, 96]
  for (const char* projection : {"gate_proj", "up_proj", "down_proj"}) {
    d.Add(out_, "weight", kPrefix + projection);
    d.Add(out_, "weight_scale_inv", kPrefix + projection + "_scale_inv");
  }
  Write();
  Config(R"({"quantization_config":{"quant_method":"fp8"}})");
  std::vector<double> both = d.Values();
  ExpectSame(Layer().Weights(1, Projection::kDown), {both.begin() + 96 * 96, both.end()});
}

TEST_F(Folder, ScalesThatServeGateAndUpHaveNoPackedHalves) {
  const Packed d("fp8_block-d");  // 96 rows: 48 of gate, 48 of up, one block of scales
  d.Add(out_, "weight", kPrefix + "gate_up_proj");
  d.Add(out_, "weight_scale_inv", kPrefix + "gate_up_proj_scale_inv");
  out_.Add(kPrefix + "down_proj", "F8_E4M3", {2, 96, 48}, Bytes(2 * 96 * 48));
  out_.Add(kPrefix + "down_proj_scale_inv", "F32", {2, 1, 1}, Bytes(8, 0x30));
  Write();
  const CheckpointLayer layer = Layer();
  const std::vector<double> golden = d.Values();
  ExpectSame(layer.Weights(0, Projection::kUp),
             {golden.begin() + 48 * 96, golden.begin() + 96 * 96});
  EXPECT_THROW(layer.Packed(0, Projection::kUp), UnsupportedProblem);
}

// The layer goldens: what the description says against what the reader finds by itself.
std::vector<double> DescribedRow(const Safetensors& file, const std::string& tensor, int first,
                                 int count, int stride) {
  const std::vector<double> all = file.Doubles(tensor);
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(all.at(std::size_t(first) + i * stride));
  return values;
}

std::vector<double> RowOf(const std::vector<double>& weights, int row, int columns) {
  return {weights.begin() + row * columns, weights.begin() + (row + 1) * columns};
}

TEST_F(Folder, LayersOfModelCodeInEveryLayout) {
  const auto open = [&](const char* golden, const std::string& config) {
    fs::copy_file(kLayers / (std::string(golden) + ".safetensors"), dir_ / "model.safetensors",
                  fs::copy_options::overwrite_existing);
    Config(config);
    return Safetensors::Open(dir_ / "model.safetensors");
  };
  {  // [E, 2I, H] and [E, H, I], I = 48, H = 64
    const Safetensors file = open("mixtral-a", "{}");
    EXPECT_EQ(RowOf(Layer().Weights(3, Projection::kUp), 5, 64),
              DescribedRow(file, "experts.gate_up_proj", (3 * 96 + 48 + 5) * 64, 64, 1));
    EXPECT_EQ(RowOf(Layer().Weights(3, Projection::kDown), 5, 48),
              DescribedRow(file, "experts.down_proj", (3 * 64 + 5) * 48, 48, 1));
  }
  {  // [E, H, 2I] and [E, I, H], I = 32, H = 96
    const Safetensors file = open("llama4-b", R"({"model_type":"llama4_text"})");
    EXPECT_EQ(RowOf(Layer().Weights(9, Projection::kUp), 5, 96),
              DescribedRow(file, "experts.gate_up_proj", 9 * 96 * 64 + 32 + 5, 96, 64));
    EXPECT_EQ(RowOf(Layer().Weights(9, Projection::kDown), 5, 32),
              DescribedRow(file, "experts.down_proj", 9 * 32 * 96 + 5, 32, 96));
    ExpectSame(ExactWeights(Layer().Packed(9, Projection::kUp), CodePolicy::kStandard),
               Layer().Weights(9, Projection::kUp));
  }
  {  // the same, gate and up in turn, with biases; I = 48, H = 64
    const Safetensors file = open("gpt_oss-a", R"({"text_config":{"model_type":"gpt_oss"}})");
    const CheckpointLayer layer = Layer();
    EXPECT_EQ(RowOf(layer.Weights(7, Projection::kGate), 5, 64),
              DescribedRow(file, "experts.gate_up_proj", 7 * 64 * 96 + 10, 64, 96));
    EXPECT_EQ(RowOf(layer.Weights(7, Projection::kUp), 5, 64),
              DescribedRow(file, "experts.gate_up_proj", 7 * 64 * 96 + 11, 64, 96));
    EXPECT_EQ(layer.Bias(7, Projection::kUp),
              DescribedRow(file, "experts.gate_up_proj_bias", 7 * 96 + 1, 48, 2));
    EXPECT_EQ(layer.Bias(7, Projection::kDown),
              DescribedRow(file, "experts.down_proj_bias", 7 * 64, 64, 1));
    ExpectSame(ExactWeights(layer.Packed(7, Projection::kUp), CodePolicy::kStandard),
               layer.Weights(7, Projection::kUp));
  }
  {  // [E * I, H] three times, down stored with its inputs first; I = 32, H = 64, E = 8
    const Safetensors file = open("dbrx-a", R"({"moe_num_experts":8})");
    EXPECT_EQ(RowOf(Layer().Weights(2, Projection::kGate), 5, 64),
              DescribedRow(file, "experts.mlp.w1", (2 * 32 + 5) * 64, 64, 1));
    EXPECT_EQ(RowOf(Layer().Weights(2, Projection::kDown), 5, 32),
              DescribedRow(file, "experts.mlp.w2", 2 * 32 * 64 + 5, 32, 64));
  }
  {  // not gated, in a latent space of 48; I = 64
    const Safetensors file = open("nemotron_h-b", "{}");
    const CheckpointLayer layer = Layer();
    EXPECT_FALSE(layer.gated);
    EXPECT_EQ(layer.hidden, 48);
    EXPECT_EQ(RowOf(layer.Weights(2, Projection::kUp), 5, 48),
              DescribedRow(file, "experts.up_proj", (2 * 64 + 5) * 48, 48, 1));
    EXPECT_THROW(layer.Weights(2, Projection::kGate), UsageError);
  }
}

TEST_F(Folder, EveryLayerGoldenIsReadAsItsDescriptionSays) {
  const Json cases = ReadJson(kLayers / "cases.json");
  for (const Json& layer_case : cases.at("cases")) {
    const std::string file = layer_case.at("file");
    fs::copy_file(kLayers / file, dir_ / "model.safetensors", fs::copy_options::overwrite_existing);
    Config(Json{{"num_experts", layer_case.at("num_experts")},
                {"zero_expert_num", layer_case.at("router").at("zero_expert_num")},
                {"moe_intermediate_size", layer_case.at("moe_intermediate")},
                {"model_type", layer_case.at("arch")}}
               .dump());
    const CheckpointLayer layer = Layer();
    EXPECT_EQ(layer.inter, layer_case.at("moe_intermediate")) << file;
    EXPECT_EQ(layer.experts, layer_case.at("num_experts")) << file;
    EXPECT_EQ(layer.gated, layer_case.at("experts").at("gated").get<bool>()) << file;
    EXPECT_EQ(ErrorOf(), "fine") << file;
  }
}

TEST_F(Folder, AnIndexSpreadsALayerOverFiles) {
  AddModelopt(1);
  out_.Write(dir_ / "model-00001-of-00002.safetensors");
  out_ = {};
  const Packed a("nvfp4_modelopt-a");
  for (const char* tensor : {".weight", ".weight_scale", ".weight_scale_2"}) {
    a.Add(out_, tensor + 1, kPrefix + "1.gate_proj" + tensor);
    a.Add(out_, tensor + 1, kPrefix + "1.up_proj" + tensor);
  }
  out_.Add(kPrefix + "1.down_proj.weight", "U8", {64, 8}, Bytes(64 * 8));
  out_.Add(kPrefix + "1.down_proj.weight_scale", "F8_E4M3", {64, 1}, Bytes(64));
  out_.AddFloat(kPrefix + "1.down_proj.weight_scale_2", 2.0f);
  out_.Write(dir_ / "model-00002-of-00002.safetensors");
  Json index = {{"weight_map", Json::object()}};
  for (int part : {1, 2}) {
    const std::string file = "model-0000" + std::to_string(part) + "-of-00002.safetensors";
    const Safetensors tensors = Safetensors::Open(dir_ / file);
    for (const auto& [name, view] : tensors.Tensors()) index["weight_map"][name] = file;
  }
  Text("model.safetensors.index.json", index.dump());
  EXPECT_EQ(Layer().experts, 2);
  ExpectSame(Layer().Weights(1, Projection::kUp), a.Values());
  fs::remove(dir_ / "model-00002-of-00002.safetensors");
  ExpectError("model-00002-of-00002.safetensors: cannot be read");
  index["weight_map"][kPrefix + "1.up_proj.weight"] = "../x.safetensors";
  Text("model.safetensors.index.json", index.dump());
  ExpectError("\"../x.safetensors\" is no plain file name");
  Text("model.safetensors.index.json", "{}");
  ExpectError("needs an object \"weight_map\"");
}

TEST_F(Folder, AMissingExpertIsNamed) {
  AddModelopt(2);
  Write();
  Config(R"({"num_experts":3})");
  ExpectError("tensor \"" + kPrefix + "2.gate_proj.weight\" is absent");
  Config(R"({"num_experts":1})");
  ExpectError("config.json says 1 experts");
  Config(R"({"num_experts":-1})");
  ExpectError("config.json: num_experts=-1 is no size");
}

TEST_F(Folder, AGlobalScaleMustBeFiniteAndNotZero) {
  for (const float scale :
       {0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    out_ = {};
    AddModelopt();
    Bytes bytes(4);
    std::memcpy(bytes.data(), &scale, 4);
    Change(kPrefix + "1.up_proj.weight_scale_2", "F32", {}, bytes);
    ExpectError("1.up_proj.weight_scale_2\": global scale ");
  }
}

TEST_F(Folder, ScalesOfAnotherSizeOrTypeAreNamed) {
  AddModelopt(1);
  Change(kPrefix + "0.up_proj.weight_scale", "F8_E4M3", {16, 3}, Bytes(48));
  ExpectError("0.up_proj.weight_scale\": holds 48 bytes, the weights need 64");
  Change(kPrefix + "0.up_proj.weight_scale", "U8", {16, 4}, Bytes(64));
  ExpectError("0.up_proj.weight_scale\": dtype is U8, F8_E4M3 is needed");
  Change(kPrefix + "0.up_proj.weight_scale_2", "F64", {}, Bytes(8));
  ExpectError("0.up_proj.weight_scale_2\": dtype is F64, F32 is needed");
}

TEST_F(Folder, WeightsOfAnotherTypeAreNamed) {
  out_.Add(kPrefix + "0.up_proj.weight", "F64", {2, 2}, Bytes(32));
  out_.Add(kPrefix + "0.down_proj.weight", "F64", {2, 2}, Bytes(32));
  Write();
  ExpectError("0.up_proj.weight\": dtype is F64, BF16 or F16 is needed");
}

TEST_F(Folder, ShapesThatDoNotFitEachOtherAreNamed) {
  out_.Add(kPrefix + "0.gate_proj.weight", "BF16", {4, 8}, Bytes(64));
  out_.Add(kPrefix + "0.up_proj.weight", "BF16", {4, 8}, Bytes(64));
  out_.Add(kPrefix + "0.down_proj.weight", "BF16", {4, 8}, Bytes(64));
  Write();
  ExpectError("0.down_proj\": is 4 x 8 for 1 experts, 8 x 4 for 1 are needed");
}

TEST_F(Folder, FoldersWithoutALayerAreNamed) {
  ExpectError("holds 0 safetensors files");
  out_.Add("lm_head.weight", "BF16", {2, 2}, Bytes(8));
  Write();
  ExpectError("no layer with experts");
  Config("[]");
  ExpectError("config.json: is no JSON object");
  Config(R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[0,128]}})");
  AddScaleInv(out_, Packed("fp8_block-a"), "F8_E4M3", 128, 256, "F32", 2, 1);
  Write();
  ExpectError("weight_block_size an array of 2 is no pair of positive numbers");
  EXPECT_THROW(Checkpoint("/nowhere"), UsageError);
}

TEST_F(Folder, ModulesThatTheConfigLeavesOutArePlain) {
  out_.Add(kPrefix + "0.gate_proj.weight", "BF16", {4, 8}, Bytes(64));
  out_.Add(kPrefix + "0.up_proj.weight", "BF16", {4, 8}, Bytes(64));
  out_.Add(kPrefix + "0.down_proj.weight", "BF16", {8, 4}, Bytes(64));
  Write();
  Config(R"({"quantization_config":{"quant_method":"fp8"}})");
  ExpectError("dtype is BF16, F8_E4M3 or I8 is needed");
  Config(R"({"quantization_config":{"quant_method":"fp8","modules_to_not_convert":["mlp"]}})");
  EXPECT_EQ(ErrorOf(), "fine");
  EXPECT_EQ(Layer().coding.said_by, "quantization_config leaves it out");
}

}  // namespace
}  // namespace assay
