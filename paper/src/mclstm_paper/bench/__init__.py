"""`mclstm bench`: what a sequence costs, ours beside its peers, against the limit of the machine."""
