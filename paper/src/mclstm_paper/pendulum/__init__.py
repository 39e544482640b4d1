"""The damped pendulum: its energies, predicted from the first of them."""
