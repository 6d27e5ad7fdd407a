"""What is delivered: the wheel, as somebody who installs it gets it."""
