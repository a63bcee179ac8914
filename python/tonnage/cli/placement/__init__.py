"""What the commands of placement print."""
