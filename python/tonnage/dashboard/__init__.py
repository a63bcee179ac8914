"""The live page of runs, file servers and drains: reads what is on disk and what it is handed, and changes nothing."""
