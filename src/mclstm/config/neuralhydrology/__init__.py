"""Configs of neuralhydrology become ours."""

from mclstm.config.neuralhydrology.translate import as_yaml as as_yaml
from mclstm.config.neuralhydrology.translate import import_nh as import_nh
