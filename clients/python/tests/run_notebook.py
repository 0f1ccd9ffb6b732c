"""Executes a notebook with the kernel of this environment, and prints its outputs as a JSON list."""

import json
import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
print(
    json.dumps(
        [
            {"text": output.get("text", ""), "types": sorted(output.get("data", {})), "plain": output.get("data", {}).get("text/plain", "")}
            for output in outputs
        ]
    )
)
