"""An app for Flower: hospitals that share a model, and keep what is theirs."""
