"""A trained model and new data become predictions: `mclstm predict`."""

from mclstm.prediction.run import Predicted as Predicted
from mclstm.prediction.run import predict as predict
from mclstm.prediction.run import predicted as predicted
from mclstm.prediction.source import Source as Source
