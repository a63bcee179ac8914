"""The command line of LSF's and Openlava's ``lsload``, for file servers."""
