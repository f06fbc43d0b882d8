"""collect.py copies files of the right size out of clones, with and without a work tree, and refuses others.

    python3 tests/published_logs/collect_test.py
"""

import json
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROUND, REPOSITORY = "training_v4.0", "training_results_v4.0"


def collect(output, *clones):
    return subprocess.run([sys.executable, FOLDER / "collect.py", "--output", output, *clones],
                          capture_output=True, text=True)


def git(clone, *arguments):
    subprocess.run(["git", "-C", clone, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True,
                   capture_output=True)


def main():
    expected = json.loads((FOLDER / "expected.json").read_text())
    sizes = {name.split("/", 1)[1]: expected["files"].get(name, {"bytes": 3})["bytes"]
             for name in [*expected["files"], *expected["side_files"]] if name.startswith(f"{ROUND}/")}
    assert len(sizes) == 6
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        clone, output = folder / REPOSITORY, folder / "output"
        for name, size in sizes.items():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes(name[-5:-4].encode() * size)

        def check_copied(done):
            assert done.returncode == 1 and f"{ROUND}: 6 of 6 files\n" in done.stdout, done
            assert "hpc_v0.7: 0 of 39 files; give a clone of hpc_results_v0.7" in done.stdout and not done.stderr, done
            for name in sizes:
                copy = output / ROUND / name
                assert copy.read_bytes() == (clone / name).read_bytes(), name
                copy.unlink()

        check_copied(collect(output, clone))
        git(clone, "init", "--quiet")
        git(clone, "add", ".")
        git(clone, "commit", "--quiet", "-m", "results")
        bare = folder / "bare" / REPOSITORY
        git(folder, "clone", "--quiet", "--no-checkout", clone, bare)
        assert [path.name for path in bare.iterdir()] == [".git"]
        check_copied(collect(output, bare))

        name = next(name for name in sizes if name.endswith("result_1.txt"))
        (clone / name).write_bytes(b"short")
        done = collect(output, clone)
        assert done.returncode == 1 and f"{name}: expected {sizes[name]} bytes, got 5" in done.stderr, done
        empty = folder / "hpc_results_v2.0"
        empty.mkdir()
        done = collect(output, empty)
        assert done.returncode == 1 and "result_0.txt: is missing" in done.stderr, done
        for wrong in (folder / "hpc_results_v9.9.9", folder):
            done = collect(output, wrong)
            assert done.returncode == 2 and "expected a clone called as its repository is" in done.stderr, done


if __name__ == "__main__":
    main()
