"""A patient's own record: asked in plain words, answered from its documents and facts, with care."""
