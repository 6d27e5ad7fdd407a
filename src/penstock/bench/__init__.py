"""What `penstock bench` measures with: it knows servers by their protocol and programs alone."""
