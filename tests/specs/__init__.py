"""The specifications as tests: read the names beside the document, in its order.

Each test is one sentence, asked of both servers. Where penstock keeps to the document and the
reference does not, or where `docs/decisions` says otherwise, both answers are asserted. What the
documents do not mention is in `tests/parity`.
"""
