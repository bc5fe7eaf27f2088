"""One file a surface: each takes the same report and renders it; nothing is decided here."""
