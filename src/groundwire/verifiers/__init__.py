"""Verifiers: how likely is a claim, given a context?"""
