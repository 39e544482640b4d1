"""From the rows of `mclstm bench` to ratios, targets met or missed, tables and a figure."""
