"""Rain to runoff on CAMELS-US: members and their ensembles, the appendix's variants, the ablation."""
