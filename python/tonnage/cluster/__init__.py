"""Where tasks and jobs run. One small file a launcher, and one a scheduler.

This file imports nothing: every worker process imports it, and hundreds of them start at the same time.
"""
