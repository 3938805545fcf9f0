"""The RAG chatbot: documents to passages, passages to an answer, the answer to its check."""
