#!/bin/sh
# An arm64 Python with the run-time dependencies, to be run under qemu-user: environment.sh FOLDER
# Debian as root, for the packages; the wheels come from the registry.
set -eu
lacking() { echo "make arm: $1" >&2; exit 1; }
command -v apt-get >/dev/null || lacking "needs Debian's packages (qemu-user-static, llvm-19, an arm64 Python); there is no apt-get here"
[ "$(id -u)" = 0 ] || lacking "needs root, to install qemu-user-static and llvm-19 from Debian"
mkdir -p "$1"; out=$(cd "$1" && pwd)
dpkg --add-architecture arm64 && apt-get update -qq || lacking "apt-get cannot reach Debian's packages"
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq qemu-user-static llvm-19 >/dev/null
mkdir -p "$out/debs" "$out/root" "$out/wheels" "$out/site"
(cd "$out/debs" && apt-get download -qq $(for package in python3.11 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 \
    libgcc-s1 libstdc++6 zlib1g libexpat1 libssl3 libbz2-1.0 liblzma5 libffi8 libsqlite3-0 libuuid1 libncursesw6 libtinfo6 \
    libreadline8 libcrypt1 libnsl2 libtirpc3 libdb5.3; do echo "$package:arm64"; done) 2>/dev/null)
for deb in "$out"/debs/*.deb; do dpkg-deb -x "$deb" "$out/root"; done
numbers=$("$2" -c 'import importlib.metadata as m; print(*(f"{p}=={m.version(p)}" for p in ("numba", "llvmlite")))')
"$2" -m pip download -q --only-binary=:all: --python-version 3.11 --implementation cp --platform manylinux_2_28_aarch64 \
    --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform any \
    -d "$out/wheels" numpy $numbers ml_dtypes pydantic flatbuffers pyyaml
for wheel in "$out"/wheels/*.whl; do "$2" -m zipfile -e "$wheel" "$out/site"; done
cat >"$out/python" <<'P'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH=$here/site${PYTHONPATH:+:$PYTHONPATH} PYTHONHOME=$here/root/usr exec qemu-aarch64-static -cpu "${QEMU_CPU:-max}" -L "$here/root" "$here/root/usr/bin/python3.11" -S "$@"
P
chmod +x "$out/python"
"$out/python" -c 'import platform, numpy, llvmlite; print(platform.machine(), numpy.__version__, llvmlite.__version__)'
