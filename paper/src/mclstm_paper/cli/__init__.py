"""The verbs experiment and bench of the command mclstm."""
