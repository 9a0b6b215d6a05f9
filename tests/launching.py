"""Scripts that are launched as two processes, as torchrun and `accelerate launch` do."""

import os
import subprocess
import sys
from pathlib import Path

import rightreasons


def launch_two(script: str, folder: Path, *arguments: object) -> str:
    """Run a script in two processes, with this rightreasons and these tests; return what they printed."""
    file = folder / "worker.py"
    file.write_text(script, encoding="utf-8")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(file)]
    paths = [str(Path(__file__).parent), str(Path(rightreasons.__file__).parents[1])]
    ours = {"PYTHONPATH": os.pathsep.join(paths), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*launch, *map(str, arguments)], env={**os.environ, **ours}, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
