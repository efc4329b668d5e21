"""Reading what people hold into contract tables, and writing TREC files; nothing is judged here."""
