"""The RAG chatbot: documents in, answers with their sources and a verdict on each claim out."""
