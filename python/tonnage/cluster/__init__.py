"""Starts tasks and jobs, here and on other hosts: launchers, ``schedulers/``, ``mpi/`` and ``remote/``.

This file imports nothing: every worker process imports it, and hundreds of them start at the same time.
"""
