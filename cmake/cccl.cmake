# augur_CCCL_INCLUDE_DIRECTORY: the headers of NVIDIA's CUDA C++ core libraries (Thrust, CUB, libcu++), from augur_CCCL or else the
# CUDA toolkit. Debian's libthrust-dev is older, and is not taken.
find_package(CUDAToolkit QUIET)
find_path(augur_CCCL_INCLUDE_DIRECTORY cuda/std/__cccl/version.h
          HINTS ${augur_CCCL} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES cccl include include/cccl NO_DEFAULT_PATH)
mark_as_advanced(augur_CCCL_INCLUDE_DIRECTORY)
