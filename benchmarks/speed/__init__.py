"""Speed and memory, each measured in fresh processes and set against a raw loop measured in the same round."""
