// Runs a program that `d2s.save` has written, with Paddle Inference, and without Python.
#include <iostream>
#include <memory>
#include <string>
#include <vector>
// What is used of paddle_inference_api.h, which the wheel of Paddle lacks.
namespace paddle {
struct AnalysisConfig {
  AnalysisConfig(const std::string& program, const std::string& parameters);
  ~AnalysisConfig();
  void DisableMKLDNN();
 private:
  alignas(64) char storage_[1 << 15];  // more than any version takes
};
}  // namespace paddle
namespace paddle_infer {
struct Tensor {
  void Reshape(const std::vector<int>& shape);
  template <typename T> void CopyFromCpu(const T* data);
  template <typename T> void CopyToCpu(T* data) const;
  std::vector<int> shape() const;
};
struct Predictor {
  std::vector<std::string> GetInputNames();
  std::vector<std::string> GetOutputNames();
  std::unique_ptr<Tensor> GetInputHandle(const std::string& name);
  std::unique_ptr<Tensor> GetOutputHandle(const std::string& name);
  bool Run();
};
std::shared_ptr<Predictor> CreatePredictor(const paddle::AnalysisConfig& config);
}  // namespace paddle_infer
int main(int, char** arguments) {
  const std::string path = arguments[1];
  paddle::AnalysisConfig config(path + ".json", path + ".pdiparams");
  config.DisableMKLDNN();
  auto predictor = paddle_infer::CreatePredictor(config);
  int rows, columns;
  while (std::cin >> rows >> columns) {
    std::vector<float> x(rows * columns);
    for (auto& each : x) std::cin >> each;
    auto input = predictor->GetInputHandle(predictor->GetInputNames()[0]);
    input->Reshape({rows, columns});
    input->CopyFromCpu(x.data());
    if (!predictor->Run()) return 1;
    for (const auto& name : predictor->GetOutputNames()) {
      auto output = predictor->GetOutputHandle(name);
      size_t count = 1;
      for (int size : output->shape()) count *= size;
      std::vector<float> values(count);
      output->CopyToCpu(values.data());
      std::cout << "\nRESULT";
      for (float each : values) std::cout << " " << each;
      std::cout << std::endl;
    }
  }
}
