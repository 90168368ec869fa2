"""What an installed wheel must be able to do; `make dist` runs this where there is nothing else of the tree."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pandora_regret
from pandora_regret import load_costs
from pandora_regret import pandora_regret as score

PREDICTIONS = {
    "good": "label,cat,dog,fox\ncat,0.8,0.1,0.1\ndog,0.2,0.7,0.1\nfox,0.2,0.2,0.6\n",
    "poor": "label,cat,dog,fox\ncat,0.4,0.5,0.1\ndog,0.5,0.3,0.2\nfox,0.4,0.4,0.2\n",
}


def pandora(*words: object) -> str:
    command = Path(sys.executable).with_name("pandora")
    done = subprocess.run([command, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main() -> None:
    where = Path(pandora_regret.__file__).resolve()
    assert Path(sys.prefix).resolve() in where.parents, f"not the wheel's: {where}"
    assert (where.parent / "py.typed").exists()
    assert score([0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]) == 0.2916666666666667
    assert load_costs("dermamnist").published["melanoma"] == 383.77
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / f"{model}.csv" for model in PREDICTIONS]
        for file, text in zip(files, PREDICTIONS.values(), strict=True):
            file.write_text(text)
        found = json.loads(pandora("compare", *files, "--json"))
        assert [model["name"] for model in found["models"]] == ["good", "poor"]
        pandora("compare", *files, "--html", folder / "report.html")
        assert "good" in (folder / "report.html").read_text(encoding="utf-8")
    assert pandora("--version").strip() == f"pandora, version {pandora_regret.__version__}"
    print(f"The wheel of {pandora_regret.__version__} works.")


if __name__ == "__main__":
    main()
