"""Finished runs of one model become one folder to give away: `mclstm pack`."""
