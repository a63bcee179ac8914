"""Load indices: parsed, compared, asked, kept."""
