#pragma once
// Models by name, in the caches of other tools: Hugging Face's hub, Ollama and LM Studio.

#include <filesystem>
#include <string>
#include <vector>

namespace augur::program {

/// The path of a model that is given as a path, or by a name in a cache:
///   hf:OWNER/NAME[@REVISION][:FILE]   of Hugging Face's hub; the main branch unless a branch, tag or commit is named
///   ollama:[OWNER/]NAME[:TAG]         of Ollama; the tag latest unless one is named
///   lmstudio:OWNER/NAME[:FILE]        of LM Studio
/// FILE is a path in the model's folder, or a part of one name there, such as Q4_K_M. Without it the folder holds one
/// model: a GGUF file, a split set of them, or safetensors with config.json, which come first. A folder that holds GGUF
/// files in place of safetensors is one model in the same way. Other paths are returned as they are. Nothing is
/// downloaded. Throws, naming what was searched, what is there and the command that brings it, where there is none.
std::string find_model(const std::string& given);

struct cached_model {
    std::string name;  ///< that find_model takes
    std::filesystem::path path;
};

/// Those of the three caches, by name.
std::vector<cached_model> cached_models();

/// GGUF files below a folder, by path, the first part of a split set standing for it; not a projector of images
/// (mmproj). Links are followed to files, not to folders.
std::vector<std::filesystem::path> gguf_files_below(const std::filesystem::path& folder);

}  // namespace augur::program
