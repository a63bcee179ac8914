"""The command line of iobsub: a job goes to the server that holds the working directory."""
