"""``python -m wbgpu``."""

from wbgpu.cli.main import main

main()
