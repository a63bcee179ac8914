"""The toolkit of figures: what they are made of, and the kinds that several sections draw."""
