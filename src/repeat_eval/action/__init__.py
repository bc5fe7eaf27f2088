"""The GitHub Action: inputs in, the same steps as the command line, outputs and surfaces of GitHub out."""
