"""One plug-in of each kind; docs/plug-ins.md explains them."""
