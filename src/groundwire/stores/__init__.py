"""Persistent stores: knowledge, jobs, traces, reports, feedback, keys and caches."""
