"""What a run's report says, one file a section."""
