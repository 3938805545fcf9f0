"""Text analysis without a model: sentences, numbers, dates, names, tables, markup."""
