"""The paper's claims and experiments, each runnable with `python -m mclstm.experiments.<name>`."""
