"""The next embedded verifier: windows of a document, one cross-encoder, one calibration.

It moves into `groundwire.verifiers.local` when it beats the shipped one on the figures of RESULTS.md. Until
then `python -m training.measure FOLDER` measures it with the package's own instruments.
"""
