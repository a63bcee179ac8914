"""The actions of ``tonnage stage``."""
