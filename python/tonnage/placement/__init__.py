"""Path → server → host: where data lives, how busy that is, and where a job should run."""
