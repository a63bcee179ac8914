"""The command lines of LSF's ``bjobs``, ``bkill``, ``bqueues`` and ``bhosts``, for the jobs of any scheduler."""
