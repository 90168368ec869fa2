"""Images, frozen encoders, their features, and the linear probes trained on them."""
