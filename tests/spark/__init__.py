"""The Spark source, with a real Spark in this process, against penstock and the reference."""
