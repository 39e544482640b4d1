"""Run folders become one comparison: `mclstm report RUN...`."""
