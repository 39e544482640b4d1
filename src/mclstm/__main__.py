"""`python -m mclstm`: the command, where the entry point is not on the path."""

import sys

from mclstm.cli.main import main

sys.exit(main())
