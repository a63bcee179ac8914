"""What ``--json`` prints of a command of placement: a file each, with the type ``Answer``, printed by ``asdict``."""
