"""The config of a run: nested YAML, checked completely before anything else. Never imports torch."""

from mclstm.config.data import DataConfig as DataConfig
from mclstm.config.data import PeriodsConfig as PeriodsConfig
from mclstm.config.load import Config as Config
from mclstm.config.load import check_config as check_config
from mclstm.config.load import check_model as check_model
from mclstm.config.load import check_sequences as check_sequences
from mclstm.config.load import check_training as check_training
from mclstm.config.load import dump_config as dump_config
from mclstm.config.load import json_schema as json_schema
from mclstm.config.load import load_config as load_config
from mclstm.config.model import ConservingConfig as ConservingConfig
from mclstm.config.model import HybridConfig as HybridConfig
from mclstm.config.model import LSTMConfig as LSTMConfig
from mclstm.config.model import MCLSTMConfig as MCLSTMConfig
from mclstm.config.training import EvaluationConfig as EvaluationConfig
from mclstm.config.training import TrainingConfig as TrainingConfig
