"""The RAG chatbot: answers from indexed documents, with sources and a verdict on each claim."""
