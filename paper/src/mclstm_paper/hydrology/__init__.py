"""Rain to runoff on CAMELS-US: ensembles, the variants of the paper's appendix, the ablation."""
