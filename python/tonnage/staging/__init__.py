"""Stage-out: a mover in this process, or in another that answers on a socket. The work is done in ``crates/mover``."""
