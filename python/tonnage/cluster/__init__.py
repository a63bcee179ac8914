"""Where tasks and jobs run. One small file a launcher, and one a scheduler.

Nothing is imported here: a process that follows another one passes through, and hundreds of them start at once.
"""
