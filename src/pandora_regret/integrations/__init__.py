"""Pandora's Regret inside other libraries; each module here needs the library it is named after."""
