"""The configuration language: syntax, expansion, schema, and the reference's opinion."""
